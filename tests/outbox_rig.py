"""A host with an outbox that is driven by hand, a broker that is a dict, and crashes that are copies of the folder."""

import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from unmask.producers import EmitterSettings
from unmask.producers.custody import Custody
from unmask.producers.life import EmitterLife
from unmask.producers.outbox.adopted import AdoptedLife
from unmask.producers.outbox.adopter import adopt
from unmask.producers.outbox.batches import Batches
from unmask.producers.outbox.folder import LifeFolder
from unmask.producers.outbox.opening import begin
from unmask.producers.outbox.store import Limits
from unmask.producers.report import FAMILIES
from unmask.producers.store import StoredBatch
from unmask.producers.testing import account_faults, events_in, lost_by_cause
from unmask.schemas.codec import decode, encode
from unmask.schemas.codes import Family

START = 1_767_225_600 * 10**9


class Broker:
    """What was produced, by emitter and batch_seq. A batch that comes twice must be the same."""

    def __init__(self) -> None:
        self.batches: dict[str, dict[int, bytes]] = {}
        self.duplicates = 0

    def take(self, batch: StoredBatch) -> None:
        """Store a batch."""
        of_emitter = self.batches.setdefault(batch.emitter_id, {})
        assert of_emitter.setdefault(batch.batch_seq, batch.data) == batch.data
        self.duplicates += 1

    def of(self, emitter_id: str) -> list[dict[str, Any]]:
        """An emitter's batches, decoded, in order."""
        found = self.batches.get(emitter_id, {})
        return [decode("event_batch", found[seq]) for seq in sorted(found)]

    def copy(self) -> "Broker":
        """The same broker in another course of events."""
        other = Broker()
        other.batches = {emitter_id: dict(batches) for emitter_id, batches in self.batches.items()}
        return other


class Host:
    """One emitter's life with an outbox below `above`."""

    def __init__(
        self, above: Path, *, max_bytes: int = 10**9, max_age_s: int = 10**6, in_flight: int = 64, **settings: Any
    ) -> None:
        self.above = above
        self.nanoseconds = START
        self.passed = 0.0
        self.limits = Limits(max_bytes, max_age_s * 1_000_000, in_flight)
        self.life = EmitterLife(
            EmitterSettings(release_line="r1", **settings),
            self.clock,
            lambda owner: begin(owner, above, self.limits, seconds=self.seconds),
        )
        self.life.open()
        self.life.partition = 2
        self.recorded: Counter[Family] = Counter()
        self.broker = Broker()
        self.on_the_way: dict[int, StoredBatch] = {}

    def clock(self) -> int:
        """Nanoseconds."""
        return self.nanoseconds

    def seconds(self) -> float:
        """By a clock that only goes on; some time passes between any two looks at it."""
        self.passed += 0.05
        return self.passed

    @property
    def folder(self) -> Path:
        """Of its life."""
        return self.above / self.life.emitter_id

    def record(self, family: Family = Family.ROUTE_ATTEMPT, times: int = 1) -> None:
        """As a record call does it."""
        lane = self.life.buffer.lanes[FAMILIES.index(family)]
        for _ in range(times):
            lane.newest[0] = self.nanoseconds
            try:
                lane.count()
            except ValueError:
                lane.count_on()
            self.recorded[family] += 1
            if len(lane.events) < self.life.settings.buffer_limit:
                lane.events.append(raw_event(family, self.nanoseconds))
            else:
                lane.full.add()

    def cut_and_keep(self, *, closing: bool = False) -> None:
        """A turn without sending."""
        self.life.cut(closing=closing)
        self.life.keep()

    def send(self, at_most: int = 10**6) -> list[StoredBatch]:
        """Hand batches to the client. They have not arrived yet."""
        return send(self.life, self.on_the_way, at_most)

    def arrive(self, batch_seq: int, *, acknowledged: bool = True) -> None:
        """A batch arrives at the broker, and its report at the host."""
        self.broker.take(self.on_the_way[batch_seq])
        if acknowledged:
            del self.on_the_way[batch_seq]
            self.life.delivered(batch_seq)

    def deliver(self, at_most: int = 10**6) -> None:
        """Send, and have it acknowledged."""
        for batch in self.send(at_most):
            self.arrive(batch.batch_seq)

    def crash(self, into: Path) -> "Crashed":
        """What stands on the disk at this moment, for somebody who starts later."""
        shutil.copytree(self.folder, into / self.life.emitter_id)
        return Crashed(into, self.life.emitter_id, self.broker.copy(), self.clock, self.limits, self.seconds)


