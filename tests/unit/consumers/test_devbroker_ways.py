import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from unmask.consumers.devbroker import (
    BrokerUnreachable,
    NoWayToRunBroker,
    UnknownBrokerWay,
    find_broker,
    resolve_broker,
)
from unmask.consumers.devbroker.folders import broker_folder, home_folder
from unmask.consumers.devbroker.node_process import NodeProcess
from unmask.consumers.devbroker.ports import free_ports, is_free


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KAFKA_BOOTSTRAP_SERVERS", "UNMASK_DEV_BROKER", "UNMASK_BROKER_DIR", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UNMASK_HOME", str(tmp_path / "home"))


def test_with_no_way_to_a_broker_the_error_names_all_three_and_what_each_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoWayToRunBroker) as raised:
        resolve_broker(tmp_path / "broker")
    assert "KAFKA_BOOTSTRAP_SERVERS=host:port" in str(raised.value)
    assert "no docker command on the path" in str(raised.value)
    assert "no Java 17 or newer" in str(raised.value)


def test_java_without_maven_is_reported_as_lacking_maven(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _program(tmp_path / "java", "echo 'openjdk version \"21.0.2\" 2024-01-16' >&2")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoWayToRunBroker, match="no Maven"):
        resolve_broker(tmp_path / "broker")


def test_a_java_that_is_too_old_does_not_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _program(tmp_path / "java", "echo 'java version \"1.8.0_401\"' >&2")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoWayToRunBroker, match="no Java 17 or newer"):
        resolve_broker(tmp_path / "broker")


def test_a_docker_client_without_an_engine_is_reported_as_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _program(tmp_path / "docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoWayToRunBroker, match="no Docker engine answers"):
        resolve_broker(tmp_path / "broker")


def test_a_forced_way_rules_the_other_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("UNMASK_DEV_BROKER", "docker")
    with pytest.raises(NoWayToRunBroker, match="Maven: ruled out by UNMASK_DEV_BROKER=docker"):
        resolve_broker(tmp_path / "broker")


def test_an_unknown_forced_way_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("UNMASK_DEV_BROKER", "podman")
    with pytest.raises(UnknownBrokerWay, match="'podman'"):
        resolve_broker(tmp_path / "broker")


def test_given_bootstrap_servers_that_do_not_answer_are_an_error_and_start_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", f"127.0.0.1:{free_ports(1)[0]}")
    with pytest.raises(BrokerUnreachable, match="no broker answers there"):
        resolve_broker(tmp_path / "broker")
    assert not (tmp_path / "broker").exists()


def test_client_settings_that_kafka_refuses_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    monkeypatch.setenv("UNMASK_KAFKA_NO_SUCH_OPTION", "1")
    with pytest.raises(BrokerUnreachable, match=r"no\.such\.option.*UNMASK_KAFKA_"):
        resolve_broker(tmp_path / "broker")


def test_a_folder_that_never_had_a_broker_has_none(tmp_path: Path) -> None:
    assert find_broker(tmp_path / "broker") is None


def test_folders_follow_their_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert home_folder() == tmp_path / "home"
    assert broker_folder() == tmp_path / "home" / "broker"
    monkeypatch.setenv("UNMASK_BROKER_DIR", str(tmp_path / "elsewhere"))
    assert broker_folder() == tmp_path / "elsewhere"


def test_a_bound_port_is_not_free() -> None:
    (port,) = free_ports(1)
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", port))
        holder.listen()
        assert not is_free(port)
    assert is_free(port)


def test_free_ports_are_distinct() -> None:
    assert len(set(free_ports(6))) == 6


def test_a_process_id_that_went_to_another_program_is_not_ours(tmp_path: Path) -> None:
    other = NodeProcess(os.getpid(), tmp_path / "server.properties")
    assert not other.alive()
    other.kill()  # must not reach this process


def test_a_tethered_process_dies_when_its_owner_is_killed(tmp_path: Path) -> None:
    owner = _launch_in_an_owner(tmp_path, tethered=True)
    process = _wait_for_launch(tmp_path)
    assert process.alive()
    owner.kill()
    owner.wait()
    assert _gone(process)


def test_an_untethered_process_outlives_its_owner_and_can_be_ended_by_another(tmp_path: Path) -> None:
    owner = _launch_in_an_owner(tmp_path, tethered=False)
    process = _wait_for_launch(tmp_path)
    owner.kill()
    owner.wait()
    time.sleep(0.3)
    assert process.alive()
    process.terminate()
    assert not process.alive()


def test_a_paused_process_is_ended_in_order(tmp_path: Path) -> None:
    settings = tmp_path / "server.properties"
    process = NodeProcess.launch(_SLEEPER, settings, tmp_path / "log", tethered=False)
    process.pause()
    process.terminate(patience=10.0)
    assert not process.alive()


_SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]


def _launch_in_an_owner(folder: Path, *, tethered: bool) -> subprocess.Popen[bytes]:
    program = f"""
import pathlib, time
from unmask.consumers.devbroker.node_process import NodeProcess
folder = pathlib.Path({str(folder)!r})
process = NodeProcess.launch({_SLEEPER!r}, folder / "server.properties", folder / "log", tethered={tethered})
(folder / "pid.new").write_text(str(process.pid))
(folder / "pid.new").rename(folder / "pid")
time.sleep(60)
"""
    return subprocess.Popen([sys.executable, "-c", program])


def _wait_for_launch(folder: Path) -> NodeProcess:
    deadline = time.monotonic() + 20
    while not (folder / "pid").exists():
        assert time.monotonic() < deadline, "the owner launched nothing"
        time.sleep(0.05)
    return NodeProcess(int((folder / "pid").read_text()), folder / "server.properties")


def _gone(process: NodeProcess) -> bool:
    deadline = time.monotonic() + 10
    while process.alive():
        if time.monotonic() > deadline:
            os.kill(process.pid, signal.SIGKILL)
            return False
        time.sleep(0.05)
    return True


def _program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
