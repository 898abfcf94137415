"""For tests of hosts and of whatever reads batches: an independent check of what a series of batches accounts for."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from unmask.producers.report import FAMILIES

__all__ = ["account_faults", "events_in"]

_FIELDS = dict(zip(FAMILIES, ("route_attempts", "kernel_fallbacks", "masked_errors", "session_teardowns"), strict=True))


def events_in(batch: dict[str, Any]) -> Counter[str]:
    """Events that a decoded event_batch holds, per family."""
    held = {str(family): len(batch[field]) for family, field in _FIELDS.items()}
    held["route_attempt"] = sum(len(group["occurred_at"]) for group in batch["route_attempts"])
    return Counter({family: count for family, count in held.items() if count})


def account_faults(batches: Iterable[dict[str, Any]]) -> list[str]:
    """What is wrong with one emitter's batches, in sentences; empty where every account holds.

    What a batch adds to the events cut (recorded minus dropped) must be what it holds, and every event must lie after
    the cut before and not after its own. A batch that is not there is a fault, and may have held any number of events.
    """
    faults: list[str] = []
    sent_before: Counter[str] = Counter()
    seq = 0
    accounted_through: int | None = None
    for batch in sorted(batches, key=lambda each: int(each["batch_seq"])):
        where = f"batch {batch['batch_seq']}"
        consecutive = batch["batch_seq"] == seq + 1
        if not consecutive:
            faults.append(f"{where} follows batch {seq}")
        seq = batch["batch_seq"]
        held = events_in(batch)
        sent = _sent(batch)
        claimed = {family: sent[family] - sent_before[family] for family in {*held, *sent, *sent_before}}
        faults += [
            f"{where} holds {held[family]} of {family} and accounts for {count}"
            for family, count in claimed.items()
            if count < held[family] or (consecutive and count > held[family])
        ]
        first = accounted_through + 1 if accounted_through is not None else batch["emitter"]["started_at"]
        if any(not first <= instant <= batch["sent_at"] for instant in _instants(batch)):
            faults.append(f"{where} holds an event from outside of its cut")
        if batch["sent_at"] < first:
            faults.append(f"{where} was cut before the one before it")
        sent_before, accounted_through = sent, batch["sent_at"]
    return faults


def _sent(batch: dict[str, Any]) -> Counter[str]:
    return Counter(
        {
            account["family"]: account["recorded"] - sum(dropped["count"] for dropped in account["dropped"])
            for account in batch["accounts"]
        }
    )


def _instants(batch: dict[str, Any]) -> list[int]:
    instants = [instant for group in batch["route_attempts"] for instant in group["occurred_at"]]
    for field in ("kernel_fallbacks", "masked_errors", "session_openings", "session_teardowns"):
        instants += [event["occurred_at"] for event in batch[field]]
    return instants
