import re
from pathlib import Path

from unmask.consumers.devbroker.node_settings import broker_settings, node_settings, render
from unmask.consumers.devbroker.state import Node

ROOT = Path(__file__).parents[3]


def test_a_single_node_keeps_one_replica_of_everything() -> None:
    settings = broker_settings(1)
    assert settings["offsets.topic.replication.factor"] == "1"
    assert settings["transaction.state.log.replication.factor"] == "1"
    assert settings["transaction.state.log.min.isr"] == "1"
    assert settings["min.insync.replicas"] == "1"


def test_three_nodes_keep_three_replicas_of_which_two_must_be_in_sync() -> None:
    settings = broker_settings(3)
    assert settings["default.replication.factor"] == "3"
    assert settings["offsets.topic.replication.factor"] == "3"
    assert settings["transaction.state.log.replication.factor"] == "3"
    assert settings["transaction.state.log.min.isr"] == "2"
    assert settings["min.insync.replicas"] == "2"


def test_undeclared_topics_are_never_created() -> None:
    assert broker_settings(1)["auto.create.topics.enable"] == "false"


def test_every_node_knows_all_voters_and_listens_on_its_own_ports() -> None:
    nodes = (Node(1, 20001, 20002), Node(2, 20003, 20004))
    settings = node_settings(nodes[1], nodes, Path("/data/2"))
    assert settings["node.id"] == "2"
    assert settings["controller.quorum.voters"] == "1@127.0.0.1:20002,2@127.0.0.1:20004"
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:20003,CONTROLLER://127.0.0.1:20004"
    assert settings["log.dirs"] == "/data/2"


def test_rendering_gives_one_property_a_line_and_doubles_backslashes() -> None:
    assert render({"a.b": "1", "path": "x\\y"}) == "a.b=1\npath=x\\\\y\n"


def test_the_container_runs_with_the_settings_of_the_java_node() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    in_compose = dict(re.findall(r'^ {6}KAFKA_([A-Z_]+): "(.*)"$', text, flags=re.MULTILINE))
    expected = {name.upper().replace(".", "_"): value for name, value in broker_settings(1).items()}
    assert {name: in_compose.get(name) for name in expected} == expected


def test_the_container_and_the_java_node_run_the_same_kafka() -> None:
    from unmask.consumers.devbroker.distribution import KAFKA_VERSION

    pom = (ROOT / "consumers/unmask/consumers/devbroker/pom.xml").read_text()
    assert f"<version>{KAFKA_VERSION}</version>" in pom
    assert f"image: apache/kafka:{KAFKA_VERSION}\n" in (ROOT / "docker-compose.yml").read_text()
    assert f'"apache/kafka:{KAFKA_VERSION}"' in (ROOT / "tests/kafka_container.py").read_text()
