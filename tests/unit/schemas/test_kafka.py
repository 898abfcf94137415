"""Client settings come from defaults, the environment and the caller, and the contract's musts hold over all three."""

import os

import pytest

from unmask.schemas.kafka import (
    NoBroker,
    UnsafeClientOption,
    bootstrap_from_environment,
    client_config,
    consumer_config,
    producer_config,
)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("UNMASK_KAFKA_", "KAFKA_BOOTSTRAP")):
            monkeypatch.delenv(name)


def test_without_a_broker_the_error_says_which_variable_to_set() -> None:
    with pytest.raises(NoBroker, match="KAFKA_BOOTSTRAP_SERVERS"):
        bootstrap_from_environment()
    with pytest.raises(NoBroker):
        client_config()


def test_an_empty_variable_is_no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "  ")
    with pytest.raises(NoBroker):
        bootstrap_from_environment()


def test_the_environment_names_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "a:1,b:2")
    assert client_config()["bootstrap.servers"] == "a:1,b:2"


def test_a_given_address_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "a:1")
    monkeypatch.setenv("UNMASK_KAFKA_BOOTSTRAP_SERVERS", "b:2")
    assert client_config("c:3")["bootstrap.servers"] == "c:3"


def test_prefixed_variables_become_client_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_KAFKA_SECURITY_PROTOCOL", "SASL_SSL")
    monkeypatch.setenv("UNMASK_KAFKA_SSL_CA_LOCATION", "/ca.pem")
    monkeypatch.setenv("UNMASK_KAFKA_SASL_USERNAME", "")
    config = client_config("c:3")
    assert config["security.protocol"] == "SASL_SSL"
    assert config["ssl.ca.location"] == "/ca.pem"
    assert "sasl.username" not in config


def test_keywords_win_and_may_be_underscored_or_dotted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_KAFKA_CLIENT_ID", "from-environment")
    assert client_config("c:3")["client.id"] == "from-environment"
    assert client_config("c:3", client_id="mine")["client.id"] == "mine"
    assert client_config("c:3", **{"client.id": "mine"})["client.id"] == "mine"


def test_callbacks_and_the_options_that_have_underscores_keep_their_names() -> None:
    config = client_config("c:3", error_cb=print, on_delivery=print, log_level=3)
    assert config["error_cb"] is print
    assert config["on_delivery"] is print
    assert config["log_level"] == 3


def test_a_producer_agrees_on_partitions_and_loses_nothing_unnoticed() -> None:
    config = producer_config("c:3", linger_ms=5)
    assert config["partitioner"] == "murmur2_random"
    assert config["acks"] == "all"
    assert config["enable.idempotence"] is True
    assert config["delivery.report.only.error"] is False
    assert config["linger.ms"] == 5


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("partitioner", "consistent_random"),
        ("acks", "1"),
        ("request.required.acks", 0),
        ("enable.idempotence", False),
        ("delivery.report.only.error", True),
    ],
)
def test_a_producer_refuses_what_would_break_the_contract(option: str, value: object) -> None:
    with pytest.raises(UnsafeClientOption, match="must be"):
        producer_config("c:3", **{option: value})


def test_the_environment_cannot_break_a_producer_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_KAFKA_PARTITIONER", "random")
    with pytest.raises(UnsafeClientOption, match="partitioner"):
        producer_config("c:3")


def test_saying_the_needed_values_again_is_allowed() -> None:
    config = producer_config("c:3", acks=-1, enable_idempotence="true", partitioner="murmur2_random")
    assert config["acks"] == "all"
    assert config["enable.idempotence"] is True


def test_a_consumer_reads_committed_records_and_commits_nothing_by_itself() -> None:
    config = consumer_config("group", "c:3")
    assert config["group.id"] == "group"
    assert config["isolation.level"] == "read_committed"
    assert config["enable.auto.commit"] is False
    assert config["auto.offset.reset"] == "earliest"
    assert consumer_config("group", "c:3", isolation_level="read_uncommitted")["isolation.level"] == "read_uncommitted"


def test_real_clients_accept_every_setting() -> None:
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient

    nowhere = "127.0.0.1:9"
    quiet = {"log_level": 0}
    Producer(producer_config(nowhere, **quiet))
    Consumer(consumer_config("group", nowhere, **quiet)).close()
    AdminClient(client_config(nowhere, **quiet))
