"""The Compose way's own logic, also where no engine runs: a recording `docker` command over a broker that is real."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from unmask.consumers.devbroker import JvmBroker, NoWayToRunBroker, Way, find_broker, resolve_broker, stop_broker
from unmask.consumers.devbroker.state import BrokerState, Node

pytestmark = pytest.mark.integration


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file to which the stand-in writes each command line, with the port that the compose file gets."""
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    monkeypatch.setenv("UNMASK_DEV_BROKER", "docker")
    programs = tmp_path / "bin"
    programs.mkdir()
    record = tmp_path / "record"
    record.touch()
    (programs / "docker").write_text(
        f'#!/bin/sh\necho "$UNMASK_BROKER_PORT $*" >> {record}\n'
        'case "$*" in\n'
        "  *up*--help*) echo '      --wait   Wait for services to be running|healthy' ;;\n"
        f"  ps*) test -e {tmp_path}/running && echo 0123abcd ;;\n"
        f"  *up*) touch {tmp_path}/running ;;\n"
        f"  *down*) rm {tmp_path}/running ;;\n"
        "  *) echo 28.2.2 ;;\n"
        "esac\n"
    )
    (programs / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return record


def test_the_container_is_started_found_and_removed_through_compose(
    jvm_broker: Callable[..., JvmBroker], recorded: Path, tmp_path: Path
) -> None:
    port = int(jvm_broker().bootstrap.rpartition(":")[2])
    folder = tmp_path / "broker"
    BrokerState(Way.DOCKER, (Node(1, port),)).save(folder)
    (tmp_path / "running").touch()  # so that the port counts as the container's own
    found = find_broker(folder)
    assert found is not None
    assert found.bootstrap == f"127.0.0.1:{port}"

    (tmp_path / "running").unlink()
    # Something answers on that port, and it is not the container: it is not taken for it.
    assert find_broker(folder) is None

    (tmp_path / "running").touch()
    handle = resolve_broker(folder)
    assert (handle.way, handle.started) == (Way.DOCKER, False)

    assert stop_broker(folder, wipe=True)
    assert not folder.exists()
    last = recorded.read_text().splitlines()[-1]
    assert last.startswith(f"{port} compose --project-name unmask-")
    assert last.endswith("down --volumes")


def test_a_first_start_waits_for_health_and_tells_compose_the_port(
    monkeypatch: pytest.MonkeyPatch, jvm_broker: Callable[..., JvmBroker], recorded: Path, tmp_path: Path
) -> None:
    port = int(jvm_broker().bootstrap.rpartition(":")[2])
    monkeypatch.setattr("unmask.consumers.devbroker.compose._PREFERRED_PORT", port)
    monkeypatch.setattr("unmask.consumers.devbroker.compose.is_free", lambda _: True)
    handle = resolve_broker(tmp_path / "broker", timeout=20)
    assert (handle.bootstrap, handle.way, handle.started) == (f"127.0.0.1:{port}", Way.DOCKER, True)
    started = [line for line in recorded.read_text().splitlines() if line.endswith("up --detach --wait")]
    assert len(started) == 1
    assert started[0].startswith(f"{port} compose --project-name unmask-")
    assert "docker-compose.yml" in started[0]
    handle.stop()
    assert BrokerState.load(tmp_path / "broker") is not None


def test_an_engine_without_compose_is_reported_as_that(recorded: Path, tmp_path: Path) -> None:
    docker = tmp_path / "bin" / "docker"
    docker.write_text('#!/bin/sh\ncase "$1" in compose) exit 1 ;; *) echo 28.2.2 ;; esac\n')
    (tmp_path / "bin" / "docker-compose").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin" / "docker-compose").chmod(0o755)
    with pytest.raises(NoWayToRunBroker, match="neither `docker compose` nor `docker-compose`"):
        resolve_broker(tmp_path / "broker")
