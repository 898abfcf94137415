"""The checker's own book of one partition: every decision is held against it, and then entered as it was told.

What was told is entered also where it was wrong, so that one wrong decision is one problem and not all that follow.
"""

from collections.abc import Iterator
from typing import Any

from unmask.consumers.effects_check.expected import Expected, expected, limit_of
from unmask.consumers.effects_check.facts import Budget, Commit, Effect, End, Lease
from unmask.consumers.effects_check.history import Key
from unmask.consumers.effects_check.problems import Breach
from unmask.schemas.codes import EffectAnswer, EffectReason, EffectRequestKind

__all__ = ["Book", "Finding"]

Finding = tuple[Breach, str]
Body = dict[str, Any]

_GRANTED, _COMMITTED = EffectAnswer.GRANTED, EffectAnswer.COMMITTED
_FULL = {EffectReason.TENANT_FULL, EffectReason.LEDGER_FULL}
_CLAIM, _COMMIT = EffectRequestKind.CLAIM.value, EffectRequestKind.COMMIT.value
_INSTEAD_OF_GRANT = {
    EffectAnswer.ALREADY_COMMITTED: Breach.GRANT_AFTER_COMMIT,
    EffectAnswer.HELD_BY_ANOTHER: Breach.LEASE_OVERLAP,
    EffectAnswer.BUDGET_SPENT: Breach.OVER_BUDGET,
}

_TOLD_WITH = {
    _GRANTED.value: ("fencing_token", "lease_until", "budget_used"),
    EffectAnswer.RENEWED.value: ("fencing_token", "lease_until"),
    _COMMITTED.value: ("fencing_token", "receipt"),
}
"""What an answer means nothing without."""


