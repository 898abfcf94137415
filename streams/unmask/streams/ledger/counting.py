"""Counting: a batch's events into cells, for every window size and the lifetime window."""

from collections import Counter
from typing import Any

from unmask.schemas.codes import Measure
from unmask.schemas.scope import Scope
from unmask.schemas.signatures import classify_signature, is_unreachable
from unmask.schemas.windowing import LIFETIME, MICROS, window_start, windows_touching
from unmask.streams.ledger.rules import SKEW_US, FoldRules
from unmask.streams.ledger.state import Cell, CellId, PartitionState

__all__ = ["BatchCounter"]

_MAX_SESSIONS = 16
_MAX_WITNESSED = 100_000  # windows of one size that one batch can witness; 69 days of minutes
_BASE = 60 * MICROS
NOTHING = "-"
_ATTEMPT, _FALLBACK, _MASKED = Measure.ROUTE_ATTEMPT.value, Measure.KERNEL_FALLBACK.value, Measure.MASKED_ERROR.value
_TEARDOWN, _EMITTERS, _LATE = Measure.SESSION_TEARDOWN.value, Measure.EMITTERS.value, Measure.LATE.value
_SKEWED, _DUPLICATES, _UPSTREAM = Measure.SKEWED.value, Measure.DUPLICATES.value, Measure.UPSTREAM.value


class BatchCounter:
    """Counts one batch into a partition's cells. Made anew for each batch, since all it adds belongs to that batch."""

    __slots__ = ("_arrival", "_correction", "_grain", "_limit", "_rules", "_scope", "_state")

    def __init__(
        self, state: PartitionState, rules: FoldRules, scope: Scope, arrival: int, correction: tuple[str, int]
    ) -> None:
        self._state = state
        self._rules = rules
        self._scope = scope
        self._arrival = arrival
        self._limit = arrival + SKEW_US
        self._correction = correction
        # Events are grouped by the finest window first and only the groups are counted into every size.
        self._grain = min(rules.window_seconds) * MICROS

    def events(self, batch: dict[str, Any]) -> None:
        """Counts all events of a batch."""
        for group in batch["route_attempts"]:
            if group["occurred_at"]:
                self._many(_ATTEMPT, group["capability"], group["entry_point"], group["occurred_at"])
        for fallback in batch["kernel_fallbacks"]:
            self._one(_FALLBACK, fallback["capability"], fallback["reason_code"], fallback["occurred_at"])
        for masked in batch["masked_errors"]:
            signature = masked["masked_upstream_signature"]
            instant = self._one(_MASKED, masked["upstream"], classify_signature(signature).value, masked["occurred_at"])
            if is_unreachable(signature):
                self._upstream(masked["upstream"], masked["session_id"], instant)
        for teardown in batch["session_teardowns"]:
            self._one(_TEARDOWN, NOTHING, teardown["outcome"], teardown["occurred_at"])

    def witness(self, after: int, through: int, *, first: bool) -> None:
        """Counts the emitter as open in the windows that it reaches for the first time with this batch."""
        for seconds in self._rules.window_seconds:
            begin = after if first else window_start(after, seconds) + seconds * MICROS
            if through - begin > _MAX_WITNESSED * seconds * MICROS:
                begin = through - _MAX_WITNESSED * seconds * MICROS
            for start in windows_touching(begin, through, seconds):
                self._add(start, seconds, _EMITTERS, NOTHING, NOTHING, 1)
        if first:
            self._add(0, LIFETIME, _EMITTERS, NOTHING, NOTHING, 1)

    def duplicate(self) -> None:
        """Counts the batch as seen before, in the window in which it arrived."""
        self._count(_DUPLICATES, NOTHING, NOTHING, self._arrival, 1)

    def _many(self, measure: str, capability: str, code: str, instants: list[int]) -> None:
        low, high = min(instants), max(instants)
        if high > self._limit:
            skewed = [instant for instant in instants if instant > self._limit]
            self._skewed(len(skewed))
            instants = [self._arrival if instant > self._limit else instant for instant in instants]
            low, high = min(instants), max(instants)
        grain = self._grain
        if low // grain == high // grain:
            self._count(measure, capability, code, low, len(instants))
            return
        for window, n in Counter([instant // grain for instant in instants]).items():
            self._count(measure, capability, code, window * grain, n)

    def _one(self, measure: str, capability: str, code: str, instant: int) -> int:
        if instant > self._limit:
            self._skewed(1)
            instant = self._arrival
        self._count(measure, capability, code, instant, 1)
        return instant

    def _skewed(self, n: int) -> None:
        self._count(_SKEWED, NOTHING, NOTHING, self._arrival, n)

    def _count(self, measure: str, capability: str, code: str, instant: int, n: int) -> None:
        newest, grace = self._state.newest, self._rules.grace_us
        for seconds in self._rules.window_seconds:
            start = window_start(instant, seconds)
            self._add(start, seconds, measure, capability, code, n)
            if start + seconds * MICROS + grace <= newest and measure != _SKEWED and measure != _DUPLICATES:
                self._add(start, seconds, _LATE, NOTHING, NOTHING, n)
        self._add(0, LIFETIME, measure, capability, code, n)

    def _upstream(self, upstream: str, session_id: str, instant: int) -> None:
        """Outages are looked for in the finest windows only."""
        seconds = min(self._rules.window_seconds)
        start = window_start(instant, seconds)
        if self._rules.evicted(start, seconds, self._state.newest):
            return
        cell = self._add(start, seconds, _UPSTREAM, upstream, NOTHING, 1)
        if cell is not None and session_id not in cell.sessions and len(cell.sessions) < _MAX_SESSIONS:
            cell.sessions.append(session_id)

    def _add(self, start: int, seconds: int, measure: str, capability: str, code: str, n: int) -> Cell | None:
        state = self._state
        key: CellId = (start, seconds, self._scope, measure, capability, code)
        cell = state.cells.get(key)
        if cell is None:
            # By the log's own time, never by the clock, so that a replay makes the same choice. A cell that is
            # still here although its time is over is passed over for the same reason.
            if self._rules.evicted(start, seconds, state.newest):
                self._correct(key, n)
                return None
            cell = state.cells[key] = Cell()
        elif self._rules.evicted(start, seconds, state.newest):
            self._correct(key, n)
            return None
        cell.count += n
        state.touched.cells.add(key)
        state.unpublished.add(key)
        return cell

    def _correct(self, key: CellId, n: int) -> None:
        corrections = self._state.touched.corrections
        entry = (key, self._correction)
        corrections[entry] = corrections.get(entry, 0) + n
