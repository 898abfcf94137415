"""Finds the outboxes of dead emitters on this host and sends what they left, beside a living emitter's own batches."""

import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Protocol

from unmask.producers import fork
from unmask.producers.batcher import Encode
from unmask.producers.custody import Clock
from unmask.producers.outbox.adopted import AdoptedLife
from unmask.producers.outbox.batches import Batches
from unmask.producers.outbox.folder import LifeFolder
from unmask.producers.outbox.page import PAGE, read_page
from unmask.producers.outbox.problems import is_damage
from unmask.producers.outbox.standing import Standing, newest
from unmask.producers.outbox.store import Limits, OutboxStore
from unmask.producers.report import FIRST_FAMILIES
from unmask.producers.store import StoredBatch
from unmask.producers.transport import Receiver

__all__ = ["Adopter", "Sender", "adopt"]

_LOOK_EVERY = 10.0
_TRY_AGAIN_AFTER = 60.0
_AT_A_TIME = 16
"""Batches per turn, so that the living emitter's own do not wait."""
_ASK = 0.5
_PAUSE_FIRST, _PAUSE_LAST = 0.1, 5.0
_NO_PROGRESS = 120.0
"""Seconds without a delivery after which another dead emitter has its turn."""


class Sender(Protocol):
    """The way to the broker, as far as an adopter needs it."""

    def partition_of(self, emitter_id: str, seconds: float) -> int | None:
        """Where an emitter's batches go that has no partition yet; None where the broker cannot be asked."""
        ...

    def may_send(self, partition: int) -> bool:
        """Whether another batch may go to a partition now."""
        ...

    def send_for(self, receiver: Receiver, batch: StoredBatch, partition: int) -> bool:
        """Hand a batch to the client. False where it takes none now."""
        ...


def adopt(
    folder: LifeFolder, limits: Limits, clock: Clock, encode: Encode, *, seconds: Callable[[], float] = monotonic
) -> AdoptedLife:
    """The dead emitter's life in a locked folder. Raises sqlite3.Error, OSError where the disk does not even let read.

    What is damaged is put aside and read as far as it can be; what is missing then is dropped as `disk_failed`.
    """
    emitter_id = folder.name
    reading = read_page(folder.path / PAGE)
    if reading is not None and reading.identity.emitter_id != emitter_id:
        reading = None
    with fork.using_a_database():
        try:
            last = _last_standing(folder.path, emitter_id)
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            Batches.put_aside(folder.path)
            last = _last_standing(folder.path, emitter_id)
    standing = newest(last, None if reading is None else reading.standing) or Standing(0)
    if reading is not None and standing.first_only and not reading.recorded.keys() <= set(FIRST_FAMILIES):
        # An older SDK has been here in the meantime. Its account lacks families, so that nothing is proven any more.
        reading = None
    life = AdoptedLife(emitter_id, reading, standing, clock, encode)
    expected = Counter(standing.in_file)
    expected.update(standing.unsaved)
    life.store_in(OutboxStore(life, limits, folder, version=standing.version, pending=expected, seconds=seconds))
    life.keep(at_once=True)
    return life


def _last_standing(folder: Path, emitter_id: str) -> Standing | None:
    file = Batches(folder, emitter_id)
    try:
        return file.standing()
    finally:
        file.close()


class Adopter:
    """One dead emitter's outbox at a time. Only the background thread calls it, but for `abandon`."""

    def __init__(self, above: Path, limits: Limits, clock: Clock, encode: Encode, own: str) -> None:
        self.finished = 0
        self.sent = 0
        self._above = above
        self._limits = limits
        self._clock = clock
        self._encode = encode
        self._own = own
        self._life: AdoptedLife | None = None
        self._look_at = float("-inf")
        self._passed_over: dict[str, float] = {}
        """Folders that could not be used, and until when they are left alone."""
        self._seen = (0, 0)
        """Deliveries and redeliveries, when the adopted life was last looked at."""
        self._send_after = self._progress_at = float("-inf")
        self._pause = _PAUSE_FIRST

    @property
    def adopting(self) -> str | None:
        """The emitter_id of the dead emitter whose outbox is being sent."""
        life = self._life
        return None if life is None else life.emitter_id

    def busy(self, now: float) -> bool:
        """Whether there is something to do, or may be."""
        return self._life is not None or now >= self._look_at

    def turn(self, sender: Sender, now: float) -> None:
        """Go a step on (`now` in monotonic seconds). What goes wrong with it must not slow the living emitter down."""
        if self._life is None and now >= self._look_at:
            self._look_at = now + _LOOK_EVERY
            self._life = self._find(now)
            self._seen, self._progress_at, self._send_after = (0, 0), now, now
        life = self._life
        if life is None:
            return
        life.keep()
        if not life.unacknowledged():
            if life.over:
                self._end(life, now)
                return
            life.cut_final()
            life.keep(at_once=True)
        self._see_how_it_goes(life, now)
        if now >= self._send_after:
            self._send(life, sender, now)

    def stop(self) -> None:
        """Leave an unfinished one to the next start."""
        life, self._life = self._life, None
        if life is not None:
            life.release()

    def abandon(self) -> None:
        """The process is a forked child: the adoption is the parent's."""
        life, self._life = self._life, None
        if life is not None:
            life.abandon()

    def _see_how_it_goes(self, life: AdoptedLife, now: float) -> None:
        (delivered, returned), self._seen = self._seen, (life.batches_delivered, life.redeliveries)
        if life.batches_delivered > delivered:
            self._progress_at, self._pause = now, _PAUSE_FIRST
        elif life.redeliveries > returned:
            self._wait(now)
        if now - self._progress_at > _NO_PROGRESS:
            # Perhaps its partition is gone, perhaps the broker is away. Others may have more luck.
            self._passed_over[life.emitter_id] = now + _TRY_AGAIN_AFTER
            self._send_after = float("inf")
            self._look_at = now
            self.stop()

    def _wait(self, now: float) -> None:
        self._send_after = now + self._pause
        self._pause = min(2 * self._pause, _PAUSE_LAST)

    def _send(self, life: AdoptedLife, sender: Sender, now: float) -> None:
        if life.partition is None:
            life.partition = sender.partition_of(life.emitter_id, _ASK)
            if life.partition is None:
                self._wait(now)
                return
            # On the disk first: a second adopter must not choose another one.
            life.keep(at_once=True)
        for _ in range(_AT_A_TIME):
            batch = life.next_to_send() if sender.may_send(life.partition) else None
            if batch is None:
                break
            if not sender.send_for(life, batch, life.partition):
                self._wait(now)
                break
            self.sent += 1

    def _end(self, life: AdoptedLife, now: float) -> None:
        life.release()
        self._life = None
        if (self._above / life.emitter_id).exists():
            # Nothing is left to be sent, but the folder cannot be removed.
            self._passed_over[life.emitter_id] = now + _TRY_AGAIN_AFTER
        self.finished += 1
        # There may be more of them.
        self._look_at = float("-inf")

    def _find(self, now: float) -> AdoptedLife | None:
        self._passed_over = {name: until for name, until in self._passed_over.items() if until > now}
        for folder in LifeFolder.of_the_dead(self._above, frozenset({self._own, *self._passed_over})):
            try:
                return adopt(folder, self._limits, self._clock, self._encode)
            except (OSError, sqlite3.Error):
                self._passed_over[folder.name] = now + _TRY_AGAIN_AFTER
                folder.leave()
        return None
