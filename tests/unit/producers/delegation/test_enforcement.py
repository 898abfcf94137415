"""Refusals, appeals and vindications on record, and effects with the answers of the client."""

from typing import Any

import pytest
from tests.unit.producers.delegation_host import RememberingHost

from unmask.producers.effects import Claim, EffectKey, Settlement
from unmask.schemas.codes import EffectAnswer, EffectReason, Enforcer


@pytest.fixture
def host() -> RememberingHost:
    return RememberingHost()


class AnsweringClient:
    """Answers as it is told."""

    def __init__(self, answer: EffectAnswer, settled: EffectAnswer = EffectAnswer.COMMITTED) -> None:
        self.answer = answer
        self.settled = settled
        self.asked: dict[str, Any] = {}
        self.said: list[str] = []

    def claim(self, **asked: Any) -> Claim:
        """The answer."""
        self.asked = asked
        key = EffectKey.of(
            asked["tenant"], asked["failure"], asked["strategy"], asked["strategy_version"], asked["budget_key"]
        )
        receipt = "made-before" if self.answer is EffectAnswer.ALREADY_COMMITTED else None
        reason = EffectReason.TIMEOUT if self.answer is EffectAnswer.ABSTAIN else None
        token = 7 if self.answer is EffectAnswer.GRANTED else None
        return Claim(key, self.answer, reason, fencing_token=token, receipt=receipt)

    def commit(self, claim: Claim, receipt: str, **_: Any) -> Settlement:
        """As told."""
        self.said.append(receipt)
        return Settlement(claim, self.settled, None, receipt if self.settled is EffectAnswer.COMMITTED else None)

    def release(self, claim: Claim, **_: Any) -> Settlement:
        """Given back."""
        self.said.append("released")
        return Settlement(claim, EffectAnswer.RELEASED)


_KEY: dict[str, Any] = {
    "tenant": "t-1",
    "failure": "build-broken",
    "strategy": "revert",
    "strategy_version": "v2",
    "lease": 30,
}


def _steps(host: RememberingHost) -> list[tuple[Any, ...]]:
    return [(one["step"], one["enforcer"], one["answer"], one["receipt"]) for one in host.effects]


def test_refusals_of_the_three_enforcers_are_distinct_and_their_appeals_name_them(host: RememberingHost) -> None:
    with host.delegation(session="s-1") as d:
        d.refused(Enforcer.GATE, "HALTED", reason_code="verdict_hard_failure", turn=3)
        d.appeal("operator-7", "verdict_outdated")
        d.refused("breaker", "TRIPPED")
        d.appeal("agent-2", "state_is_external", enforcer=Enforcer.GATE, answer="HALTED")
        d.vindicated("operator-7")
    assert [(one["step"], one["enforcer"], one["answer"], one["by"], one["reason_code"]) for one in host.effects] == [
        ("refused", "gate", "HALTED", None, "verdict_hard_failure"),
        ("appealed", "gate", "HALTED", "operator-7", "verdict_outdated"),
        ("refused", "breaker", "TRIPPED", None, None),
        ("appealed", "gate", "HALTED", "agent-2", "state_is_external"),
        ("vindicated", "breaker", "TRIPPED", "operator-7", None),
    ]
    assert [one["turn"] for one in host.effects] == [3, 0, 0, 0, 0]
    assert {(one["delegation_id"], one["session_id"], one["invocation_id"]) for one in host.effects} == {
        ("d-1", "s-1", d.invocation_id)
    }


def test_what_is_said_of_a_refusal_is_no_free_text(host: RememberingHost) -> None:
    with host.delegation() as d:
        d.refused("nobody", "no, because of user@example.com", reason_code="a sentence of its own")
        d.appeal("user@example.com", "because I say so")
    refused, appealed = host.effects
    assert (refused["enforcer"], refused["answer"], refused["reason_code"]) == (None, "invalid_label", "invalid_label")
    assert appealed["by"].startswith("sha256-")


def test_an_effect_that_is_granted_and_committed(host: RememberingHost) -> None:
    client: Any = AnsweringClient(EffectAnswer.GRANTED)
    with host.delegation() as d, d.effect(client, fingerprint={"revert": "abc"}, **_KEY) as effect:
        assert effect.granted
        assert effect.commit("commit-1")
    assert _steps(host) == [
        ("granted", "effects", "GRANTED", None), ("committed", "effects", "COMMITTED", "commit-1"),
    ]  # fmt: skip
    assert client.asked["budget_key"] == "d-1"
    assert {(one["effect_key"], one["fencing_token"]) for one in host.effects} == {(effect.claim.effect_id, 7)}
    assert len({one["fingerprint"] for one in host.effects}) == 1


def test_an_effect_that_was_made_before_is_refused_with_its_receipt_and_can_be_appealed(host: RememberingHost) -> None:
    client: Any = AnsweringClient(EffectAnswer.ALREADY_COMMITTED)
    with host.delegation() as d:
        with d.effect(client, fingerprint="f", budget_key="b", **_KEY) as effect:
            assert not effect.granted
        d.appeal("agent-1", "was_undone_since")
    assert client.said == []
    assert _steps(host) == [
        ("refused", "effects", "ALREADY_COMMITTED", "made-before"), ("appealed", "effects", "ALREADY_COMMITTED", None),
    ]  # fmt: skip
    assert host.effects[1]["effect_key"] == effect.claim.effect_id


def test_an_effect_that_is_not_made_is_released_and_one_that_breaks_off_is_not(host: RememberingHost) -> None:
    client: Any = AnsweringClient(EffectAnswer.GRANTED)
    with host.delegation() as d:
        with d.effect(client, fingerprint=b"bytes", **_KEY):
            pass
        with pytest.raises(LookupError), d.effect(client, fingerprint=b"bytes", **_KEY):
            raise LookupError
    assert [step for step, *_ in _steps(host)] == ["granted", "released", "granted"]


def test_a_late_commit_and_an_unanswered_claim_are_refusals_of_their_own(host: RememberingHost) -> None:
    late: Any = AnsweringClient(EffectAnswer.GRANTED, EffectAnswer.FENCED)
    silent: Any = AnsweringClient(EffectAnswer.ABSTAIN)
    with host.delegation() as d:
        with d.effect(late, fingerprint="f", **_KEY) as effect:
            assert not effect.commit("r-1")
        with d.effect(silent, fingerprint="f", **_KEY) as effect:
            assert not effect.granted
    assert [step[:3] for step in _steps(host)] == [
        ("granted", "effects", "GRANTED"), ("refused", "effects", "FENCED"), ("refused", "effects", "ABSTAIN"),
    ]  # fmt: skip
    assert host.effects[-1]["reason_code"] == "timeout"


def test_a_renewal_is_no_step_and_a_host_that_asks_the_client_itself_can_tell(host: RememberingHost) -> None:
    client = AnsweringClient(EffectAnswer.GRANTED)
    with host.delegation() as d:
        claim = client.claim(budget_key="d-1", **_KEY)
        d.claimed(claim, turn=5)
        d.settled(Settlement(claim, EffectAnswer.RENEWED))
        d.settled(client.commit(claim, "r-1"), turn=6)
    assert [(one["step"], one["turn"]) for one in host.effects] == [("granted", 5), ("committed", 6)]
