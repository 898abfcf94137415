"""Finding out about a signal before it decides: that it moves, and that it does not move by itself."""

import secrets

from unmask.producers.delegation.account import Entry
from unmask.producers.delegation.content import content_digest
from unmask.producers.delegation.keeper import Keeper
from unmask.producers.delegation.recording import Recording
from unmask.producers.delegation.signal import Reading, Signal
from unmask.schemas.breaker import Budget, Step
from unmask.schemas.codes import CallOutcome
from unmask.schemas.tokens import opaque_id

__all__ = ["calibrated", "probed"]

_NOTHING = Budget()


def calibrated(delegation: Recording, keeper: Keeper, signal: str, before: object, after: object) -> bool:
    """Whether the signal moved between two contents; put on record if so, as a little delegation of its own.

    In that its two states are seen by whoever follows the records, and not among the states of the delegation: one
    that was only shown may be the very one that the delegation is to reach.
    """
    first, second = content_digest(before), content_digest(after)
    if first is None or second is None or first == second:
        return False
    keeper.post(delegation.delegation_id, Entry(moving=(signal,)))
    try:
        shown = delegation.beside(opaque_id(f"calibration.{signal}"))
        for digest, conditions in ((first, "before"), (second, "after")):
            shown.record_call(
                CallOutcome.SUCCEEDED, attempt=1, tokens=0, budget=_NOTHING, signal=signal,
                reading=Reading(digest, conditions),
            )  # fmt: skip
    except Exception:
        delegation.note_fault()
    return True


def probed(delegation: Recording, keeper: Keeper, signal: Signal, budget: Budget) -> None:
    """Read the state twice before the first call: where the delegation begins, and whether the signal is stable.

    Two readings that differ go on record as calls that were not made, since records tell of calls alone: so whoever
    follows them sees the same.
    """
    first, second = signal.reading(), signal.reading()
    if first is None or second is None or first.conditions != second.conditions:
        return
    conditions = first.conditions or f"probe-{secrets.token_hex(8)}"
    stable = first == second
    readings = [Reading(one.state_digest, conditions, one.measure) for one in (first, second)]
    for reading in readings[:1] if stable else readings:
        step = Step(
            CallOutcome.SUCCEEDED.value, signal.token, reading.state_digest, conditions, measure=reading.measure,
            delegation_id=delegation.delegation_id, reading=True,
        )  # fmt: skip
        keeper.post(delegation.delegation_id, Entry(step=step))
        if not stable:
            delegation.record_call(
                CallOutcome.REFUSED, attempt=1, tokens=0, budget=budget, signal=signal.token, reading=reading
            )
