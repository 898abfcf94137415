"""The book of one tenant: its effects with all that was decided about each, in the order of the log. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from unmask.schemas.codes import EffectAnswer, EffectReason
from unmask.schemas.keys import effect_id
from unmask.schemas.models import EffectDecision

__all__ = ["Book", "EffectLine", "State"]


class State(StrEnum):
    """What an effect has come to."""

    HELD = "held"
    """Somebody has its lease."""
    LAPSED = "lapsed"
    """Its newest lease ended without a word: whether it was made is not known."""
    RELEASED = "released"
    """It was given back without having been made."""
    COMMITTED = "committed"
    """It was made; its receipt is on record."""
    REFUSED = "refused"
    """No claim of it was ever granted."""


_ENDS = {
    EffectAnswer.COMMITTED: State.COMMITTED,
    EffectAnswer.RELEASED: State.RELEASED,
    EffectAnswer.EXPIRED: State.LAPSED,
}
_LEASES = (EffectAnswer.GRANTED, EffectAnswer.RENEWED)


@dataclass(slots=True)
class EffectLine:
    """One effect."""

    effect_id: str
    tenant: str
    failure: str
    strategy: str
    strategy_version: str
    budget_key: str
    decisions: list[EffectDecision] = field(default_factory=list)
    """In the order of the log."""
    state: State = State.REFUSED
    token: int | None = None
    """Of its newest lease."""
    lease_until: datetime | None = None
    """When its newest lease ends, or ended, by the broker's clock."""

    @property
    def newest(self) -> EffectDecision:
        """The newest decision about it."""
        return self.decisions[-1]

    def take(self, decision: EffectDecision) -> None:
        """The next decision about it."""
        self.decisions.append(decision)
        if decision.answer in _LEASES:
            self.state, self.token, self.lease_until = State.HELD, decision.fencing_token, decision.lease_until
        elif decision.answer in _ENDS and decision.fencing_token == self.token:
            self.state = _ENDS[decision.answer]
        elif decision.answer is EffectAnswer.COMMITTED or decision.committed_at is not None:
            # Its grant may stand before what the topic still has. Who comes too late names its own token.
            self.state = State.COMMITTED
            if decision.answer is not EffectAnswer.FENCED:
                self.token = decision.fencing_token or self.token
        elif decision.reason is EffectReason.LEASE_OVER and self.state is State.HELD:
            self.state = State.LAPSED


@dataclass(slots=True)
class Book:
    """All effects of one tenant that the decisions tell of."""

    tenant: str
    _effects: dict[str, EffectLine] = field(default_factory=dict)
    _told: dict[int, datetime] = field(default_factory=dict)
    unreadable: int = 0
    """Decisions that cannot be read, of whatever tenant."""

    def take(self, decision: EffectDecision) -> None:
        """The next decision of a partition. Of other tenants nothing but the time is kept."""
        # The log's time tells whether a lease is over of which nobody has said so yet.
        self._told[decision.partition] = max(
            decision.decided_at, self._told.get(decision.partition, decision.decided_at)
        )
        if decision.tenant != self.tenant:
            return
        parts = (decision.tenant, decision.failure, decision.strategy, decision.strategy_version, decision.budget_key)
        key = effect_id(*parts)
        if key not in self._effects:
            self._effects[key] = EffectLine(key, *parts)
        self._effects[key].take(decision)

    def __iter__(self) -> Iterator[EffectLine]:
        """Effects, the one that changed last first."""
        return iter(sorted(self._effects.values(), key=lambda line: line.newest.decided_at, reverse=True))

    def __len__(self) -> int:
        return len(self._effects)

    def state_of(self, line: EffectLine) -> State:
        """What an effect has come to by the newest time of its partition that is known."""
        told = self._told.get(line.newest.partition)
        over = (
            line.state is State.HELD and line.lease_until is not None and told is not None and told >= line.lease_until
        )
        return State.LAPSED if over else line.state

    def find(self, name: str) -> list[EffectLine]:
        """Effects with this id, or one that begins with it after `sha256-`."""
        exact = self._effects.get(name)
        if exact is not None:
            return [exact]
        return [
            line for line in self if line.effect_id.removeprefix("sha256-").startswith(name.removeprefix("sha256-"))
        ]

    def budgets(self) -> dict[str, tuple[int, int | None]]:
        """Claims granted and the limit, by budget, as last told."""
        newest: dict[str, EffectDecision] = {}
        for line in self._effects.values():
            for decision in line.decisions:
                known = newest.get(line.budget_key)
                if decision.budget_used is not None and (known is None or decision.offset > known.offset):
                    newest[line.budget_key] = decision
        return {key: (decision.budget_used or 0, decision.budget_limit) for key, decision in sorted(newest.items())}
