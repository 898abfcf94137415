"""The courier: decides what of the alerts topic a receiver is told, in which order, and what is done with.

Pure: records in, parcels out; no Kafka, no HTTP, no clock. `now` is monotonic, in seconds.
"""

from collections.abc import Collection, Mapping

from unmask.consumers.alerts.answer import Accepted, Answer, Failed
from unmask.consumers.alerts.begin import Begin, FirstReading
from unmask.consumers.alerts.change import Change, Place, UnreadableAlert, read_alert
from unmask.consumers.alerts.outbox import Outbox, Parcel
from unmask.consumers.alerts.progress import Progress
from unmask.consumers.alerts.receiver import Receiver
from unmask.consumers.alerts.refusals import Refusals, SetAside
from unmask.consumers.alerts.told import Novelty, Told
from unmask.consumers.topic_reader import Row

__all__ = ["Courier"]


class Courier:
    """Carries what is new to one receiver's outbox, and keeps account of what is still owed."""

    def __init__(self, receiver: Receiver, outbox: Outbox) -> None:
        self.outbox = outbox
        self._told = Told()
        self._progress = Progress()
        self._refusals = Refusals(receiver)
        self._first: dict[int, FirstReading] = {}
        self.changes_told = 0
        """Changes that the receiver took."""

    @property
    def refused(self) -> int:
        """Deliveries that the receiver refused for good."""
        return self._refusals.count

    def begin(self, begins: Mapping[int, Begin], first: Mapping[int, FirstReading]) -> None:
        """Partitions are read here, each from its position on."""
        for partition, begun in begins.items():
            self._progress.begin(partition, begun.position)
            self._first[partition] = first.get(partition, FirstReading())

    def recall(self, row: Row) -> None:
        """A record below a partition's position: whatever it says, the receiver was told."""
        if row.value is None or self._first[row.partition].is_past(row.offset):
            return
        alert = read_alert(row.value, Place(row.partition, row.offset))
        if isinstance(alert, UnreadableAlert) or self._told.judge(alert) is Novelty.STALE:
            return
        self._told.note(alert, row.partition)
        self.outbox.recall(alert, row.partition)

    def read(self, row: Row) -> UnreadableAlert | None:
        """Takes a record in. One that is no alert is handed back, and passed over."""
        if not self._progress.has(row.partition):
            return None  # it went to another watcher after this was read
        place = Place(row.partition, row.offset)
        self._progress.read(place)
        if row.value is None or self._first[row.partition].is_past(row.offset):
            self._progress.done(place)
            return None
        alert = read_alert(row.value, place)
        if isinstance(alert, UnreadableAlert):
            self._progress.done(place)
            return alert
        novelty = self._told.judge(alert)
        if novelty is not Novelty.STALE:
            self._told.note(alert, row.partition)
        if novelty is Novelty.NEWS:
            self.outbox.add(Change(alert, place))
            return None
        if novelty is Novelty.DETAIL:
            self.outbox.update(alert, row.partition)
        self._progress.done(place)
        return None

    def settle(self, parcel: Parcel, answer: Answer, now: float) -> SetAside | float | None:
        """Takes an answer in: what was set aside by it, or the seconds until anything is tried again.

        Raises ReceiverRefusesAll.
        """
        if isinstance(answer, Failed):
            return self.outbox.failed(parcel, now, answer.asked_for)
        if isinstance(answer, Accepted):
            self.outbox.accepted(parcel, now)
            self.changes_told += parcel.fresh
            for place in (*parcel.places, *self._refusals.accepted()):
                self._progress.done(place)
            return None
        return self._refusals.refused(parcel, answer) if self.outbox.refused(parcel, now) else None

    def positions(self) -> dict[int, int]:
        """By partition, the offset from which on the receiver is owed something: what may be committed."""
        return self._progress.positions()

    def drop(self, partitions: Collection[int]) -> None:
        """Partitions are read elsewhere from now on."""
        self.outbox.forget(partitions)
        self._told.forget(partitions)
        self._progress.forget(partitions)
