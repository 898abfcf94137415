"""What was chosen and delegated in a session, as far as a partition knows: bounded, folded event by event.

Most sessions have none of it, and are written as they were before there was any.
"""

from bisect import insort
from collections.abc import Container
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from unmask.schemas.codes import EffectStep
from unmask.streams.ledger.delegation import Commit, Delegation

__all__ = ["MAX_DELEGATIONS", "MAX_SELECTIONS", "MERGED_DELEGATIONS", "SELECTION", "SessionWork"]

MAX_SELECTIONS = 256
MAX_DELEGATIONS = 64
"""Delegations that a session keeps apart; those that come later are counted together."""
MERGED_DELEGATIONS = "merged_delegations"
"""Stands for these."""
_MAX_COMMITS = 1024
"""Of all its delegations together, so that a record of the session has room for them."""
SELECTION = (
    "emitter_id", "occurred_at", "turn", "profile", "source", "scope", "timeline", "cleared_by", "reason_code",
    "emergency", "expires_at",
)  # fmt: skip
"""A selection's fields, in the order of the contract."""
_INSTANT = itemgetter("occurred_at")


@dataclass(slots=True)
class SessionWork:
    """Selections, delegations, and emitters whose identity was claimed twice while they told of the session."""

    selections: list[dict[str, Any]] = field(default_factory=list)
    """The newest, in the order in which they happened."""
    selections_total: int = 0
    selecting: list[str] = field(default_factory=list)
    """Emitters that told of a selection."""
    delegating: list[str] = field(default_factory=list)
    """Emitters that told of a delegation."""
    identity_conflicts: list[str] = field(default_factory=list)
    delegations: dict[str, Delegation] = field(default_factory=dict)
    changed: bool = field(default=False, compare=False)
    """Whether its piece must be written anew. Not part of the state, and neither is the next."""
    changed_delegations: set[str] = field(default_factory=set, compare=False)

    def select(self, emitter_id: str, selection: dict[str, Any]) -> None:
        """A profile was chosen, persisted or cleared."""
        _note(self.selecting, emitter_id)
        self.selections_total += 1
        said = {name: selection[name] for name in SELECTION[1:]}
        insort(self.selections, {"emitter_id": emitter_id, **said}, key=_INSTANT)
        del self.selections[:-MAX_SELECTIONS]
        self.changed = True

    def call(self, emitter_id: str, progress: dict[str, Any], seen_to_move: Container[str]) -> tuple[str, ...]:
        """A call of a delegation ended. Returns the signals that have been seen to move in it."""
        return self._delegation(emitter_id, progress["delegation_id"]).call(emitter_id, progress, seen_to_move)

    def effect(self, emitter_id: str, effect: dict[str, Any]) -> None:
        """Something became of an effect that a delegation wanted."""
        delegation = self._delegation(emitter_id, effect["delegation_id"])
        if effect["step"] != EffectStep.COMMITTED.value:
            delegation.effect(emitter_id, effect, ())
            return
        delegation.effect(emitter_id, effect, self._commits())
        if len(self._commits()) > _MAX_COMMITS:
            name, most = max(self.delegations.items(), key=lambda item: len(item[1].commits))
            del most.commits[0]
            self.changed_delegations.add(name)

    def dispute(self, emitter_id: str) -> bool:
        """Somebody else claims to be this emitter. Returns whether that is new."""
        if emitter_id in self.identity_conflicts:
            return False
        self.identity_conflicts.append(emitter_id)
        self.changed = True
        return True

    def _commits(self) -> list[Commit]:
        return [commit for delegation in self.delegations.values() for commit in delegation.commits]

    def _delegation(self, emitter_id: str, delegation_id: str) -> Delegation:
        if emitter_id not in self.delegating:
            self.delegating.append(emitter_id)
            self.changed = True
        delegation = self.delegations.get(delegation_id)
        if delegation is None and len(self.delegations) >= MAX_DELEGATIONS:
            delegation_id = MERGED_DELEGATIONS
            delegation = self.delegations.get(delegation_id)
        if delegation is None:
            merged = delegation_id == MERGED_DELEGATIONS
            delegation = self.delegations[delegation_id] = Delegation(len(self.delegations), merged)
        self.changed_delegations.add(delegation_id)
        return delegation


def _note(emitters: list[str], emitter_id: str) -> None:
    if emitter_id not in emitters:
        emitters.append(emitter_id)
