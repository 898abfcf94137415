"""A history in small: requests with their append times, decided by the ledger's own fold, without any broker."""

import copy
from typing import Any

from unmask.consumers.effects_check import Asked, Decided, History, Partition
from unmask.schemas.windowing import MICROS
from unmask.streams.effects.fold import fold_request, fold_unreadable
from unmask.streams.effects.rules import EffectRules
from unmask.streams.effects.state import PartitionState

__all__ = ["Small", "T"]

T = 1_800_000_000 * MICROS
_DETAILS = ("fingerprint", "lease_ms", "budget_limit", "fencing_token", "receipt")


class Small:
    """One partition that grows by one request after the other."""

    def __init__(self, rules: EffectRules | None = None) -> None:
        self._rules = rules or EffectRules()
        self._state = PartitionState(0)
        self._partition = Partition(0)
        self.now = T

    def wait(self, seconds: float) -> None:
        """Time goes by."""
        self.now += round(seconds * MICROS)

    def ask(self, kind: str, key: str = "k", *, tenant: str = "t", budget: str = "b", request_id: str | None = None,
            holder: str = "h", **details: Any) -> dict[str, Any]:  # fmt: skip
        """A request at this time; its decision."""
        offset = len(self._partition.asked)
        body = {
            "request_id": request_id or f"q-{offset}", "kind": kind, "tenant": tenant, "failure": key, "strategy": "s",
            "strategy_version": "1", "budget_key": budget, "holder": holder, "asked_at": self.now,
            **dict.fromkeys(_DETAILS), **details,
        }  # fmt: skip
        self._partition.asked.append(Asked(offset, self.now, body))
        fold_request(self._state, self._rules, offset, self.now, body)
        (decision,) = self._state.take_touched().decisions
        self._partition.decided.append(Decided(2 * offset, decision))
        return decision

    def claim(self, key: str = "k", *, lease_s: float = 5.0, limit: int | None = None, fingerprint: str = "f",
              **given: Any) -> dict[str, Any]:  # fmt: skip
        """A claim; its decision."""
        lease_ms = round(lease_s * 1000)
        return self.ask("claim", key, fingerprint=fingerprint, lease_ms=lease_ms, budget_limit=limit, **given)

    def commit(self, token: int, key: str = "k", receipt: str = "r", **given: Any) -> dict[str, Any]:
        """A commit; its decision."""
        return self.ask("commit", key, fencing_token=token, receipt=receipt, **given)

    def spoilt(self) -> None:
        """A record that nobody can decide about."""
        offset = len(self._partition.asked)
        self._partition.asked.append(Asked(offset, self.now, None))
        fold_unreadable(self._state, self._rules, offset, self.now, {})
        self._state.take_touched()

    def history(self, *, later_s: float = 0.0) -> History:
        """The history as it is so far, a copy; `later_s` seconds after its last request."""
        return History({0: copy.deepcopy(self._partition)}, self.now + round(later_s * MICROS))