class Book:
    """Effects and budgets of a partition. With `whole` False, what is not known yet is learned and not checked."""

    def __init__(self, whole: bool, retention: int) -> None:
        self.effects: dict[Key, Effect] = {}
        self.budgets: dict[tuple[str, str], Budget] = {}
        self.leases: list[tuple[Key, Lease, int]] = []
        """Every lease, with the offset of its request."""
        self.unchecked = 0
        """Decisions about keys of which nothing was known, since the history does not go back so far."""
        self._whole = whole
        self._retention = retention

    def take(self, key: Key, asked: Body | None, told: Body) -> list[Finding]:
        """One decision, with its request where that is still there."""
        now: int = told["decided_at"]
        self._forget(key, now)
        effect, budget = self.effects.get(key), self.budgets.get(key.budget)
        if effect is not None and told["kind"] != EffectRequestKind.UNKNOWN_REQUEST:
            effect.find_over(now)
        findings: list[Finding] = []
        known = self._whole or (effect is not None and budget is not None)
        if asked is None or not known:
            self.unchecked += 1
        else:
            findings.extend(self._judge(key, effect, budget, asked, told))
        lacking = [name for name in _TOLD_WITH.get(told["answer"], ()) if told[name] is None]
        if lacking:
            findings.append((Breach.WRONG_FACTS, f"{told['answer']} without its {' and '.join(lacking)}"))
            return findings
        self._enter(key, asked, told)
        if asked is not None and known:
            findings.extend(self._compare(key, told))
        return findings

    # -- whether the answer is the one that it must be

    def _judge(
        self, key: Key, effect: Effect | None, budget: Budget | None, asked: Body, told: Body
    ) -> Iterator[Finding]:
        must = expected(effect, budget, asked, told["decided_at"])
        said = Expected(EffectAnswer(told["answer"]), None if told["reason"] is None else EffectReason(told["reason"]))
        if said == must:
            yield from self._details(effect, asked, told)
        elif not (must.answer is _GRANTED and effect is None and said.reason in _FULL):
            # How full a ledger is allowed to be is its workers' setting.
            yield _breach(must, said, effect, told["kind"]), f"answered {_words(said)}, which must be {_words(must)}"
        if said.answer is _GRANTED and effect is not None and told["fencing_token"] is not None:
            yield from self._token(effect, asked, told)

    @staticmethod
    def _token(effect: Effect, asked: Body, told: Body) -> Iterator[Finding]:
        """A question that is asked again has the lease that it has; any other one has a token above all before."""
        lease, token = effect.newest, told["fencing_token"]
        same = lease is not None and (lease.holder, lease.request_id) == (asked["holder"], asked["request_id"])
        if lease is not None and same and lease.live(told["decided_at"]):
            if token != lease.token:
                yield Breach.LEASE_OVERLAP, f"token {token} while the same question has the lease of {lease.token}"
        elif effect.leases and token <= (highest := max(each.token for each in effect.leases)):
            yield Breach.TOKEN_WENT_BACK, f"token {token} after {highest}"

    def _details(self, effect: Effect | None, asked: Body, told: Body) -> Iterator[Finding]:
        answer, now = told["answer"], told["decided_at"]
        lease = None if effect is None else effect.newest
        until: int | None = None
        token: int | None = asked["fencing_token"]
        if answer == _GRANTED:
            again = lease is not None and lease.live(now)
            until = lease.until if lease is not None and again else now + asked["lease_ms"] * 1000
            token = told["fencing_token"]
        elif answer == EffectAnswer.RENEWED and lease is not None:
            until = max(lease.until, now + asked["lease_ms"] * 1000)
        elif answer == EffectAnswer.HELD_BY_ANOTHER and lease is not None:
            until, token = lease.until, None
        elif answer == EffectAnswer.ALREADY_COMMITTED and effect is not None and effect.commit is not None:
            token = effect.commit.token if told["kind"] == _CLAIM else token
        else:
            # Only what a host acts on is compared.
            until, token = told["lease_until"], told["fencing_token"]
        yield from _same("lease_until", until, told)
        yield from _same("fencing_token", token, told)

    # -- what it means

    def _enter(self, key: Key, asked: Body | None, told: Body) -> None:
        answer, now, token = told["answer"], told["decided_at"], told["fencing_token"]
        effect = self.effects.get(key)
        if told["kind"] == _CLAIM:
            self._state_limit(key, asked, told)
        if answer == _GRANTED:
            self._grant(key, effect, asked, told)
            return
        if effect is None:
            if not self._whole and answer in (_COMMITTED, EffectAnswer.ALREADY_COMMITTED) and told["receipt"]:
                self._learn_commit(key, told)
            return
        lease = next((each for each in effect.leases if each.token == token), None)
        if answer == _COMMITTED and effect.commit is None:
            receipt = told["receipt"] if asked is None else asked["receipt"]
            effect.commit, effect.changed_at = Commit(token, receipt, now), now
            if lease is not None:
                lease.close(End.COMMITTED, now)
        elif answer == EffectAnswer.RELEASED and lease is not None and lease.end is None:
            lease.close(End.RELEASED, now)
            effect.changed_at = now
        elif answer == EffectAnswer.RENEWED and lease is not None:
            lease.until, effect.changed_at = told["lease_until"], now
        elif answer == EffectAnswer.FENCED and told["kind"] == _COMMIT:
            self._note_late(effect, asked, told)

    def _grant(self, key: Key, effect: Effect | None, asked: Body | None, told: Body) -> None:
        now, token = told["decided_at"], told["fencing_token"]
        if effect is None:
            effect = self.effects[key] = Effect(told["fingerprint"] if asked is None else asked["fingerprint"])
            if not self._whole:
                effect.attempts, effect.unsettled = told["attempts"] - 1, told["unsettled"]
                effect.late_receipt = told["late_receipt"]
        elif any(each.token == token for each in effect.leases):
            return
        lease = Lease(token, told["holder"], told["request_id"], now, told["lease_until"])
        effect.leases.append(lease)
        effect.attempts += 1
        effect.changed_at = now
        self.leases.append((key, lease, told["offset"]))
        budget = self.budgets.get(key.budget)
        if budget is None and not self._whole:
            budget = Budget(told["budget_used"] - 1, told["budget_limit"], now)
        limit = limit_of(budget, told["budget_limit"] if asked is None else asked["budget_limit"])
        self.budgets[key.budget] = Budget(1 if budget is None else budget.used + 1, limit, now)

    def _learn_commit(self, key: Key, told: Body) -> None:
        effect = self.effects[key] = Effect(told["fingerprint"], attempts=told["attempts"], unsettled=told["unsettled"])
        effect.commit = Commit(told["fencing_token"], told["receipt"], told["committed_at"])
        effect.late_receipt, effect.changed_at = told["late_receipt"], told["committed_at"] or told["decided_at"]
        lease = Lease(told["fencing_token"], "", "", effect.changed_at, effect.changed_at)
        lease.close(End.COMMITTED, effect.changed_at)
        effect.leases.append(lease)

    def _state_limit(self, key: Key, asked: Body | None, told: Body) -> None:
        budget = self.budgets.get(key.budget)
        if budget is not None:
            budget.limit = limit_of(budget, (told if asked is None else asked)["budget_limit"])

    @staticmethod
    def _note_late(effect: Effect, asked: Body | None, told: Body) -> None:
        """A refused commit leaves its receipt for whoever is granted next, except where a commit stands already."""
        newest = effect.newest
        if effect.commit is not None or newest is None or told["fencing_token"] > newest.token:
            return
        receipt = told["late_receipt"] if asked is None else asked["receipt"]
        if effect.late_receipt != receipt:
            effect.late_receipt, effect.changed_at = receipt, told["decided_at"]

    def _forget(self, key: Key, now: int) -> None:
        before = now - self._retention
        effect, budget = self.effects.get(key), self.budgets.get(key.budget)
        if effect is not None and effect.changed_at <= before:
            newest = effect.newest
            if newest is None or not newest.live(now):
                if newest is not None and newest.end is None:
                    newest.close(End.OVER, now)
                del self.effects[key]
        if budget is not None and budget.changed_at <= before:
            del self.budgets[key.budget]

    # -- what is told beside the answer

    def _compare(self, key: Key, told: Body) -> Iterator[Finding]:
        effect, budget = self.effects.get(key), self.budgets.get(key.budget)
        commit = None if effect is None else effect.commit
        for name, value in (
            ("attempts", 0 if effect is None else effect.attempts),
            ("unsettled", 0 if effect is None else effect.unsettled),
            ("fingerprint", None if effect is None else effect.fingerprint),
            ("late_receipt", None if effect is None else effect.late_receipt),
            ("receipt", None if commit is None else commit.receipt),
            ("committed_at", None if commit is None else commit.at),
            ("budget_used", None if budget is None else budget.used),
            ("budget_limit", None if budget is None else budget.limit),
        ):
            yield from _same(name, value, told)


def _same(name: str, value: object, told: Body) -> Iterator[Finding]:
    if told[name] != value:
        yield Breach.WRONG_FACTS, f"{name} is told to be {told[name]}, which must be {value}"


def _breach(must: Expected, said: Expected, effect: Effect | None, kind: str) -> Breach:
    committed = effect is not None and effect.commit is not None
    if said.answer is _GRANTED:
        return _INSTEAD_OF_GRANT.get(must.answer, Breach.UNFOUNDED)
    if said.answer is _COMMITTED and kind == _COMMIT:
        return Breach.SECOND_COMMIT if committed else Breach.LATE_COMMIT
    if committed and must.answer in (EffectAnswer.ALREADY_COMMITTED, _COMMITTED):
        return Breach.LOST_COMMIT
    return Breach.UNFOUNDED


def _words(said: Expected) -> str:
    return said.answer.value if said.reason is None else f"{said.answer.value} {said.reason.value}"
