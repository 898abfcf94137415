"""Flaws: which windows and sessions a stretch without proof touches, and how it is taken back."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from unmask.schemas.codes import FlawCause
from unmask.schemas.scope import Scope
from unmask.streams.ledger.accounting import SESSION_FAMILIES, WORK_FAMILIES
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.session_evidence import touch_sessions
from unmask.streams.ledger.state import Beyond, Emitter, FlawRecord, PartitionState, Stretch, Touched

__all__ = ["clear_stretch", "flag_identity", "flag_partition", "flag_stretch", "flaw_records", "move_unaccounted"]

_MAX_REMEMBERED = 256
_IDENTITY = FlawCause.IDENTITY.value


def flag_stretch(
    state: PartitionState, emitter_id: str, emitter: Emitter, after: int, before: int, cut_after: int, cut_before: int,
    cause: str, losses: list[dict[str, Any]],
) -> None:  # fmt: skip
    """Flags every window between two cuts, and the sessions that may lack events because of it."""
    stretch = Stretch(emitter.scope, cut_after, cut_before, losses)
    state.touched.stretches[emitter_id, after, before, cause] = stretch
    if any(loss["family"] in SESSION_FAMILIES for loss in losses):
        if len(emitter.flaws) >= _MAX_REMEMBERED:
            _merge_oldest(emitter)
        emitter.flaws[f"{after}-{before}"] = [cut_after, cut_before]
        touch_sessions(state, emitter, cut_after, cut_before)
    if work := [loss["family"] for loss in losses if loss["family"] in WORK_FAMILIES]:
        beyond = emitter.beyond = emitter.beyond or Beyond()
        if len(beyond.losses) >= _MAX_REMEMBERED:
            _merge_oldest_losses(beyond)
        beyond.losses[f"{after}-{before}"] = [cut_after, cut_before, work]
        beyond.changed = True
        touch_sessions(state, emitter, cut_after, cut_before)


def clear_stretch(
    state: PartitionState, emitter_id: str, emitter: Emitter, after: int, before: int, cut_after: int, cut_before: int,
    cause: str,
) -> None:  # fmt: skip
    """Takes a stretch's flaws back, because what lay in it arrived."""
    stretches, key = state.touched.stretches, (emitter_id, after, before, cause)
    # One that nobody was told of yet need not be taken back.
    if stretches.pop(key, None) is None:
        stretches[key] = Stretch(emitter.scope, cut_after, cut_before, None)
    name, beyond = f"{after}-{before}", emitter.beyond
    if emitter.flaws.pop(name, None) is not None:
        touch_sessions(state, emitter, cut_after, cut_before)
    if beyond is not None and beyond.losses.pop(name, None) is not None:
        beyond.changed = True
        touch_sessions(state, emitter, cut_after, cut_before)


def flaw_records(touched: Touched, rules: FoldRules) -> Iterator[FlawRecord]:
    """All flaws that were set or taken back, window by window; of two words on one flaw the later one counts."""
    for (emitter_id, after, before, cause), stretch in touched.stretches.items():
        for seconds in rules.window_seconds:
            for start in rules.starts(stretch.cut_after, stretch.cut_before, seconds):
                yield FlawRecord(start, seconds, stretch.scope, emitter_id, after, before, cause, stretch.losses)
    yield from touched.flaws


def flag_partition(
    state: PartitionState, rules: FoldRules, cause: FlawCause, first: int, last: int, from_offset: int, to_offset: int
) -> None:
    """Flags windows of every scope, because it is not known whose events a record or an offset range held."""
    for seconds in rules.window_seconds:
        for start in rules.starts(min(first, last), max(first, last), seconds):
            state.touched.flaws.append(FlawRecord(start, seconds, None, None, from_offset, to_offset, cause.value, []))


