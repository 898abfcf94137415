"""Time: what follows from having read everything that stood in the log at a broker time. No clock here either.

Emitters fall silent or behind, cells of old windows close for good, ended sessions and dead emitters are forgotten.
"""

from unmask.schemas.codes import FlawCause
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import LIFETIME, MICROS
from unmask.streams.ledger.flaws import move_unaccounted
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.session_life import abandon_sessions, forget_session, revive_sessions
from unmask.streams.ledger.state import Emitter, PartitionState

__all__ = ["advance", "scope_marks"]

_EVICTION_SLACK_US = 60 * MICROS
# Brokers' clocks may differ a little; a cell stays in memory this much longer than the fold still counts into it.
_SWEEP_US = 60 * MICROS
_RENEWAL_US = 24 * 3600 * MICROS
# The topic behind keeps a snapshot for a week: a count of all time that stands still is told again every day.
_SILENT, _BEHIND = FlawCause.SILENT.value, FlawCause.BEHIND.value


def advance(state: PartitionState, rules: FoldRules, read_through: int) -> None:
    """Everything that stood in the partition at broker time `read_through` has been folded."""
    before = state.read_through
    if read_through <= before:
        return
    state.read_through = read_through
    for emitter_id in list(state.live):
        _account(state, rules, emitter_id, state.emitters[emitter_id])
    _evict(state, rules)
    # What only frees memory goes by the minute: it looks at everything there is.
    if before // _SWEEP_US != read_through // _SWEEP_US:
        _forget(state, rules)
    if before // _RENEWAL_US != read_through // _RENEWAL_US:
        state.unpublished |= state.windows.get((0, LIFETIME), set())


def scope_marks(state: PartitionState) -> dict[Scope, tuple[int, int]]:
    """Per scope with live emitters: up to when all of them have accounted, and how many they are."""
    marks: dict[Scope, tuple[int, int]] = {}
    for emitter_id in state.live:
        emitter = state.emitters[emitter_id]
        if emitter.closed or emitter.unaccounted is not None:
            continue
        through, n = marks.get(emitter.scope, (emitter.last_cut, 0))
        marks[emitter.scope] = (min(through, emitter.last_cut), n + 1)
    return marks


def _account(state: PartitionState, rules: FoldRules, emitter_id: str, emitter: Emitter) -> None:
    """Finds out whether an emitter owes an account, and flags the windows for which it does."""
    silence = rules.silence_factor * emitter.heartbeat_us
    through, was = state.read_through, emitter.unaccounted
    cause = None
    if not emitter.closed and emitter.last_cut + silence < through:
        cause = _SILENT if emitter.last_arrival + silence < through else _BEHIND
    if cause is not None:
        until = max(emitter.last_cut, min(through, emitter.last_arrival + silence + rules.write_off_us))
        move_unaccounted(state, rules, emitter_id, emitter, cause, emitter.last_cut, until)
        if cause == _SILENT:
            abandon_sessions(state, emitter_id, emitter, until, through)
    elif was is not None:
        move_unaccounted(state, rules, emitter_id, emitter, None, 0, 0)
    if was == _SILENT and cause != _SILENT:
        revive_sessions(state, emitter)
    if emitter.closed:
        state.live.discard(emitter_id)


def _evict(state: PartitionState, rules: FoldRules) -> None:
    through, touched = state.read_through - _EVICTION_SLACK_US, state.touched
    for window in [window for window in state.windows if rules.evicted(*window, through)]:
        cells = state.windows[window]
        if not cells.isdisjoint(state.unpublished):
            # Their last counts go out first.
            continue
        for key in cells:
            del state.cells[key]
        touched.cells -= cells
        touched.removed_cells.extend(cells)
        del state.windows[window]
        state.evicted_through = through


def _forget(state: PartitionState, rules: FoldRules) -> None:
    through = state.read_through
    for emitter_id, emitter in list(state.emitters.items()):
        if emitter.last_arrival + rules.emitter_horizon_us < through:
            del state.emitters[emitter_id]
            state.live.discard(emitter_id)
            state.touched.emitters.discard(emitter_id)
            state.touched.removed_emitters.append(emitter_id)
            if emitter.beyond is not None:
                state.touched.removed_beyond.append(emitter_id)
    for session_id, session in list(state.sessions.items()):
        if session.ended_arrival is not None and session.ended_arrival + rules.session_horizon_us < through:
            forget_session(state, session_id)
