import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from unmask.consumers.devbroker import JvmBroker, docker_engine_answers, missing_for_jvm
from unmask.consumers.devbroker.readiness import serving_nodes

pytestmark = pytest.mark.integration

needs_java = pytest.mark.skipif(missing_for_jvm() is not None, reason=f"{missing_for_jvm()}")
needs_docker = pytest.mark.skipif(not docker_engine_answers(), reason="no Docker engine answers")


def test_records_written_to_the_shared_broker_are_read_back(kafka: str, namespace: str) -> None:
    create_topic(kafka, f"{namespace}.round-trip")
    write(kafka, f"{namespace}.round-trip", ["a", "b", "c"])
    assert read(kafka, f"{namespace}.round-trip", 3) == ["a", "b", "c"]


def test_an_undeclared_topic_is_not_created_by_writing_to_it(kafka: str, namespace: str) -> None:
    with pytest.raises(AssertionError, match="UNKNOWN_TOPIC"):
        write(kafka, f"{namespace}.undeclared", ["a"])


@needs_java
def test_records_survive_a_broker_that_was_killed_and_keep_their_address(
    jvm_broker: Callable[..., JvmBroker], namespace: str
) -> None:
    broker = jvm_broker()
    before = broker.bootstrap
    create_topic(before, namespace)
    write(before, namespace, ["a", "b"])
    broker.kill()
    assert not broker.alive()
    broker.restart()
    assert broker.bootstrap == before
    assert read(broker.bootstrap, namespace, 2) == ["a", "b"]


@needs_java
@pytest.mark.timeout(240)
def test_three_nodes_go_on_writing_and_reading_while_one_is_killed(
    jvm_broker: Callable[..., JvmBroker], namespace: str
) -> None:
    broker = jvm_broker(nodes=3)
    assert serving_nodes(broker.bootstrap, timeout=5) == {1, 2, 3}
    create_topic(broker.bootstrap, namespace, replicas=3)
    write(broker.bootstrap, namespace, ["a"])
    broker.kill(2)
    assert [broker.alive(node) for node in (1, 2, 3)] == [True, False, True]
    write(broker.bootstrap, namespace, ["b"])
    transact(broker.bootstrap, namespace, ["c"])
    broker.restart(2)
    assert read(broker.bootstrap, namespace, 3) == ["a", "b", "c"]


@needs_java
def test_a_paused_broker_is_alive_and_silent_until_it_is_resumed(jvm_broker: Callable[..., JvmBroker]) -> None:
    broker = jvm_broker()
    broker.pause()
    assert broker.alive()
    assert serving_nodes(broker.bootstrap, timeout=1) == frozenset()
    broker.resume()
    assert serving_nodes(broker.bootstrap, timeout=20) == {1}


@needs_java
def test_the_command_starts_once_finds_again_survives_a_kill_and_wipes_only_when_told(tmp_path: Path) -> None:
    folder = tmp_path / "broker"
    try:
        first, *others = (broker_command("start", folder) for _ in range(2))
        # Two starts at the same moment: both say the same, one process runs.
        assert {command.wait(100) for command in (first, *others)} == {0}
        address = said(first)
        assert said(others[0]) == address
        assert run_command("start", folder) == (0, address)
        assert run_command("status", folder) == (0, address)
        create_topic(address, "kept")
        write(address, "kept", ["a"])

        os.kill(json.loads((folder / "broker.json").read_text())["nodes"][0]["pid"], signal.SIGKILL)
        assert run_command("status", folder) == (1, "")
        assert run_command("start", folder) == (0, address)
        assert read(address, "kept", 1) == ["a"]

        assert run_command("stop", folder)[0] == 0
        assert run_command("status", folder) == (1, "")
        assert (folder / "node-1" / "data").is_dir()
    finally:
        assert run_command("stop", folder, "--wipe")[0] == 0
    assert not folder.exists()


@needs_docker
@pytest.mark.docker
@pytest.mark.timeout(600)
def test_the_container_of_the_compose_file_starts_serves_and_goes(tmp_path: Path, namespace: str) -> None:
    folder = tmp_path / "broker"
    try:
        code, address = run_command("start", folder, way="docker")
        assert code == 0
        create_topic(address, namespace)
        write(address, namespace, ["a"])
        assert read(address, namespace, 1) == ["a"]
        assert run_command("status", folder, way="docker") == (0, address)
    finally:
        assert run_command("stop", folder, "--wipe", way="docker")[0] == 0
    assert run_command("status", folder, way="docker") == (1, "")


@needs_docker
@pytest.mark.docker
@pytest.mark.timeout(600)
def test_the_container_of_testcontainers_serves(namespace: str) -> None:
    from tests.kafka_container import KraftContainer

    with KraftContainer() as container:
        address = container.get_bootstrap_server()
        create_topic(address, namespace)
        write(address, namespace, ["a"])
        assert read(address, namespace, 1) == ["a"]


def create_topic(bootstrap: str, topic: str, replicas: int = 1) -> None:
    client = AdminClient({"bootstrap.servers": bootstrap})  # held, or the answer dies with it
    client.create_topics([NewTopic(topic, 1, replicas)])[topic].result(30)


def write(bootstrap: str, topic: str, values: list[str]) -> None:
    reports: list[str] = []
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "topic.metadata.propagation.max.ms": 2000})
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, _: reports.append(error.name() if error else ""))
    producer.flush(60)
    assert reports == [""] * len(values), reports


def transact(bootstrap: str, topic: str, values: list[str]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"{topic}.writer"})
    producer.init_transactions(60)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value)
    producer.commit_transaction(60)


def read(bootstrap: str, topic: str, count: int) -> list[str]:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": f"{topic}.reader", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    values: list[str] = []
    for _ in range(300):
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            values.append((message.value() or b"").decode())
        if len(values) == count:
            break
    consumer.close()
    return values


def broker_command(action: str, folder: Path, *options: str, way: str = "jvm") -> subprocess.Popen[str]:
    environment = {**os.environ, "UNMASK_DEV_BROKER": way}
    environment.pop("KAFKA_BOOTSTRAP_SERVERS", None)
    command = [sys.executable, "-m", "unmask.consumers.cli.main", "broker", action, "--folder", str(folder), *options]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def said(command: subprocess.Popen[str]) -> str:
    return command.communicate(timeout=100)[0].strip()


def run_command(action: str, folder: Path, *options: str, way: str = "jvm") -> tuple[int, str]:
    command = broker_command(action, folder, *options, way=way)
    answer = said(command)
    return command.returncode, answer
