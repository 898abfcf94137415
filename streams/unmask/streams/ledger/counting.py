"""Counting: a batch's events into cells, for every window size and the lifetime window."""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.schemas.codes import Measure
from unmask.schemas.scope import Scope
from unmask.schemas.signatures import classify_signature, is_unreachable
from unmask.schemas.windowing import LIFETIME, MICROS, window_start
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.state import Cell, CellId, Correction, Labelled, PartitionState

__all__ = ["MERGED_LABEL", "BatchCounter", "add_cell", "count_known"]

MERGED_LABEL = "merged_labels"
"""Stands for the labels that came after the partition had as many series as it keeps apart."""

_MAX_SESSIONS = 16
NOTHING = "-"
_ATTEMPT, _FALLBACK, _MASKED = Measure.ROUTE_ATTEMPT.value, Measure.KERNEL_FALLBACK.value, Measure.MASKED_ERROR.value
_TEARDOWN, _EMITTERS, _LATE = Measure.SESSION_TEARDOWN.value, Measure.EMITTERS.value, Measure.LATE.value
_SKEWED, _DUPLICATES, _UPSTREAM = Measure.SKEWED.value, Measure.DUPLICATES.value, Measure.UPSTREAM.value
_SELECTION, _PROGRESS = Measure.ROUTE_SELECTION.value, Measure.DELEGATION_PROGRESS.value
_EFFECT, _WITNESSES = Measure.DELEGATION_EFFECT.value, Measure.WITNESSES.value
_CLOSED = (_SELECTION, _EFFECT)
_ALL_TIME = (0, LIFETIME)
Instants = list[int] | tuple[int, ...] | NDArray[np.int64]
_MAX_SHORTCUTS = 10_000  # per scope


def add_cell(state: PartitionState, key: CellId, cell: Cell) -> Cell:
    """Puts a cell into the state and its index."""
    state.cells[key] = cell
    state.windows.setdefault((key[0], key[1]), set()).add(key)
    return cell


def count_known(state: PartitionState, rules: FoldRules, scope: Scope, batch: dict[str, Any], latest: int) -> bool:
    """Counts a batch of attempts alone where all of them share windows that are known already; else counts nothing.

    The usual case of a batch that was read quickly, without a counter of its own.
    """
    first, last, _ = batch["summary"]
    shortcuts, grain = state.shortcuts.get(scope), rules.grain_us
    part = first // grain
    if shortcuts is None or last > latest or last // grain != part:
        return False
    newest = max(state.newest, state.evicted_through)
    found: list[tuple[tuple[tuple[CellId, Cell], ...], int]] = []
    for group in batch["route_attempts"]:
        n = len(group["occurred_at"])
        if n:
            shortcut = shortcuts.get((_ATTEMPT, group["capability"], group["entry_point"], part))
            if shortcut is None or newest >= shortcut[0]:
                return False
            found.append((shortcut[1], n))
    for cells, n in found:
        for key, cell in cells:
            cell.count += n
            if not cell.noted:
                state.touched.cells.add(key)
                state.unpublished.add(key)
                cell.noted = True
    return True