class Crashed:
    """A dead emitter's outbox, and the broker as it was then."""

    def __init__(
        self, above: Path, emitter_id: str, broker: Broker, clock: Callable[[], int], limits: Limits,
        seconds: Callable[[], float],
    ) -> None:  # fmt: skip
        self.above = above
        self.emitter_id = emitter_id
        self.broker = broker
        self._clock = clock
        self._seconds = seconds
        self._limits = limits
        self.on_the_way: dict[int, StoredBatch] = {}

    @property
    def folder(self) -> Path:
        """Of the dead life."""
        return self.above / self.emitter_id

    def adopt(self) -> AdoptedLife:
        """As an adopter finds it."""
        (folder,) = LifeFolder.of_the_dead(self.above)
        try:
            return adopt(folder, self._limits, self._clock, encode, seconds=self._seconds)
        except BaseException:
            folder.leave()
            raise

    def step(self, life: AdoptedLife, at_most: int = 10**6, *, acknowledged: bool = True) -> bool:
        """One turn of an adopter; whether there is more to do."""
        life.keep()
        if not life.unacknowledged():
            if life.over:
                life.release()
                return False
            life.cut_final()
            life.keep(at_once=True)
        for batch in send(life, self.on_the_way, at_most):
            self.broker.take(batch)
            if acknowledged:
                del self.on_the_way[batch.batch_seq]
                life.delivered(batch.batch_seq)
        return True

    def bring_to_its_end(self) -> list[dict[str, Any]]:
        """Adopt, send everything, and give the emitter's batches on the broker."""
        life = self.adopt()
        while self.step(life):
            pass
        assert not self.folder.exists()
        return self.broker.of(self.emitter_id)

    def copy(self, into: Path) -> "Crashed":
        """The adopter crashes too."""
        shutil.copytree(self.folder, into / self.emitter_id)
        return Crashed(into, self.emitter_id, self.broker.copy(), self._clock, self._limits, self._seconds)


def send(life: Custody, on_the_way: dict[int, StoredBatch], at_most: int) -> list[StoredBatch]:
    """Take batches from a life, as the background thread does."""
    sent: list[StoredBatch] = []
    while len(sent) < at_most and (batch := life.next_to_send()) is not None:
        assert batch.batch_seq not in on_the_way
        on_the_way[batch.batch_seq] = batch
        sent.append(batch)
    return sent


def raw_event(family: Family, now: int) -> tuple[Any, ...]:
    """What a record call leaves."""
    if family is Family.ROUTE_ATTEMPT:
        return now, "answer", "-", None
    if family is Family.KERNEL_FALLBACK:
        return now, "answer", "timeout", None, None, None, None, "s", "o"
    if family is Family.MASKED_ERROR:
        return now, "s", "o", "openai", "HTTP_503", "cache", "unproven", None, None
    if family is Family.ROUTE_SELECTION:
        return now, "s", 1, "backup", "auto", "turn", "live", None, "timeout", False, None
    if family is Family.DELEGATION_PROGRESS:
        return now, "d", "s", "i", 1, 1, "succeeded", 1, 120, *[None] * 9
    if family is Family.DELEGATION_EFFECT:
        return now, "d", "s", "i", 1, "committed", "effects", None, "key", None, 7, "receipt", None, None
    teardown = {"session_id": "s", "outcome": "success", "operations": 1, "degraded_operations": 0, "claims": []}
    return now, teardown


def held(batches: Iterable[dict[str, Any]]) -> Counter[str]:
    """Events in batches."""
    return sum((events_in(batch) for batch in batches), Counter[str]())


def dropped(batch: dict[str, Any]) -> Counter[str]:
    """Events that a batch says were dropped, for any cause."""
    return Counter({family: sum(causes.values()) for family, causes in lost_by_cause(batch).items()})


def assert_accounted_for(batches: list[dict[str, Any]], recorded: Counter[Family]) -> None:
    """Recorded is delivered plus dropped, to the last event; the series is whole and closed."""
    assert account_faults(batches) == []
    assert batches[-1]["closing"]
    assert held(batches) + dropped(batches[-1]) == Counter({str(f): count for f, count in recorded.items() if count})
    assert {each["family"]: each["recorded"] for each in batches[-1]["accounts"]} == {
        str(family): count for family, count in recorded.items() if count
    }


def end_of_the_dead(above: Path) -> list[dict[str, Any]]:
    """What an adopter sends of the one dead emitter below `above`, by the clock on the wall."""
    (folder,) = LifeFolder.of_the_dead(above)
    life = adopt(folder, Limits(10**9, 10**12), time.time_ns, encode)
    broker, emitter_id = Broker(), folder.name
    crashed = Crashed(above, emitter_id, broker, time.time_ns, Limits(10**9, 10**12), time.monotonic)
    while crashed.step(life):
        pass
    return broker.of(emitter_id)


class FailingDisk:
    """Has every commit fail while `problem` is set. Patch it in as Batches.commit."""

    def __init__(self) -> None:
        self.problem: str | None = None
        self.commits = 0
        self._commit = Batches.commit

    def __get__(self, file: Batches, _type: object = None) -> Callable[..., None]:
        def commit(*arguments: Any) -> None:
            if self.problem is not None:
                error = sqlite3.OperationalError("no")
                error.sqlite_errorname = self.problem
                raise error
            self.commits += 1
            self._commit(file, *arguments)

        return commit