def flag_identity(
    state: PartitionState, rules: FoldRules, emitter_id: str, emitter: Emitter, other: Scope, first: int, last: int
) -> None:  # fmt: skip
    """Flags [first, last] for good, because a batch that was not counted claims to be of this emitter.

    Both for the emitter's scope and for the one that the batch names, `other`.
    """
    stretches, said = emitter.flaws, state.touched.flaws
    known = next((name for name, (a, b) in stretches.items() if _is_identity(name) and first <= b and a <= last), None)
    a, b = stretches.pop(known) if known else (1, 0)
    for seconds in rules.window_seconds:
        before = rules.starts(a, b, seconds) if known else range(0)
        now = rules.starts(first, last, seconds)
        # Whoever sends with every heartbeat as somebody else is told of window by window, not all over again.
        for start in _without(now, before):
            said.append(FlawRecord(start, seconds, emitter.scope, emitter_id, -1, -1, _IDENTITY, []))
        for start in now if other != emitter.scope else ():
            said.append(FlawRecord(start, seconds, other, emitter_id, -1, -1, _IDENTITY, []))
    if known:
        first, last = min(first, a), max(last, b)
    elif len(stretches) >= _MAX_REMEMBERED:
        _merge_oldest(emitter)
    emitter.flaws[f"{_IDENTITY}-{first}"] = [first, last]
    touch_sessions(state, emitter, first, last)


def _is_identity(name: str) -> bool:
    # One that was merged with others covers more than was flagged.
    return name.startswith(_IDENTITY) and not name.endswith("+")


def move_unaccounted(
    state: PartitionState, rules: FoldRules, emitter_id: str, emitter: Emitter,
    cause: str | None, first: int, last: int,
) -> None:  # fmt: skip
    """Moves the flaw of a silent or behind emitter to [first, last], or removes it (cause None)."""
    known, flaws = emitter.unaccounted, state.touched.flaws
    moved = known != cause
    for seconds in rules.window_seconds:
        old = rules.starts(emitter.unaccounted_from, emitter.unaccounted_until, seconds) if known else range(0)
        new = rules.starts(first, last, seconds) if cause else range(0)
        gone, came = (old, new) if known != cause else (_without(old, new), _without(new, old))
        for start in gone:
            flaws.append(FlawRecord(start, seconds, emitter.scope, emitter_id, -1, -1, str(known), None))
            moved = True
        for start in came:
            flaws.append(FlawRecord(start, seconds, emitter.scope, emitter_id, -1, -1, str(cause), []))
            moved = True
    if not moved:
        # The same windows as before: nothing to publish, and nothing to remember either.
        return
    emitter.unaccounted, emitter.unaccounted_from, emitter.unaccounted_until = cause, first, last
    state.touched.emitters.add(emitter_id)
    if (known is None) != (cause is None):
        touch_sessions(state, emitter, emitter.last_cut + 1)


def _without(starts: range, others: range) -> Iterator[int]:
    """Those of `starts` that are not among `others`; both count in the same steps."""
    if not others:
        return iter(starts)
    below = range(starts.start, min(starts.stop, others.start), starts.step)
    above = range(max(starts.start, others[-1] + starts.step), starts.stop, starts.step)
    return chain(below, above)


def _merge_oldest(emitter: Emitter) -> None:
    """Keeps the list short: the two oldest stretches become one that covers both and is never taken back."""
    (first, a), (second, b) = list(emitter.flaws.items())[:2]
    del emitter.flaws[first], emitter.flaws[second]
    merged = {first.rstrip("+") + "+": [min(a[0], b[0]), max(a[1], b[1])]}
    emitter.flaws = merged | emitter.flaws


def _merge_oldest_losses(beyond: Beyond) -> None:
    """As _merge_oldest."""
    (first, a), (second, b) = list(beyond.losses.items())[:2]
    del beyond.losses[first], beyond.losses[second]
    families = [family for family in WORK_FAMILIES if family in a[2] or family in b[2]]
    merged = {first.rstrip("+") + "+": [min(a[0], b[0]), max(a[1], b[1]), families]}
    beyond.losses = merged | beyond.losses
