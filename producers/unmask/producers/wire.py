"""The batch as it goes out: events of one cut as a record of the contract."""

from typing import Any, NamedTuple

from unmask.producers.events import ATTEMPT, LANES, Event
from unmask.producers.report import FURTHER_FAMILIES
from unmask.schemas.scope import Scope

__all__ = ["Identity", "lay_out"]

_FURTHER = tuple(family.value for family in FURTHER_FAMILIES)
_FURTHER_FIELDS = ("route_selections", "delegation_progress", "delegation_effects")


class Identity(NamedTuple):
    """What every batch of one emitter says about it."""

    emitter_id: str
    started_at: int
    """Microseconds."""
    scope: Scope
    heartbeat_ms: int
    sdk: str
    witnesses: tuple[str, ...] = ()
    """Families beyond the first four that it can tell of, by its settings."""

    def as_record(self) -> dict[str, Any]:
        """The wire's emitter."""
        return {
            "emitter_id": self.emitter_id,
            "started_at": self.started_at,
            "scope": self.scope._asdict(),
            "heartbeat_ms": self.heartbeat_ms,
            "sdk": self.sdk,
        }


def lay_out(
    identity: Identity,
    seq: int,
    events: list[Event],
    *,
    earliest: int,
    sent_at: int,
    closing: bool,
    accounts: list[dict[str, Any]],
) -> dict[str, Any]:
    """The event_batch of these events. Instants outside of `earliest` to `sent_at` are moved to the nearer end.

    So a batch's events lie within its cut, although the host's clock may step, and a record call may be interrupted
    between reading the clock and leaving its event.
    """
    groups: dict[tuple[str, str], tuple[list[int], list[str]]] = {}
    others: list[list[dict[str, Any]]] = [[] for _ in LANES]
    for micros, lane, body in events:
        if micros < earliest:
            micros = earliest
        elif micros > sent_at:
            micros = sent_at
        if lane == ATTEMPT:
            pair, run_id = body
            columns = groups.get(pair)
            if columns is None:
                columns = groups[pair] = ([], [])
            columns[0].append(micros)
            columns[1].append(run_id)
        else:
            others[lane].append({**body, "occurred_at": micros})
    _, fallbacks, masked, teardowns, *further, openings = others
    batch = {
        "emitter": identity.as_record(),
        "batch_seq": seq,
        "sent_at": sent_at,
        "closing": closing,
        "accounts": accounts,
        "route_attempts": [
            {
                "capability": capability,
                "entry_point": entry_point,
                "occurred_at": times,
                "run_id": runs if any(runs) else [],
            }
            for (capability, entry_point), (times, runs) in groups.items()
        ],
        "kernel_fallbacks": fallbacks,
        "masked_errors": masked,
        "session_openings": openings,
        "session_teardowns": teardowns,
    }
    # What says nothing new is left out: the batch is the same to whoever has never heard of these families.
    batch.update((field, held) for field, held in zip(_FURTHER_FIELDS, further, strict=True) if held)
    if witnesses := _witnesses(identity, accounts):
        batch["witnesses"] = witnesses
    return batch


def _witnesses(identity: Identity, accounts: list[dict[str, Any]]) -> list[str]:
    """Families beyond the first four that the emitter can tell of: as it says, and what it ever recorded."""
    accounted = {account["family"] for account in accounts}
    return [family for family in _FURTHER if family in identity.witnesses or family in accounted]