class BatchCounter:
    """Counts one batch into a partition's cells. Made anew for each batch, since all it adds belongs to that batch."""

    __slots__ = ("_correction", "_grain", "_instead", "_latest", "_newest", "_rules", "_scope", "_shortcuts", "_state")

    def __init__(self, state: PartitionState, rules: FoldRules, scope: Scope, correction: Correction) -> None:
        self._state = state
        self._rules = rules
        self._scope = scope
        self._correction = correction
        self._latest = self._instead = 0
        # What is late, and what is too late, is decided by the log's own time, so that a replay decides the same; and
        # by what was evicted, so that no count begins a second time whatever the broker's clock does.
        self._newest = max(state.newest, state.evicted_through)
        # Events are grouped by what divides all sizes, and only the groups are counted into each of them.
        self._grain = rules.grain_us
        shortcuts = state.shortcuts.get(scope)
        if shortcuts is None:
            shortcuts = state.shortcuts[scope] = {}
        self._shortcuts = shortcuts

    def events(self, batch: dict[str, Any], *, latest: int, instead: int) -> None:
        """Counts all events of a batch. One after `latest` has a clock that is ahead; it counts at `instead`."""
        self._latest, self._instead = latest, instead
        for group in batch["route_attempts"]:
            if len(group["occurred_at"]):
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
        # A batch that was read quickly has none of these.
        for selection in batch.get("route_selections", ()):
            self._one(_SELECTION, selection["source"], selection["timeline"], selection["occurred_at"])
        for progress in batch.get("delegation_progress", ()):
            self._one(_PROGRESS, NOTHING, progress["outcome"], progress["occurred_at"])
        for effect in batch.get("delegation_effects", ()):
            self._one(_EFFECT, effect["enforcer"] or NOTHING, effect["step"], effect["occurred_at"])

    def open(self, after: int, through: int, *, first: bool) -> None:
        """Counts the emitter as open in the windows that it reaches for the first time with this batch."""
        self._reach(after, through, _EMITTERS, NOTHING, first=first)

    def witness(self, family: str, after: int, through: int, *, first: bool) -> None:
        """Counts the emitter as a witness of a family beyond the first four, in the same way."""
        self._reach(after, through, _WITNESSES, family, first=first)

    def _reach(self, after: int, through: int, measure: str, capability: str, *, first: bool) -> None:
        for seconds in self._rules.window_seconds:
            size = seconds * MICROS
            begin = after if first else after - after % size + size
            if begin <= through:
                for start in self._rules.starts(begin, through, seconds):
                    self._add((start, seconds, self._scope, measure, capability, NOTHING), 1)
        if first:
            self._add((0, LIFETIME, self._scope, measure, capability, NOTHING), 1)

    def duplicate(self, arrival: int) -> None:
        """Counts the batch as seen before, in the window in which it arrived."""
        self._count(_DUPLICATES, NOTHING, NOTHING, arrival, 1)

    def _many(self, measure: str, capability: str, code: str, instants: Instants) -> None:
        if isinstance(instants, list | tuple):
            low, high = min(instants), max(instants)
        else:
            low, high = int(instants.min()), int(instants.max())
        latest = self._latest
        if high > latest:
            instants = [int(instant) for instant in instants]
            self._count(_SKEWED, NOTHING, NOTHING, self._instead, sum(instant > latest for instant in instants))
            instants = [self._instead if instant > latest else instant for instant in instants]
            low, high = min(instants), max(instants)
        grain = self._grain
        if low // grain == high // grain:
            self._count(measure, capability, code, low, len(instants))
            return
        if not isinstance(instants, list | tuple):
            instants = instants.tolist()
        for part, n in Counter([instant // grain for instant in instants]).items():
            self._count(measure, capability, code, part * grain, n)

    def _one(self, measure: str, capability: str, code: str, instant: int) -> int:
        if instant > self._latest:
            instant = self._instead
            self._count(_SKEWED, NOTHING, NOTHING, instant, 1)
        self._count(measure, capability, code, instant, 1)
        return instant

    def _count(self, measure: str, capability: str, code: str, instant: int, n: int) -> None:
        label = (measure, capability, code, instant // self._grain)
        shortcut = self._shortcuts.get(label)
        if shortcut is not None and self._newest < shortcut[0]:
            for key, cell in shortcut[1]:
                cell.count += n
                if not cell.noted:
                    self._note(key, cell)
            return
        self._count_anew(label, instant, n)

    def _count_anew(self, label: Labelled, instant: int, n: int) -> None:
        scope = self._scope
        measure, capability, code, _ = label
        all_time: CellId = (0, LIFETIME, scope, measure, capability, code)
        merged = all_time not in self._state.cells and self._full()
        if merged:
            # What is of a closed set stays: there is little of it.
            capability = capability if capability == NOTHING or measure in _CLOSED else MERGED_LABEL
            code = MERGED_LABEL if measure == _ATTEMPT else code
            all_time = (0, LIFETIME, scope, measure, capability, code)
        cells = [(all_time, self._add(all_time, n))]
        grace = self._rules.grace_us
        holds = 1 << 62
        for seconds in self._rules.window_seconds:
            start = window_start(instant, seconds)
            key = (start, seconds, scope, measure, capability, code)
            cells.append((key, self._add(key, n)))
            late_at = start + seconds * MICROS + grace
            holds = min(holds, late_at, start + seconds * MICROS + self._rules.horizon_us)
            if late_at <= self._newest and measure != _SKEWED and measure != _DUPLICATES:
                self._add((start, seconds, scope, _LATE, NOTHING, NOTHING), n)
        # What is late goes the long way, since it is counted twice or corrects what was evicted.
        if self._newest < holds and not merged:
            if len(self._shortcuts) >= _MAX_SHORTCUTS:
                self._shortcuts.clear()
            self._shortcuts[label] = (holds, tuple((key, cell) for key, cell in cells if cell is not None))

    def _full(self) -> bool:
        return len(self._state.windows.get(_ALL_TIME, ())) >= self._rules.label_limit

    def _upstream(self, upstream: str, session_id: str, instant: int) -> None:
        """Outages are looked for in the windows of one size only."""
        seconds = self._rules.outage_seconds
        start = window_start(instant, seconds)
        if self._rules.evicted(start, seconds, self._newest):
            return
        cell = self._add((start, seconds, self._scope, _UPSTREAM, upstream, NOTHING), 1)
        if cell is not None and session_id not in cell.sessions and len(cell.sessions) < _MAX_SESSIONS:
            cell.sessions.append(session_id)

    def _add(self, key: CellId, n: int) -> Cell | None:
        state = self._state
        # A cell that is still here although its time is over is passed over, since a replay may not find it.
        if self._rules.evicted(key[0], key[1], self._newest):
            corrections = state.touched.corrections
            entry = (key, self._correction)
            corrections[entry] = corrections.get(entry, 0) + n
            return None
        cell = state.cells.get(key)
        if cell is None:
            cell = add_cell(state, key, Cell())
        cell.count += n
        if not cell.noted:
            self._note(key, cell)
        return cell

    def _note(self, key: CellId, cell: Cell) -> None:
        self._state.touched.cells.add(key)
        self._state.unpublished.add(key)
        cell.noted = True
