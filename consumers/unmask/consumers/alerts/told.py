"""What a receiver has been told of each alert, so that it is told only what is new."""

from collections import OrderedDict
from collections.abc import Collection
from enum import Enum, auto
from typing import NamedTuple

from unmask.schemas.codes import AlertState
from unmask.schemas.instants import to_micros
from unmask.schemas.models import Alert

__all__ = ["REMEMBERED", "Novelty", "Told"]

REMEMBERED = 100_000
"""Alerts that are remembered at most, some 30 MB. Of one that was forgotten a repetition would be told again."""


class Novelty(Enum):
    """What a record says to a receiver that was told everything before it."""

    NEWS = auto()
    """It must be told: the alert fires or is resolved, began anew, or fires with another directive."""
    DETAIL = auto()
    """Counts or causes moved, or nothing did."""
    STALE = auto()
    """It is older than what was told; a worker that lost its partitions wrote it."""


class _Word(NamedTuple):
    partition: int
    firing: bool
    since: int
    directive: str | None
    revision: int


class Told:
    """The newest word on each alert, whoever published it and however often."""

    def __init__(self, limit: int = REMEMBERED) -> None:
        self._limit = limit
        self._words: OrderedDict[str, _Word] = OrderedDict()

    def judge(self, alert: Alert) -> Novelty:
        """What this says beyond what was noted."""
        known = self._words.get(alert.alert_id)
        if known is None:
            return Novelty.NEWS
        if alert.revision < known.revision:
            return Novelty.STALE
        firing = alert.state is AlertState.FIRING
        # While a condition holds, its beginning is only ever found to be earlier. A later one is another time that it
        # holds, whose end before it is gone from the log.
        began_anew = to_micros(alert.since) > known.since
        other_directive = firing and _directive(alert) != known.directive
        return Novelty.NEWS if firing is not known.firing or began_anew or other_directive else Novelty.DETAIL

    def note(self, alert: Alert, partition: int) -> None:
        """The receiver has been told this, or will be; or it stood before what a receiver is told begins."""
        known = self._words.pop(alert.alert_id, None)
        firing, since = alert.state is AlertState.FIRING, to_micros(alert.since)
        if known is not None and known.firing is firing:
            # A beginning that was found to be earlier, and then is not any more, is no other time.
            since = max(since, known.since)
        self._words[alert.alert_id] = _Word(
            partition,
            firing,
            since,
            _directive(alert),
            alert.revision,
        )
        if len(self._words) > self._limit:
            self._words.popitem(last=False)

    def forget(self, partitions: Collection[int]) -> None:
        """Partitions that are another watcher's now."""
        gone = [identity for identity, word in self._words.items() if word.partition in partitions]
        for identity in gone:
            del self._words[identity]

    def __len__(self) -> int:
        return len(self._words)


def _directive(alert: Alert) -> str | None:
    return None if alert.directive is None else alert.directive.value
