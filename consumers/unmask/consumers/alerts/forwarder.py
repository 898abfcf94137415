"""The forwarder: carries every change of an alert to one receiver, and keeps what it has yet to carry.

It holds no progress of its own. Records that a receiver has taken are committed to a consumer group, and only those;
so whatever ends it, the next one goes on with what was not taken.
"""

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Protocol

from unmask.consumers.alerts.answer import Accepted, Answer, Failed
from unmask.consumers.alerts.change import Change, Place, UnreadableAlert, read_alert
from unmask.consumers.alerts.group import AlertGroup, Begin
from unmask.consumers.alerts.history import FirstReading, first_readings, recall
from unmask.consumers.alerts.outbox import Content, Outbox, Parcel
from unmask.consumers.alerts.progress import Progress
from unmask.consumers.alerts.receiver import Receiver
from unmask.consumers.alerts.refusals import ReceiverRefusesAll, Refusals, SetAside
from unmask.consumers.alerts.told import Novelty, Told
from unmask.consumers.topic_reader import Row
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import TopicUnreadable

__all__ = ["Forwarder", "Reporter", "Sender"]

_COMMIT_SECONDS = 0.5
_SAY_AGAIN_SECONDS = 60.0
_REOPEN_SECONDS = 2.0
_BUSY_SECONDS, _IDLE_SECONDS = 0.02, 0.2


class Sender(Protocol):
    """Begins requests."""

    def post(self, content: Content) -> "Future[Answer]":
        """Begins a request; what the answer means comes in the future, within a bounded time."""


class Reporter(Protocol):
    """Who is told how it goes."""

    def told(self, parcel: Parcel) -> None:
        """The receiver took changes."""

    def set_aside(self, refused: SetAside) -> None:
        """The receiver refused one for good."""

    def trouble(self, text: str) -> None:
        """Something does not work, and is tried again."""


class Forwarder:
    """Forwards until it is told to stop. Not for use by several threads."""

    def __init__(
        self,
        source: TopicSource,
        receiver: Receiver,
        outbox: Outbox,
        sender: Sender,
        reporter: Reporter,
        *,
        group: str,
        standing: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._receiver = receiver
        self._outbox = outbox
        self._sender = sender
        self._reporter = reporter
        self._group = group
        self._standing = standing
        self._clock = clock
        self._told = Told()
        self._progress = Progress()
        self._refusals = Refusals(receiver)
        self._first: dict[int, FirstReading] = {}
        self._under_way: dict[Future[Answer], Parcel] = {}
        self._fatal: ReceiverRefusesAll | None = None
        self._opened = False
        self._failing = False
        self._say_again_at = 0.0
        self.changes_told = 0
        """Changes that the receiver took."""

    @property
    def refused(self) -> int:
        """Deliveries that the receiver refused for good."""
        return self._refusals.count

    @property
    def waiting(self) -> int:
        """Changes that were read and not taken yet."""
        return self._outbox.waiting

    def run(self, done: Callable[[], bool]) -> None:
        """Forwards until `done`, which is asked often. Raises ReceiverRefusesAll, and a TopicUnreadable at the start."""
        while not done():
            try:
                self._forward(done)
            except TopicUnreadable as trouble:
                if not self._opened:
                    raise
                self._reporter.trouble(f"{trouble} Trying again.")
                time.sleep(_REOPEN_SECONDS)

    def assigned(self, begins: Mapping[int, Begin]) -> None:
        """Recalls what the receiver knows of these partitions."""
        self._first = first_readings(self._source, begins)
        recall(self._source, begins, self._first, self._told, self._outbox)
        for partition, begun in begins.items():
            self._progress.begin(partition, begun.position)

    def revoked(self, partitions: Collection[int]) -> dict[int, int]:
        """Waits for what is under way, since another watcher may send what follows it."""
        while self._under_way:
            wait(self._under_way, return_when=FIRST_COMPLETED)
            self._collect()
        positions = {p: at for p, at in self._progress.positions().items() if p in partitions}
        self.lost(partitions)
        return positions

    def lost(self, partitions: Collection[int]) -> None:
        """Drops what belongs to them."""
        self._outbox.forget(partitions)
        self._told.forget(partitions)
        self._progress.forget(partitions)

    def _forward(self, done: Callable[[], bool]) -> None:
        """One membership of the group."""
        group = AlertGroup(
            self._source, self._group, self, standing=self._standing, complain=self._reporter.trouble
        )
        commit_at = 0.0
        try:
            while not done():
                self._collect()
                if self._fatal is not None:
                    raise self._fatal
                self._send()
                group.pause(self._outbox.full)
                for row in group.read(_BUSY_SECONDS if self._under_way else _IDLE_SECONDS):
                    self._take(row)
                self._opened = self._opened or group.member
                if self._clock() >= commit_at:
                    commit_at = self._clock() + _COMMIT_SECONDS
                    group.commit(self._progress.positions())
        finally:
            # Leaving revokes the partitions, which waits for what is under way and commits.
            group.close()
            self.lost(list(self._progress.positions()))

    def _take(self, row: Row) -> None:
        place = Place(row.partition, row.offset)
        if not self._progress.has(row.partition):
            return  # it went to another watcher after this was read
        self._progress.read(place)
        first = self._first.get(row.partition)
        if row.value is None or (first is not None and first.is_past(row.offset)):
            self._progress.done(place)
            return
        alert = read_alert(row.value, place)
        if isinstance(alert, UnreadableAlert):
            self._reporter.trouble(f"Partition {row.partition}, offset {row.offset} is no alert ({alert.reason}).")
            self._progress.done(place)
            return
        novelty = self._told.judge(alert)
        if novelty is not Novelty.STALE:
            self._told.note(alert, row.partition)
        if novelty is Novelty.NEWS:
            self._outbox.add(Change(alert, place))
            return
        if novelty is Novelty.DETAIL:
            self._outbox.update(alert, row.partition)
        self._progress.done(place)

    def _send(self) -> None:
        while (parcel := self._outbox.take(self._clock())) is not None:
            self._under_way[self._sender.post(self._outbox.pack(parcel))] = parcel

    def _collect(self) -> None:
        for future in [future for future in self._under_way if future.done()]:
            self._settle(self._under_way.pop(future), future.result())

    def _settle(self, parcel: Parcel, answer: Answer) -> None:
        now = self._clock()
        if isinstance(answer, Failed):
            self._say_failed(answer, self._outbox.failed(parcel, now, answer.asked_for), now)
            return
        if isinstance(answer, Accepted):
            self._outbox.accepted(parcel, now)
            self.changes_told += parcel.fresh
            for place in (*parcel.places, *self._refusals.accepted()):
                self._progress.done(place)
            self._reporter.told(parcel)
        elif self._outbox.refused(parcel, now):
            try:
                self._reporter.set_aside(self._refusals.refused(parcel, answer))
            except ReceiverRefusesAll as fatal:
                self._fatal = fatal
        if self._failing:
            self._failing = False
            self._reporter.trouble(f"{self._receiver.shown} answers as it should again.")

    def _say_failed(self, answer: Failed, pause: float, now: float) -> None:
        if self._failing and now < self._say_again_at:
            return
        self._failing = True
        self._say_again_at = now + _SAY_AGAIN_SECONDS
        self._reporter.trouble(
            f"{self._receiver.shown} did not take a delivery ({answer.why}); {self.waiting} change(s) wait here, more may "
            f"on the topic. Trying again in {pause:.1f} s, and for as long as it takes."
        )
