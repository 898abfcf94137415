"""The client without a broker: what cannot be a question is refused, and nothing else is ever an exception."""

import asyncio
import contextlib
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.producers.effects.decided import KEY, decision

from unmask.producers.effects import Claim, EffectsClient, NotGranted, Settlement
from unmask.producers.effects.reading import claim_of
from unmask.schemas.bounds import MOST
from unmask.schemas.codes import EffectAnswer, EffectReason
from unmask.schemas.errors import NoBroker, UnsafeClientOption

NOWHERE = "127.0.0.1:9"
CLAIM: dict[str, Any] = {**KEY.parts(), "fingerprint": "f", "lease": 5.0, "timeout": 0.3}


@pytest.fixture
def client() -> Any:
    with EffectsClient(NOWHERE, namespace="unmask") as made:
        yield made


@pytest.mark.parametrize(
    "wrong",
    [
        {"lease": 0},
        {"lease": timedelta(days=1, milliseconds=1)},
        {"lease": float("nan")},
        {"lease": float("inf")},
        {"budget_limit": 0},
        {"budget_limit": 2.5},
        {"budget_limit": True},
        {"fingerprint": ""},
        {"tenant": ""},
    ],
)
def test_what_cannot_be_a_question_is_the_callers_mistake(client: EffectsClient, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"lease|budget_limit|fingerprint|empty"):
        client.claim(**CLAIM | wrong)


def test_a_limit_that_nobody_reaches_is_one_that_a_record_may_hold(
    client: EffectsClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request with a larger number would be put aside unread, and its asker wait for nothing."""
    asked: list[dict[str, Any]] = []

    def ask(effect: object, kind: str, details: dict[str, Any], timeout: object) -> tuple[Any, ...]:
        asked.append(details)
        return "r1", EffectReason.TIMEOUT, None, None

    monkeypatch.setattr(client, "_ask", ask)
    with contextlib.suppress(Exception):  # what becomes of the answer is another test's
        client.claim(**CLAIM | {"budget_limit": sys.maxsize})
    assert [details["budget_limit"] for details in asked] == [MOST]


def test_without_a_broker_a_claim_abstains_within_its_timeout(client: EffectsClient) -> None:
    claim = client.claim(**CLAIM)
    assert (claim.answer, claim.reason) == (EffectAnswer.ABSTAIN, EffectReason.NOT_READY)
    assert asyncio.run(client.aclaim(**CLAIM | {"timeout": timedelta(seconds=0.1)})).reason == "not_ready"


def test_a_claim_that_was_not_granted_holds_nothing_to_settle(client: EffectsClient) -> None:
    claim = client.claim(**CLAIM | {"timeout": 0})
    with pytest.raises(NotGranted, match="ask `claim"):
        client.commit(claim, "r")
    for settle in (client.release, client.renew):
        with pytest.raises(NotGranted):
            settle(claim)


def test_a_client_that_was_closed_abstains() -> None:
    client = EffectsClient(NOWHERE, namespace="unmask")
    client.close()
    client.close()
    assert client.claim(**CLAIM).reason is EffectReason.CLOSED


def test_settings_that_cannot_work_are_refused_when_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnsafeClientOption):
        EffectsClient(NOWHERE, client_options={"acks": "1"})
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    with pytest.raises(NoBroker):
        EffectsClient()


def test_the_sdk_is_imported_without_the_client_and_without_kafka() -> None:
    code = (
        "import sys, unmask.producers, unmask.producers.effects\n"
        "loaded = {'confluent_kafka', 'unmask.producers.effects.client'} & sys.modules.keys()\n"
        "sys.exit(str(loaded) if loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class Scripted(EffectsClient):
    """Answers without asking anybody."""

    def __init__(self, answer: str) -> None:
        super().__init__(NOWHERE, namespace="unmask")
        self.answer = answer
        self.said: list[str] = []

    def claim(self, **_claim: Any) -> Claim:
        return claim_of(KEY, 5_000, "c", "q", decision(self.answer, fencing_token=8), None, 1e12)

    def commit(self, claim: Claim, receipt: str, **_options: Any) -> Settlement:
        self.said.append(f"commit {receipt}")
        return Settlement(claim, EffectAnswer.COMMITTED, receipt=receipt)

    def release(self, claim: Claim, **_options: Any) -> Settlement:
        self.said.append("release")
        return Settlement(claim, EffectAnswer.RELEASED)


def test_a_block_that_commits_is_settled() -> None:
    with Scripted("GRANTED") as client, client.effect(**CLAIM) as effect:
        assert effect.granted
        assert effect.commit("r")
    assert client.said == ["commit r"]
    assert effect.settlement is not None
    assert effect.settlement.receipt == "r"


def test_a_block_that_ends_without_a_commit_gives_the_lease_back() -> None:
    with Scripted("GRANTED") as client, client.effect(**CLAIM):
        pass
    assert client.said == ["release"]


def test_a_block_that_fails_says_nothing_since_nobody_knows_whether_the_effect_was_made() -> None:
    with Scripted("GRANTED") as client, pytest.raises(OSError, match="connection reset"), client.effect(**CLAIM):
        raise OSError("connection reset")
    assert client.said == []


def test_a_block_that_was_granted_nothing_has_nothing_to_give_back() -> None:
    with Scripted("HELD_BY_ANOTHER") as client, client.effect(**CLAIM) as effect:
        assert not effect.granted
    assert client.said == []


def test_an_effect_is_claimed_when_its_block_is_entered() -> None:
    with Scripted("GRANTED") as client, pytest.raises(RuntimeError, match="when its block is entered"):
        _ = client.effect(**CLAIM).granted
