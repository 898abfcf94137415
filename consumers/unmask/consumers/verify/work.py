"""What the log says of choices and delegations in one session, as far as the stream keeps it apart."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from unmask.consumers.verify.delegated import DelegationFacts
from unmask.schemas.codes import EffectStep

__all__ = ["WorkFacts"]

# What the stream keeps apart of one session on one partition; beyond that it merges, or forgets the oldest.
_SELECTIONS = 256
_DELEGATIONS = 64
_INVOCATIONS = 32
_COMMITS = 64
_ALL_COMMITS = 1024
_BY_OTHERS = (EffectStep.APPEALED.value, EffectStep.VINDICATED.value)


class _Commit(NamedTuple):
    delegation_id: str
    token: int
    receipt: str | None

    def is_told_again(self, token: int, receipt: str | None) -> bool:
        """Whether a later record is this very commit: one token, and no two receipts; unless neither tells any."""
        if self.token != token or (not token and receipt is None):
            return False
        return self.receipt == receipt or self.receipt is None or receipt is None


@dataclass(slots=True)
class WorkFacts:
    """Everything of one session that emitters told beside its operations, in the order of the log."""

    selections: list[dict[str, Any]] = field(default_factory=list)
    """Each with the emitter that told of it; of a partition no more than the stream keeps."""
    delegations: dict[str, DelegationFacts] = field(default_factory=dict)
    _selected: Counter[int] = field(default_factory=Counter)
    """Selections by partition."""
    _partitions: set[int] = field(default_factory=set)
    """Those on which emitters told of delegations."""
    _commits: dict[str, list[_Commit]] = field(default_factory=dict)
    """By effect."""

    def choose(self, emitter_id: str, partition: int, selection: dict[str, Any]) -> None:
        """A profile was used, written down or taken back."""
        self._selected[partition] += 1
        if self._selected[partition] <= _SELECTIONS:
            self.selections.append({**selection, "emitter_id": emitter_id})

    def call(
        self, emitter_id: str, partition: int, progress: dict[str, Any], seen_to_move: dict[str, None]
    ) -> tuple[str, ...]:
        """A call of a delegation ended. Returns the signals that were seen to move in it."""
        return self._delegation(emitter_id, partition, progress).call(progress, seen_to_move)

    def affect(self, emitter_id: str, partition: int, effect: dict[str, Any]) -> None:
        """Something became of an effect that a delegation wanted."""
        delegation = self._delegation(emitter_id, partition, effect)
        match effect["step"]:
            case EffectStep.COMMITTED:
                self._commit(delegation, effect)
                delegation.write(effect["occurred_at"])
            case EffectStep.REFUSED:
                delegation.refuse(effect["turn"], effect["occurred_at"])

    def _delegation(self, emitter_id: str, partition: int, event: dict[str, Any]) -> DelegationFacts:
        self._partitions.add(partition)
        delegation = self.delegations.setdefault(event["delegation_id"], DelegationFacts())
        # Whoever appeals, or finds out later who was right, need not be the one who runs.
        if event.get("step") not in _BY_OTHERS:
            delegation.tellers.setdefault(event["invocation_id"], set()).add(emitter_id)
        return delegation

    def _commit(self, delegation: DelegationFacts, effect: dict[str, Any]) -> None:
        key, token, receipt = effect["effect_key"], effect["fencing_token"] or 0, effect["receipt"]
        name = effect["delegation_id"]
        if key is None:
            return
        known = self._commits.setdefault(key, [])
        if any(commit.is_told_again(token, receipt) for commit in known):
            # The receipt of what the same delegation told of without one.
            bare = _Commit(name, token, None)
            if receipt is not None and bare in known:
                known[known.index(bare)] = _Commit(name, token, receipt)
            return
        if any((commit.token, commit.receipt) != (token, receipt) for commit in known):
            delegation.duplicates = True
        if _Commit(name, token, receipt) not in known:
            known.append(_Commit(name, token, receipt))
            delegation.commits += 1
        committers = {commit.delegation_id for commit in known}
        if len(committers) > 1 and _different(known) > 1:
            for committer in committers:
                self.delegations[committer].duplicates = True

    @property
    def too_many_choices(self) -> str | None:
        """Why nothing can be said of what was chosen, if that is so."""
        if any(n > _SELECTIONS for n in self._selected.values()):
            return "its recoveries: more selections than the stream keeps"
        return None

    @property
    def too_much_work(self) -> str | None:
        """Why nothing can be said of its delegations, if that is so."""
        if len(self._partitions) > 1:
            return "its delegations: told of on several partitions, each of which knows a part"
        counts = [delegation.commits for delegation in self.delegations.values()]
        if len(counts) > _DELEGATIONS:
            return "its delegations: more than the stream keeps apart"
        if max(counts, default=0) > _COMMITS or sum(counts) > _ALL_COMMITS:
            return "its delegations: more commits than the stream keeps"
        return None

    @property
    def claimed_by_two(self) -> bool:
        """Whether two emitters told of one run of a delegation."""
        return any(delegation.claimed_by_two() for delegation in self.delegations.values())

    @property
    def too_many_runs(self) -> bool:
        """Whether the stream may have forgotten who told of a run first."""
        many = any(len(delegation.tellers) > _INVOCATIONS for delegation in self.delegations.values())
        return many or len(self.delegations) > _DELEGATIONS


def _different(commits: list[_Commit]) -> int:
    """How many commits these are: one that was told of with its receipt and without is one."""
    proven = {(commit.token, commit.receipt) for commit in commits if commit.receipt is not None}
    bare = {commit.token for commit in commits if commit.receipt is None}
    return len(proven) + len(bare - {token for token, _ in proven})
