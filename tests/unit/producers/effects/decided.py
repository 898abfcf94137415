"""Decisions as the ledger would write them."""

from typing import Any

from unmask.producers.effects import EffectKey
from unmask.schemas.testing import SAMPLE_INSTANT

__all__ = ["KEY", "decision"]

KEY = EffectKey("acme", "quota", "refund", "v2", "conversation-7")


def decision(answer: str, **changes: Any) -> dict[str, Any]:
    """A decision about a claim."""
    return {
        "request_id": "q-1",
        "kind": "claim",
        "answer": answer,
        "reason": None,
        **KEY.parts(),
        "holder": "c-1",
        "partition": 3,
        "offset": 7,
        "decided_at": SAMPLE_INSTANT,
        "attempts": 1,
        "unsettled": 0,
        "fencing_token": None,
        "lease_until": None,
        "receipt": None,
        "committed_at": None,
        "late_receipt": None,
        "fingerprint": "f",
        "budget_used": 1,
        "budget_limit": None,
        **changes,
    }
