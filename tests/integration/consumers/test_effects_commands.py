"""`unmask effects list` and `history`, on decisions that stand on a real broker."""

import json
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.unit.streams.effects.asking import KEY, Asked
from typer.testing import CliRunner

from unmask.consumers.cli._commands import app
from unmask.schemas.codec import encode
from unmask.schemas.kafka import producer_config
from unmask.schemas.keys import effect_route
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

pytestmark = pytest.mark.integration


def publish(kafka: str, topic: str, decisions: list[dict[str, Any]]) -> None:
    # As the ledger does: each partition then ends with a transaction's marker, which is no record.
    producer = Producer(producer_config(kafka, transactional_id=topic))
    producer.init_transactions(20)
    producer.begin_transaction()
    for decision in decisions:
        key = effect_route(decision["tenant"], decision["budget_key"])
        producer.produce(topic, encode("effect_decision", decision), key)
    producer.produce(topic, b"nonsense", "acme|x")
    producer.commit_transaction(20)


def test_the_commands_tell_one_tenants_effects_and_what_was_decided(kafka: str, namespace: str) -> None:
    topics = Topics(namespace, events_partitions=1, table_partitions=2)
    create_topics(kafka, topics)
    asked = Asked()
    asked.commit(1, asked.claim(0, budget_limit=2).fencing_token)
    asked.claim(2, KEY._replace(failure="timeout"))
    asked.claim(3, KEY._replace(tenant="beta", failure="secret-of-beta"))
    publish(kafka, topics.effects_decisions.name, asked.state.touched.decisions)

    def unmask(*words: str) -> Any:
        where = ("--bootstrap", kafka, "--namespace", namespace)
        return CliRunner().invoke(app, ["effects", *words, *where])

    listed = unmask("list", "--tenant", "acme")
    assert listed.exit_code == 0, listed.stderr
    assert "2 effects of acme: 1 held, 1 committed" in listed.stdout
    assert "budget conversation-7: 2 of 2 claims granted" in listed.stdout
    assert "beta" not in listed.stdout
    assert "1 records" in listed.stderr
    document = json.loads(unmask("list", "--tenant", "acme", "--failure", "quota", "--json").stdout)
    (effect,) = document["effects"]
    assert (effect["state"], effect["receipt"], effect["attempts"]) == ("committed", "receipt-1", 1)
    assert document["budgets"] == {"conversation-7": {"used": 2, "limit": 2}}

    told = unmask("history", effect["effect_id"][:16], "--tenant", "acme")
    assert told.exit_code == 0, told.stderr
    for word in ("GRANTED", "COMMITTED", "receipt-1", "acme: quota by refund v2"):
        assert word in told.stdout
    decisions = json.loads(unmask("history", "--tenant", "acme", "--failure", "quota", "--json").stdout)["decisions"]
    assert [decision["answer"] for decision in decisions] == ["GRANTED", "COMMITTED"]

    assert unmask("history", effect["effect_id"], "--tenant", "beta").exit_code == 1, "another tenant's book"
    assert "2 effects are meant" in unmask("history", "--tenant", "acme", "--strategy", "refund").stderr
    assert unmask("history", "--tenant", "acme").exit_code == 2
    assert unmask("list").exit_code == 2, "a tenant is required"
    assert unmask("list", "--tenant", "nobody").stdout == "0 effects of nobody\n"
