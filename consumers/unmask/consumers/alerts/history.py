"""What a receiver has been told already, read from the topic itself: it stands below the offset that was committed."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from unmask.consumers.alerts.change import Place, UnreadableAlert, read_alert
from unmask.consumers.alerts.group import Begin
from unmask.consumers.alerts.outbox import Outbox
from unmask.consumers.alerts.told import REMEMBERED, Novelty, Told
from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import BrokerSilent
from unmask.schemas.codec import decode
from unmask.schemas.codes import AlertState
from unmask.schemas.errors import DecodeError

__all__ = ["FirstReading", "first_readings", "recall"]

_OPEN_SECONDS = 15.0
_READ_SECONDS = 600.0
_WAIT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class FirstReading:
    """Of a partition that is read for the first time, which records stand; the others are not told."""

    below: int = 0
    standing: frozenset[int] = frozenset()
    """Offsets of the newest records of alerts that fire."""

    def is_past(self, offset: int) -> bool:
        """Whether a record says something that had changed already when watching began."""
        return offset < self.below and offset not in self.standing


def first_readings(source: TopicSource, begins: Mapping[int, Begin]) -> dict[int, FirstReading]:
    """What stood, by partition, where the first reading is not through. Raises a TopicUnreadable."""
    until = {partition: begun.standing_below for partition, begun in begins.items() if begun.standing_below}
    newest: dict[int, dict[str, tuple[int, int]]] = {partition: {} for partition in until}
    for row in _rows(source, until, {}):
        if row.value is None:
            continue
        try:
            alert = decode("alert", row.value)
        except DecodeError:
            continue
        firing, identity = newest[row.partition], alert["alert_id"]
        known = firing.get(identity)
        if known is not None and alert["revision"] < known[1]:
            continue
        if alert["state"] == AlertState.FIRING.value:
            firing[identity] = (row.offset, alert["revision"])
        else:
            firing.pop(identity, None)
    return {
        partition: FirstReading(until[partition], frozenset(offset for offset, _ in firing.values()))
        for partition, firing in newest.items()
    }


def recall(
    source: TopicSource,
    begins: Mapping[int, Begin],
    readings: Mapping[int, FirstReading],
    told: Told,
    outbox: Outbox,
) -> None:
    """Fills `told` and `outbox` with what the receiver was told of these partitions. Raises a TopicUnreadable."""
    until = {partition: begun.position for partition, begun in begins.items() if begun.position}
    tail = {} if outbox.recalls_all else {partition: max(0, end - REMEMBERED) for partition, end in until.items()}
    for row in _rows(source, until, tail):
        reading = readings.get(row.partition)
        if row.value is None or (reading is not None and reading.is_past(row.offset)):
            continue
        alert = read_alert(row.value, Place(row.partition, row.offset))
        if isinstance(alert, UnreadableAlert) or told.judge(alert) is Novelty.STALE:
            continue
        told.note(alert, row.partition)
        outbox.recall(alert, row.partition)


def _rows(source: TopicSource, until: Mapping[int, int], begin_at: Mapping[int, int]) -> Iterator[Row]:
    """The records below an offset of each partition."""
    if not until:
        return
    deadline = time.monotonic() + _READ_SECONDS
    with TopicReader(source, until.keys(), resume=begin_at, timeout=_OPEN_SECONDS) as reader:
        while any(reader.positions[partition] < end for partition, end in until.items()):
            if time.monotonic() > deadline:
                raise BrokerSilent(source.bootstrap, f"{source.topic} could not be read in {_READ_SECONDS:g} s")
            yield from (row for row in reader.read(_WAIT_SECONDS) if row.offset < until[row.partition])
