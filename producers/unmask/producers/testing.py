"""For tests of hosts and of whatever reads batches: an independent check of what a series of batches accounts for."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from unmask.producers.report import FAMILIES

__all__ = ["account_faults", "events_in", "lost_by_cause"]

_FIELDS = dict(
    zip(
        FAMILIES,
        (
            "route_attempts", "kernel_fallbacks", "masked_errors", "session_teardowns", "route_selections",
            "delegation_progress", "delegation_effects",
        ),
        strict=True,
    )
)  # fmt: skip


def events_in(batch: dict[str, Any]) -> Counter[str]:
    """Events that a decoded event_batch holds, per family."""
    held = {str(family): len(batch.get(field, ())) for family, field in _FIELDS.items()}
    held["route_attempt"] = sum(len(group["occurred_at"]) for group in batch["route_attempts"])
    return Counter({family: count for family, count in held.items() if count})


def lost_by_cause(batch: dict[str, Any]) -> dict[str, dict[str, int]]:
    """What the emitter had dropped when it cut this batch: cause and count, per family with any."""
    return {
        account["family"]: {dropped["cause"]: dropped["count"] for dropped in account["dropped"]}
        for account in batch["accounts"]
        if account["dropped"]
    }


def account_faults(batches: Iterable[dict[str, Any]]) -> list[str]:
    """What is wrong with one emitter's batches, in sentences; empty where every account holds.

    recorded may grow by no less than what a batch holds, and only by drops beyond that. What recorded minus dropped
    falls short of the events held must be made up by drops, of batches that were given up after their cut. Every event
    must lie after the cut before and not after its own. A batch that is not there is a fault, and may have held any
    number of events.
    """
    faults: list[str] = []
    recorded_before: Counter[str] = Counter()
    dropped_before: Counter[str] = Counter()
    seq = 0
    accounted_through: int | None = None
    for batch in sorted(batches, key=lambda each: int(each["batch_seq"])):
        where = f"batch {batch['batch_seq']}"
        consecutive = batch["batch_seq"] == seq + 1
        if not consecutive:
            faults.append(f"{where} follows batch {seq}")
        seq = batch["batch_seq"]
        held, recorded, dropped = events_in(batch), _recorded(batch), _dropped(batch)
        for family in sorted({*held, *recorded, *dropped, *recorded_before, *dropped_before}):
            newly = recorded[family] - recorded_before[family]
            newly_dropped = dropped[family] - dropped_before[family]
            if newly_dropped < 0:
                faults.append(f"{where} takes back {-newly_dropped} dropped of {family}")
            if newly < held[family] or (consecutive and newly - held[family] > newly_dropped):
                faults.append(
                    f"{where} holds {held[family]} of {family}, records {newly} more and drops {newly_dropped} more"
                )
        first = accounted_through + 1 if accounted_through is not None else batch["emitter"]["started_at"]
        if any(not first <= instant <= batch["sent_at"] for instant in _instants(batch)):
            faults.append(f"{where} holds an event from outside of its cut")
        if batch["sent_at"] < first:
            faults.append(f"{where} was cut before the one before it")
        recorded_before, dropped_before, accounted_through = recorded, dropped, batch["sent_at"]
    return faults


def _recorded(batch: dict[str, Any]) -> Counter[str]:
    return Counter({account["family"]: account["recorded"] for account in batch["accounts"]})


def _dropped(batch: dict[str, Any]) -> Counter[str]:
    return Counter({family: sum(causes.values()) for family, causes in lost_by_cause(batch).items()})


def _instants(batch: dict[str, Any]) -> list[int]:
    instants = [instant for group in batch["route_attempts"] for instant in group["occurred_at"]]
    for field in ("session_openings", *list(_FIELDS.values())[1:]):
        instants += [event["occurred_at"] for event in batch.get(field, ())]
    return instants
