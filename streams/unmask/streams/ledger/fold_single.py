"""The fold of a single: what fold_batch does with the next batch of an emitter that holds one attempt, and no more.

Everything that is not plain sailing (a gap, a duplicate, another window, a clock that is ahead, an emitter that was
silent) is left to fold_batch, which alone judges.
"""

from unmask.schemas.codes import Family, Measure
from unmask.streams.ledger.rules import SKEW_US, FoldRules
from unmask.streams.ledger.singles import Single
from unmask.streams.ledger.state import RECENT, PartitionState

__all__ = ["fold_single"]

_FAMILY = Family.ROUTE_ATTEMPT.value
_MEASURE = Measure.ROUTE_ATTEMPT.value


def fold_single(state: PartitionState, rules: FoldRules, offset: int, arrival: int, single: Single) -> bool:
    """Folds the single and returns True; or changes nothing and returns False, and fold_batch must do it."""
    said, seq, sent, recorded, (capability, entry_point), occurred_at, digest = single
    emitter_id = said["emitter_id"]
    emitter = state.emitters.get(emitter_id)
    # What is not the very thing that was compared the last time may be said by another life.
    if emitter is None or said is not emitter.said or seq != emitter.last_seq + 1 or emitter.dropped or emitter.closed:
        return False
    shipped, cut_after, grain = emitter.shipped, emitter.last_cut, rules.grain_us
    part = sent // grain
    if (
        len(shipped) != 1
        or shipped.get(_FAMILY) != recorded - 1
        or emitter.unaccounted is not None
        or sent < cut_after
        or max(sent, occurred_at) > arrival + SKEW_US
        or cut_after // grain != part
        or occurred_at // grain != part
    ):
        return False
    shortcuts = state.shortcuts.get(emitter.scope)
    shortcut = None if shortcuts is None else shortcuts.get((_MEASURE, capability, entry_point, part))
    newest = max(state.newest, arrival)
    if shortcut is None or max(newest, state.evicted_through) >= shortcut[0]:
        return False
    state.next_offset = offset + 1
    state.newest = state.previous = newest
    state.quarantine_run = 0
    if arrival > emitter.last_arrival:
        emitter.last_arrival = arrival
    emitter.last_seq, emitter.last_cut = seq, sent
    emitter.recent[seq % RECENT] = digest
    # Gaps keep the account that was before.
    emitter.shipped = {_FAMILY: recorded}
    emitter.heartbeat_us = said["heartbeat_ms"] * 1000
    touched = state.touched
    touched.emitters.add(emitter_id)
    for key, cell in shortcut[1]:
        cell.count += 1
        if not cell.noted:
            touched.cells.add(key)
            state.unpublished.add(key)
            cell.noted = True
    return True
