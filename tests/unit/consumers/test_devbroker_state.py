from pathlib import Path

import pytest

from unmask.consumers.devbroker.state import BrokerState, Node, Way

STATE = BrokerState(Way.JVM, (Node(1, 20001, 20002, 77), Node(2, 20003, 20004, 78)))


def test_a_saved_state_is_read_back_whole(tmp_path: Path) -> None:
    STATE.save(tmp_path / "broker")
    assert BrokerState.load(tmp_path / "broker") == STATE


def test_saving_leaves_nothing_but_the_state(tmp_path: Path) -> None:
    STATE.save(tmp_path)
    STATE.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["broker.json"]


def test_bootstrap_names_every_node() -> None:
    assert STATE.bootstrap == "127.0.0.1:20001,127.0.0.1:20003"


def test_a_new_process_replaces_only_its_own_node() -> None:
    assert [node.pid for node in STATE.with_pid(2, 99).nodes] == [77, 99]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"way": "jvm"}', '{"way": "balloon", "nodes": []}', "\0\1"])
def test_a_file_that_is_no_state_counts_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "broker.json").write_text(content)
    assert BrokerState.load(tmp_path) is None


def test_a_folder_without_state_counts_as_none(tmp_path: Path) -> None:
    assert BrokerState.load(tmp_path / "absent") is None
