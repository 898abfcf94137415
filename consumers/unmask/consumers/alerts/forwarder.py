"""The forwarder: carries every change of an alert to one receiver, and keeps what it has yet to carry.

It holds no progress of its own. Records that a receiver has taken are committed to a consumer group, and only those;
so whatever ends it, the next one goes on with what was not taken.
"""

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Protocol

from unmask.consumers.alerts.answer import Accepted, Answer, Failed
from unmask.consumers.alerts.begin import Begin, first_reading
from unmask.consumers.alerts.courier import Courier
from unmask.consumers.alerts.group import AlertGroup
from unmask.consumers.alerts.history import rows_below
from unmask.consumers.alerts.outbox import Content, Outbox, Parcel
from unmask.consumers.alerts.receiver import Receiver
from unmask.consumers.alerts.refusals import ReceiverRefusesAll, SetAside
from unmask.consumers.alerts.told import REMEMBERED
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import TopicUnreadable

__all__ = ["Forwarder", "Reporter", "Sender"]

_COMMIT_SECONDS = 0.1
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
        """Something does not work, and is tried again; or it works again."""


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
        standing: bool,
    ) -> None:
        self._source = source
        self._receiver = receiver
        self._courier = Courier(receiver, outbox)
        self._outbox = outbox
        self._sender = sender
        self._reporter = reporter
        self._group = group
        self._standing = standing
        self._under_way: dict[Future[Answer], Parcel] = {}
        self._fatal: ReceiverRefusesAll | None = None
        self._opened = False
        self._read_on_at = -1
        self._failing = False
        self._said = ""
        self._say_again_at = 0.0
        self.left_behind = 0
        """Changes that had been read and not taken when partitions were last given up; whoever reads on has them."""

    @property
    def changes_told(self) -> int:
        """Changes that the receiver took."""
        return self._courier.changes_told

    @property
    def refused(self) -> int:
        """Deliveries that the receiver refused for good."""
        return self._courier.refused

    def run(self, done: Callable[[], bool]) -> None:
        """Forwards until `done`, which is asked often. Raises ReceiverRefusesAll; at the start a TopicUnreadable."""
        while not done():
            try:
                self._forward(done)
            except TopicUnreadable as trouble:
                if not self._opened:
                    raise
                self._say_unreadable(trouble)
                time.sleep(_REOPEN_SECONDS)
                # What the client knew of the brokers may be what stands in the way: after their restart a topic has
                # leaders of another epoch, and some questions are asked with the old one until much later.
                self._source = TopicSource(self._source.topic, self._source.bootstrap)

    def assigned(self, begins: Mapping[int, Begin]) -> None:
        """Recalls what the receiver knows of these partitions."""
        first = {
            partition: first_reading(begun.standing_below, rows_below(self._source, partition, begun.standing_below))
            for partition, begun in begins.items()
        }
        self._courier.begin(begins, first)
        for partition, begun in begins.items():
            begin_at = 0 if self._outbox.recalls_all else max(0, begun.position - REMEMBERED)
            for row in rows_below(self._source, partition, begun.position, begin_at=begin_at):
                self._courier.recall(row)

    def revoked(self, partitions: Collection[int]) -> dict[int, int]:
        """Waits for what is under way, since another watcher may send what follows it."""
        while self._under_way:
            wait(self._under_way, return_when=FIRST_COMPLETED)
            self._collect()
        positions = {p: at for p, at in self._courier.positions().items() if p in partitions}
        self.lost(partitions)
        return positions

    def lost(self, partitions: Collection[int]) -> None:
        """Drops what belongs to them."""
        if partitions:
            self.left_behind = self._outbox.waiting
            self._courier.drop(partitions)

    def _forward(self, done: Callable[[], bool]) -> None:
        """One membership of the group."""
        group = AlertGroup(self._source, self._group, self, standing=self._standing, complain=self._reporter.trouble)
        commit_at = 0.0
        try:
            while not done():
                self._collect()
                if self._fatal is not None:
                    raise self._fatal
                self._send()
                group.pause(self._hold_back())
                for row in group.read(_BUSY_SECONDS if self._under_way else _IDLE_SECONDS):
                    unreadable = self._courier.read(row)
                    if unreadable is not None:
                        self._reporter.trouble(
                            f"Partition {row.partition}, offset {row.offset} is no alert ({unreadable.reason})."
                        )
                self._opened = self._opened or group.member
                complaint = self._outbox.complaint()
                if complaint is not None:
                    self._reporter.trouble(complaint)
                if time.monotonic() >= commit_at:
                    commit_at = time.monotonic() + _COMMIT_SECONDS
                    group.commit(self._courier.positions())
        finally:
            # Leaving revokes the partitions, which waits for what is under way and commits.
            group.close()
            self.lost(list(self._courier.positions()))

    def _hold_back(self) -> bool:
        # Begun when nothing more fits, and kept up until half of it is gone: each end of a pause fetches anew.
        if self._outbox.full:
            self._read_on_at = self._outbox.waiting // 2
        elif self._outbox.waiting <= self._read_on_at:
            self._read_on_at = -1
        return self._read_on_at >= 0

    def _send(self) -> None:
        while (parcel := self._outbox.take(time.monotonic())) is not None:
            self._under_way[self._sender.post(self._outbox.pack(parcel))] = parcel

    def _collect(self) -> None:
        for future in [future for future in self._under_way if future.done()]:
            self._settle(self._under_way.pop(future), future.result())

    def _settle(self, parcel: Parcel, answer: Answer) -> None:
        now = time.monotonic()
        try:
            settled = self._courier.settle(parcel, answer, now)
        except ReceiverRefusesAll as fatal:
            self._fatal = fatal  # raised where the group can be left in order
            return
        if isinstance(answer, Failed):
            self._say_failed(answer, settled if isinstance(settled, float) else 0.0, now)
            return
        if isinstance(settled, SetAside):
            self._reporter.set_aside(settled)
        elif isinstance(answer, Accepted):
            self._reporter.told(parcel)
        if self._failing:
            self._failing = False
            self._reporter.trouble(f"{self._receiver.shown} answers as it should again.")

    def _say_unreadable(self, trouble: TopicUnreadable) -> None:
        text, now = str(trouble), time.monotonic()
        if text != self._said or now >= self._say_again_at:
            self._said, self._say_again_at = text, now + _SAY_AGAIN_SECONDS
            self._reporter.trouble(f"{text} Trying again.")

    def _say_failed(self, answer: Failed, pause: float, now: float) -> None:
        if self._failing and now < self._say_again_at:
            return
        self._failing = True
        self._say_again_at = now + _SAY_AGAIN_SECONDS
        self._reporter.trouble(
            f"{self._receiver.shown} did not take a delivery ({answer.why}). Changes that wait here: "
            f"{self._outbox.waiting}; more may on the topic. Trying again in {pause:.1f} s, for as long as it takes."
        )
