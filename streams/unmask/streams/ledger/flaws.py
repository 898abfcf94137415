"""Flaws: which windows a stretch without proof touches, and how it is taken back."""

from typing import Any

from unmask.schemas.codes import FlawCause
from unmask.schemas.windowing import MICROS, windows_touching
from unmask.streams.ledger.accounting import SESSION_FAMILIES
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.state import Emitter, FlawRecord, PartitionState

__all__ = ["clear_stretch", "flag_partition", "flag_stretch", "move_unaccounted"]

_MAX_WINDOWS = 20_000  # of one size, per stretch: two weeks of minutes; beyond, the newest are flagged
_MAX_REMEMBERED = 256


def _windows(first: int, last: int, rules: FoldRules) -> set[tuple[int, int]]:
    touched: set[tuple[int, int]] = set()
    for seconds in rules.window_seconds:
        begin = max(first, last - _MAX_WINDOWS * seconds * MICROS)
        touched.update((start, seconds) for start in windows_touching(begin, last, seconds))
    return touched


def flag_stretch(
    state: PartitionState, rules: FoldRules, emitter_id: str, emitter: Emitter,
    after: int, before: int, cut_after: int, cut_before: int, cause: str, losses: list[dict[str, Any]],
) -> None:  # fmt: skip
    """Flags every window between two cuts, and the sessions that may lack events because of it."""
    for start, seconds in _windows(cut_after, cut_before, rules):
        state.touched.flaws.append(FlawRecord(start, seconds, emitter.scope, emitter_id, after, before, cause, losses))
    if any(loss["family"] in SESSION_FAMILIES for loss in losses):
        if len(emitter.flaws) >= _MAX_REMEMBERED:
            _merge_oldest(emitter)
        emitter.flaws[f"{after}-{before}"] = [cut_after, cut_before]
        flag = f"{emitter_id}/{after}-{before}"
        for session_id, session in _sessions_of(state, emitter_id):
            if (session.opened_at or 0) <= cut_before and cut_after <= _end(session):
                session.flaws.add(flag)
                state.touched.sessions.add(session_id)


def clear_stretch(
    state: PartitionState, rules: FoldRules, emitter_id: str, emitter: Emitter,
    after: int, before: int, cut_after: int, cut_before: int, cause: str,
) -> None:  # fmt: skip
    """Takes a stretch's flaws back, because what lay in it arrived."""
    for start, seconds in _windows(cut_after, cut_before, rules):
        state.touched.flaws.append(FlawRecord(start, seconds, emitter.scope, emitter_id, after, before, cause, None))
    if emitter.flaws.pop(f"{after}-{before}", None) is not None:
        flag = f"{emitter_id}/{after}-{before}"
        for session_id, session in _sessions_of(state, emitter_id):
            if flag in session.flaws:
                session.flaws.discard(flag)
                state.touched.sessions.add(session_id)


def flag_partition(
    state: PartitionState, rules: FoldRules, cause: FlawCause, first: int, last: int, from_offset: int, to_offset: int
) -> None:
    """Flags windows of every scope, because it is not known whose events a record or an offset range held."""
    for start, seconds in _windows(min(first, last), last, rules):
        state.touched.flaws.append(FlawRecord(start, seconds, None, None, from_offset, to_offset, cause.value, []))


def move_unaccounted(
    state: PartitionState, rules: FoldRules, emitter_id: str, emitter: Emitter,
    cause: str | None, first: int, last: int,
) -> None:  # fmt: skip
    """Moves the flaw of a silent or behind emitter to [first, last], or removes it (cause None)."""
    old_cause = emitter.unaccounted
    old = _windows(emitter.unaccounted_from, emitter.unaccounted_until, rules) if old_cause else set()
    new = _windows(first, last, rules) if cause else set()
    gone = old if old_cause != cause else old - new
    came = new if old_cause != cause else new - old
    flaws = state.touched.flaws
    for start, seconds in sorted(gone):
        flaws.append(FlawRecord(start, seconds, emitter.scope, emitter_id, -1, -1, str(old_cause), None))
    for start, seconds in sorted(came):
        flaws.append(FlawRecord(start, seconds, emitter.scope, emitter_id, -1, -1, str(cause), []))
    emitter.unaccounted, emitter.unaccounted_from, emitter.unaccounted_until = cause, first, last
    state.touched.emitters.add(emitter_id)


def _sessions_of(state: PartitionState, emitter_id: str) -> list[tuple[str, Any]]:
    return [(name, session) for name, session in state.sessions.items() if emitter_id in session.emitters]


def _end(session: Any) -> int:
    if not session.teardowns:
        return 1 << 62
    return int(max(teardown["occurred_at"] for teardown in session.teardowns))


def _merge_oldest(emitter: Emitter) -> None:
    """Keeps the list short: the two oldest stretches become one that covers both and is never taken back."""
    (first, a), (second, b) = list(emitter.flaws.items())[:2]
    del emitter.flaws[first], emitter.flaws[second]
    merged = {f"{first}+": [min(a[0], b[0]), max(a[1], b[1])]}
    emitter.flaws = merged | emitter.flaws
