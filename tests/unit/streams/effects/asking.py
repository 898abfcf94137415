"""An effects ledger of one partition that is asked by hand, at instants that the test gives."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from unmask.schemas.models import EffectDecision, from_avro
from unmask.schemas.testing import SAMPLE_INSTANT
from unmask.schemas.windowing import MICROS
from unmask.streams.effects.fold import fold_request
from unmask.streams.effects.rules import EffectRules
from unmask.streams.effects.state import EffectKey, PartitionState

__all__ = ["KEY", "Asked", "request"]

KEY = EffectKey("acme", "quota", "refund", "v2", "conversation-7")


def request(kind: str, key: EffectKey = KEY, **details: Any) -> dict[str, Any]:
    """A request as it comes out of the intake."""
    return {
        "request_id": "q",
        "kind": kind,
        **key._asdict(),
        "holder": "host",
        "asked_at": 0,
        "fingerprint": None,
        "lease_ms": None,
        "budget_limit": None,
        "fencing_token": None,
        "receipt": None,
        **details,
    }


@dataclass
class Asked:
    """Asks, and gives each decision as its model: whatever is decided is a valid record."""

    rules: EffectRules = field(default_factory=EffectRules)
    state: PartitionState = field(default_factory=lambda: PartitionState(0))
    _ids: "count[int]" = field(default_factory=count)

    def ask(self, at: float, kind: str, key: EffectKey = KEY, **details: Any) -> EffectDecision:
        """Asks at so many seconds after the beginning."""
        details.setdefault("request_id", f"q-{next(self._ids)}")
        asked = request(kind, key, **details)
        arrival = SAMPLE_INSTANT + round(at * MICROS)
        fold_request(self.state, self.rules, self.state.next_offset, arrival, asked)
        return from_avro(EffectDecision, self.state.touched.decisions[-1])

    def claim(self, at: float, key: EffectKey = KEY, **details: Any) -> EffectDecision:
        """A claim for 10 s."""
        return self.ask(at, "claim", key, **{"fingerprint": "content-1", "lease_ms": 10_000, **details})

    def commit(self, at: float, token: int | None, receipt: str = "receipt-1", **details: Any) -> EffectDecision:
        """A commit."""
        return self.ask(at, "commit", fencing_token=token, receipt=receipt, **details)

    def say(self, at: float, kind: str, token: int | None, key: EffectKey = KEY, **details: Any) -> EffectDecision:
        """Anything else about a lease."""
        return self.ask(at, kind, key, fencing_token=token, **details)
