"""Upstreams: which sessions met an unreachable upstream, in which window, and whether that is an outage.

The cells of one upstream are routed by its name, so that one table partition sees all of them.
"""

from typing import Any

from unmask.schemas.codes import AlertKind, Measure
from unmask.schemas.windowing import MICROS
from unmask.streams.tables.alerts import alert, alert_id
from unmask.streams.tables.rules import TableRules

__all__ = ["UpstreamTable"]

_UPSTREAM = Measure.UPSTREAM.value
_Cell = tuple[int, int, tuple[str, ...]]
"""Offset, masked errors, sessions."""


class UpstreamTable:
    """The unreachable upstreams of one table partition, in windows of the size that drives alerts."""

    def __init__(self, rules: TableRules) -> None:
        self._rules = rules
        self._size = rules.alert_seconds * MICROS
        self._upstreams: dict[str, dict[int, dict[str, _Cell]]] = {}
        self._dirty: set[str] = set()
        self._closed_through: int | None = None

    def apply(self, key: str, record: dict[str, Any] | None) -> None:
        """Takes a cell of measure `upstream` in; any other record is passed over."""
        if record is None or record.get("measure") != _UPSTREAM:
            return
        if record["window_seconds"] != self._rules.alert_seconds:
            return
        name, start = record["capability"], record["window_start"]
        window = self._upstreams.setdefault(name, {}).setdefault(start, {})
        known = window.get(key)
        if known is None or known[0] <= record["offset"]:
            window[key] = (record["offset"], record["count"], tuple(record["sessions"]))
            self._dirty.add(name)

    def __contains__(self, upstream: object) -> bool:
        return upstream in self._upstreams

    def close(self, closed_through: int | None) -> None:
        """Windows that end at or before the instant are closed; None while that is not known."""
        if closed_through is None or closed_through == self._closed_through:
            return
        self._closed_through = closed_through
        self._dirty.update(self._upstreams)

    def take_alerts(self) -> list[dict[str, Any]]:
        """The newest outage of every upstream that changed and had one, firing or resolved."""
        dirty, self._dirty = self._dirty, set()
        found = []
        for name in sorted(dirty):
            runs = _runs(sorted(self._upstreams[name]), self._size)
            outage = next((o for o in (self._outage(name, run) for run in reversed(runs)) if o is not None), None)
            if outage is not None:
                found.append(outage)
            self._prune(name, runs[-1])
        return found

    def _outage(self, name: str, run: list[int]) -> dict[str, Any] | None:
        """The outage within windows that follow one another: from the first with enough sessions to the run's end."""
        met = [_sessions(self._upstreams[name][start]) for start in run]
        first = next((i for i, sessions in enumerate(met) if len(sessions) >= self._rules.outage_sessions), None)
        if first is None:
            return None
        quiet = run[-1] + self._size
        over = self._closed_through is not None and quiet + self._size <= self._closed_through
        return alert(
            alert_id(AlertKind.UPSTREAM_OUTAGE, name),
            AlertKind.UPSTREAM_OUTAGE,
            since=run[first],
            until=quiet if over else None,
            upstream=name,
            window=(run[first], self._rules.alert_seconds),
            facts={
                "sessions": len(frozenset().union(*met[first:])),
                "masked_errors": sum(
                    count for start in run[first:] for _, count, _ in self._upstreams[name][start].values()
                ),
            },
        )

    def _prune(self, name: str, newest_run: list[int]) -> None:
        if self._closed_through is None:
            return
        recent = self._closed_through - self._rules.alert_horizon
        # An outage that goes on keeps its beginning, up to the age at which every window is forgotten.
        oldest = min(recent, max(newest_run[0], self._closed_through - self._rules.window_horizon))
        if newest_run[-1] < recent:
            oldest = recent
        windows = self._upstreams[name]
        for start in [start for start in windows if start < oldest]:
            del windows[start]
        if not windows:
            del self._upstreams[name]


def _runs(starts: list[int], size: int) -> list[list[int]]:
    """The windows, oldest first, as stretches without a window between that has none of the upstream's errors."""
    runs: list[list[int]] = []
    for start in starts:
        if runs and start == runs[-1][-1] + size:
            runs[-1].append(start)
        else:
            runs.append([start])
    return runs


def _sessions(cells: dict[str, _Cell]) -> frozenset[str]:
    return frozenset(session for _, _, listed in cells.values() for session in listed)
