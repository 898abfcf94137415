"""Loss accounting: what an emitter's batch sequence and accounts prove about the stretch between two batches.

S(x) is what an account calls shipped: recorded minus dropped, cumulative through batch x. For known batches i < k
with nothing known between them, S(k) - events(k) - S(i) events were shipped in the batches between and are missing.
With i + 1 = k that difference must be 0, unless batch k tells that batches cut before i were given up: then as many
events are dropped as the difference is short, and nothing of this stretch is lost.
"""

from typing import Any

from unmask.schemas.codes import FlawCause
from unmask.streams.ledger.state import Drops, Shipped

__all__ = [
    "FAMILIES",
    "SESSION_FAMILIES",
    "WORK_FAMILIES",
    "Account",
    "losses_between",
    "read_account",
    "stretch_cause",
]

FAMILIES = {
    "route_attempt": "route_attempts",
    "kernel_fallback": "kernel_fallbacks",
    "masked_error": "masked_errors",
    "session_teardown": "session_teardowns",
    "route_selection": "route_selections",
    "delegation_progress": "delegation_progress",
    "delegation_effect": "delegation_effects",
}
"""Family -> field of the batch that holds its events."""
SESSION_FAMILIES = frozenset(("kernel_fallback", "masked_error", "session_teardown"))
"""Families of which every session may miss something."""
WORK_FAMILIES = ("route_selection", "delegation_progress", "delegation_effect")
"""Families of which only sessions with selections, or with delegations, are taken to miss something; and of which an
emitter proves nothing before it says that it can tell of them."""

_LISTED = tuple((family, name) for family, name in FAMILIES.items() if family != "route_attempt")

Account = tuple[Shipped, Drops, Shipped]
"""Shipped through the batch, dropped through it, and events in it, per family."""
Losses = list[dict[str, Any]]
"""As in an evidence_flaw: family, missing, dropped by cause."""


def read_account(batch: dict[str, Any]) -> Account:
    """What the batch says of itself. Families that it does not mention were never recorded."""
    shipped: Shipped = {}
    dropped: Drops = {}
    for account in batch["accounts"]:
        family = account["family"]
        if family not in FAMILIES:
            continue
        shipped[family] = account["recorded"]
        if account["dropped"]:
            causes: dict[str, int] = {}
            for entry in account["dropped"]:
                # Causes that this reader does not know all have one name.
                if entry["count"]:
                    causes[entry["cause"]] = causes.get(entry["cause"], 0) + entry["count"]
            if causes:
                dropped[family] = causes
                shipped[family] -= sum(causes.values())
    events: Shipped = {}
    if batch["route_attempts"]:
        events["route_attempt"] = sum(len(group["occurred_at"]) for group in batch["route_attempts"])
    for family, name in _LISTED:
        held = batch[name]
        if held:
            events[family] = len(held)
    return shipped, dropped, events


def losses_between(shipped_from: Shipped, dropped_from: Drops, shipped_to: Shipped, dropped_to: Drops) -> Losses:
    """What is missing between two points of an emitter's account: empty when nothing is.

    `shipped_to` is the account when the later batch began, that is without its own events.
    """
    losses: Losses = []
    if shipped_from == shipped_to and dropped_from == dropped_to:
        return losses
    for family in FAMILIES:
        missing = shipped_to.get(family, 0) - shipped_from.get(family, 0)
        before, after = dropped_from.get(family, {}), dropped_to.get(family, {})
        newly = {cause: after.get(cause, 0) - before.get(cause, 0) for cause in sorted({*before, *after})}
        # What was dropped after it had been cut into a batch is missing where that batch is missing, not here.
        if missing + sum(newly.values()):
            dropped = [{"cause": cause, "count": count} for cause, count in newly.items() if count]
            losses.append({"family": family, "missing": missing, "dropped": dropped})
    return losses


def stretch_cause(after: int, before: int, losses: Losses) -> str:
    """The flaw's cause of a stretch that lacks something."""
    if before > after + 1 and any(loss["missing"] > 0 for loss in losses):
        return FlawCause.GAP.value
    if any(loss["dropped"] for loss in losses):
        return FlawCause.DROPPED.value
    return FlawCause.MISCOUNT.value
