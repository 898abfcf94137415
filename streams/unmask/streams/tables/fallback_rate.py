"""FALLBACK_RATE: too many fallbacks per attempt of one capability, whether or not callers were served all the same.

The windows of one capability lie on all table partitions, so that this rule reads what they published.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from unmask.schemas.codes import AlertKind, Evidence, Family
from unmask.schemas.partitioner import partition_for
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS
from unmask.streams.tables.alerts import alert, alert_id
from unmask.streams.tables.rules import TableRules

__all__ = ["FallbackRates"]

_COMPLETE, _PENDING = Evidence.COMPLETE.value, Evidence.PENDING.value
_RATED = {Family.ROUTE_ATTEMPT.value, Family.KERNEL_FALLBACK.value}


class _Rated(NamedTuple):
    revision: int
    attempts: int
    fallbacks: int


@dataclass(frozen=True, slots=True)
class _Subject:
    scope: Scope
    capability: str


class FallbackRates:
    """The rates of recent, complete windows of the size that drives alerts."""

    def __init__(self, rules: TableRules) -> None:
        self._rules = rules
        self._windows: dict[_Subject, dict[int, _Rated]] = {}
        self._newest = 0

    def observe(self, record: dict[str, Any]) -> None:
        """Takes one decoded window record in; only closed windows that are complete decide."""
        if record["window_seconds"] != self._rules.alert_seconds:
            return
        if record["capability"] is None:
            if all(entry["state"] != _PENDING for entry in record["evidence"]):
                self._newest = max(self._newest, record["window_start"])
            return
        start = record["window_start"]
        subject = _Subject(Scope(**record["scope"]), record["capability"])
        proven = all(entry["state"] == _COMPLETE for entry in record["evidence"] if entry["family"] in _RATED)
        windows = self._windows.setdefault(subject, {})
        known = windows.get(start)
        if known is not None and known.revision > record["revision"]:
            return
        if proven:
            windows[start] = _Rated(record["revision"], record["attempts"], record["fallbacks_total"])
        else:
            windows.pop(start, None)

    def alerts(self, owned: frozenset[int]) -> list[tuple[int, dict[str, Any]]]:
        """Table partition and alert of every capability that has a rated window and whose partition is owned.

        The newest rated window decides; a rate of exactly the threshold does not fire. A rate that nobody has
        confirmed or refuted for the alert horizon is resolved.
        """
        self._prune()
        found = []
        for subject, windows in self._windows.items():
            scope = subject.scope
            identity = alert_id(AlertKind.FALLBACK_RATE, scope.release_line, scope.composition, subject.capability)
            partition = partition_for(identity, self._rules.table_partitions)
            if partition in owned and windows:
                found.append((partition, self._alert(identity, subject, windows)))
        return found

    def _alert(self, identity: str, subject: _Subject, windows: dict[int, _Rated]) -> dict[str, Any]:
        starts = sorted(windows)
        firing = [start for start in starts if self._above(windows[start])]
        decided = [start for start in starts if windows[start].attempts or windows[start].fallbacks]
        newest = decided[-1] if decided else starts[-1]
        since = newest
        for start in reversed(decided):
            if start not in firing:
                break
            since = start
        holds = newest in firing
        rated = windows[newest]
        return alert(
            identity,
            AlertKind.FALLBACK_RATE,
            since=since,
            until=None if holds else newest,
            scope=subject.scope,
            capability=subject.capability,
            window=(newest, self._rules.alert_seconds),
            facts={"attempts": rated.attempts, "fallbacks": rated.fallbacks},
        )

    def _above(self, rated: _Rated) -> bool:
        # A fallback without an attempt has no ratio, and is above every threshold all the same.
        if not rated.attempts:
            return rated.fallbacks > 0
        return rated.fallbacks / rated.attempts > self._rules.fallback_rate_threshold

    def _prune(self) -> None:
        oldest = self._newest - max(self._rules.alert_horizon, 2 * self._rules.alert_seconds * MICROS)
        for subject in list(self._windows):
            windows = self._windows[subject]
            for start in [start for start in windows if start < oldest]:
                del windows[start]
            if not windows:
                del self._windows[subject]
