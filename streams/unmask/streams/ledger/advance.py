"""Time: what follows from having read everything that stood in the log at a broker time. No clock here either.

Emitters fall silent or behind, cells of old windows close for good, ended sessions and dead emitters are forgotten.
"""

from unmask.schemas.codes import FlawCause
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS
from unmask.streams.ledger.flaws import move_unaccounted
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.session_fold import abandon_sessions
from unmask.streams.ledger.state import Emitter, PartitionState

__all__ = ["advance", "scope_marks"]

_EVICTION_SLACK_US = 60 * MICROS
# Brokers' clocks may differ a little; a cell stays in memory this much longer than the fold still counts into it.


def advance(state: PartitionState, rules: FoldRules, read_through: int) -> None:
    """Everything that stood in the partition at broker time `read_through` has been folded."""
    if read_through <= state.read_through:
        return
    state.read_through = read_through
    for emitter_id, emitter in list(state.emitters.items()):
        _account(state, rules, emitter_id, emitter)
        if emitter.last_arrival + rules.emitter_horizon_us < read_through:
            del state.emitters[emitter_id]
            state.touched.removed_emitters.append(emitter_id)
    _evict(state, rules)


def scope_marks(state: PartitionState) -> dict[Scope, tuple[int, int]]:
    """Per scope with live emitters: up to when all of them have accounted, and how many they are."""
    marks: dict[Scope, tuple[int, int]] = {}
    for emitter in state.emitters.values():
        if emitter.closed or emitter.unaccounted is not None:
            continue
        through, n = marks.get(emitter.scope, (emitter.last_cut, 0))
        marks[emitter.scope] = (min(through, emitter.last_cut), n + 1)
    return marks


def _account(state: PartitionState, rules: FoldRules, emitter_id: str, emitter: Emitter) -> None:
    """Finds out whether an emitter owes an account, and flags the windows for which it does."""
    silence = rules.silence_factor * emitter.heartbeat_us
    through = state.read_through
    if emitter.closed or emitter.last_cut + silence >= through:
        if emitter.unaccounted is not None:
            move_unaccounted(state, rules, emitter_id, emitter, None, 0, 0)
        return
    silent = emitter.last_arrival + silence < through
    cause = (FlawCause.SILENT if silent else FlawCause.BEHIND).value
    until = max(emitter.last_cut, min(through, emitter.last_arrival + silence + rules.write_off_us))
    if (emitter.unaccounted, emitter.unaccounted_from, emitter.unaccounted_until) != (cause, emitter.last_cut, until):
        newly = emitter.unaccounted != cause
        move_unaccounted(state, rules, emitter_id, emitter, cause, emitter.last_cut, until)
        if newly and silent:
            abandon_sessions(state, emitter_id, emitter, until, through)


def _evict(state: PartitionState, rules: FoldRules) -> None:
    through, touched = state.read_through, state.touched
    gone = [
        key
        for key in state.cells
        if rules.evicted(key[0], key[1], through - _EVICTION_SLACK_US) and key not in state.unpublished
    ]
    for key in gone:
        del state.cells[key]
        touched.cells.discard(key)
        touched.removed_cells.append(key)
    old = [
        session_id
        for session_id, session in state.sessions.items()
        if session.ended_arrival is not None and session.ended_arrival + rules.session_horizon_us < through
    ]
    for session_id in old:
        del state.sessions[session_id]
        touched.sessions.discard(session_id)
        touched.removed_sessions.append(session_id)
