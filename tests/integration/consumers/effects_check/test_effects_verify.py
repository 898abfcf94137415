"""`unmask effects verify` over a history that the real ledger made on a real broker, then over a forged one."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.integration.consumers.conftest import Publish
from typer.testing import CliRunner

from unmask.consumers.cli._commands import app
from unmask.consumers.effects_check import History, check_history, read_history
from unmask.producers.effects import EffectsClient
from unmask.schemas.codec import encode
from unmask.schemas.keys import effect_route
from unmask.schemas.topics import Topics
from unmask.streams.effects.service import EffectsService
from unmask.streams.settings import StreamSettings

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

_PATIENCE_S = 90.0


@pytest.fixture
def ledger(kafka: str, topics: Topics) -> Iterator[EffectsService]:
    """A real effects ledger in a thread."""
    service = EffectsService(StreamSettings(bootstrap=kafka, namespace=topics.namespace), topics)
    service.start()
    yield service
    service.stop()


def verify(kafka: str, topics: Topics, *options: str) -> tuple[int, dict[str, Any]]:
    given = ["effects", "verify", "--json", "--bootstrap", kafka, "--namespace", topics.namespace, *options]
    ran = CliRunner().invoke(app, given)
    return ran.exit_code, json.loads(ran.stdout)


def wanted(tenant: str, failure: str, **others: Any) -> dict[str, Any]:
    return {
        "tenant": tenant, "failure": failure, "strategy": "s", "strategy_version": "1", "budget_key": "b",
        "fingerprint": failure, "lease": 30.0, "timeout": 60.0, **others,
    }  # fmt: skip


def settled(kafka: str, topics: Topics) -> History:
    """The history once all is decided and no short lease is open."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        history = read_history(topics, kafka)
        account = check_history(history)
        if (account.ends["over"] and not account.pending) or time.monotonic() > deadline:
            return history
        time.sleep(0.2)


def test_the_history_of_a_real_ledger_has_nothing_wrong_in_it_and_a_forged_decision_is_found(
    kafka: str, topics: Topics, publish: Publish, ledger: EffectsService
) -> None:
    with EffectsClient(kafka, namespace=topics.namespace) as client, \
            EffectsClient(kafka, namespace=topics.namespace) as other:  # fmt: skip
        for tenant in ("blue", "red"):
            done = client.claim(**wanted(tenant, "disk"))
            assert done.granted
            assert not other.claim(**wanted(tenant, "disk")).granted
            assert client.commit(done, f"r-{tenant}")
            assert client.commit(done, f"r-{tenant}")
            assert other.claim(**wanted(tenant, "disk")).receipt == f"r-{tenant}"
        given_back = client.claim(**wanted("blue", "net", budget_limit=3))
        assert client.renew(given_back, 40.0)
        assert client.release(given_back)
        assert client.claim(**wanted("blue", "silent", lease=0.3)).granted
        assert client.claim(**wanted("blue", "more", budget_limit=3)).answer == "BUDGET_SPENT"
    publish(topics.effects_requests.name, [("blue|b", b"no request")])

    history = settled(kafka, topics)
    code, said = verify(kafka, topics)
    assert (code, said["problems"]) == (0, [])
    assert (said["keys"], said["tenants"], said["commits"], said["unreadable"]) == (4, 2, 2, 1)
    assert said["lease_ends"] == {"committed": 2, "over": 1, "released": 1}
    assert said["answers"]["expire EXPIRED"] == 1

    # A second commit of a key, as no ledger ever decided it.
    committed = next(
        decision.body
        for partition in history.partitions.values()
        for decision in partition.decided
        if decision.body["answer"] == "COMMITTED" and decision.body["tenant"] == "red"
    )
    route = effect_route("red", "b")
    forged = {**committed, "offset": 10_000, "receipt": "r-forged"}
    publish(topics.effects_decisions.name, [(route, encode("effect_decision", forged))])
    code, said = verify(kafka, topics, "--tenant", "red")
    assert code == 1
    assert {problem["breach"] for problem in said["problems"]} == {"DECISION_ORDER", "SECOND_COMMIT"}
    assert verify(kafka, topics, "--tenant", "blue") == (0, {**said, "good": True, "problems": []})


def test_a_history_that_cannot_be_read_is_told_apart_from_one_that_is_wrong(kafka: str, namespace: str) -> None:
    ran = CliRunner().invoke(app, ["effects", "verify", "--bootstrap", kafka, "--namespace", namespace])
    assert ran.exit_code == 2
    assert "does not exist" in ran.stderr
