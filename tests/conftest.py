"""What every test may ask for: a real Kafka, a namespace of its own, and brokers it may kill."""

import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from unmask.consumers.devbroker import JvmBroker, docker_engine_answers, missing_for_jvm, resolve_broker, stop_broker

# Set by the process that the run began in and inherited by xdist's workers, so that all of them share one broker.
_RUN_FOLDER = "UNMASK_TEST_RUN_FOLDER"


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        os.environ[_RUN_FOLDER] = tempfile.mkdtemp(prefix="unmask-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and (folder := os.environ.pop(_RUN_FOLDER, None)) is not None:
        stop_broker(Path(folder) / "broker", wipe=True)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def kafka(request: pytest.FixtureRequest) -> Iterator[str]:
    """The bootstrap servers of a real broker, one for the whole run.

    `KAFKA_BOOTSTRAP_SERVERS` if set; else a container where a Docker engine answers; else Java processes.
    """
    shared_by_workers = hasattr(request.config, "workerinput")
    wanted = os.environ.get("UNMASK_DEV_BROKER", "")
    given = os.environ.get("KAFKA_BOOTSTRAP_SERVERS")
    if not given and not shared_by_workers and wanted != "jvm" and docker_engine_answers():
        from tests.kafka_container import KraftContainer

        with KraftContainer() as container:
            yield container.get_bootstrap_server()
        return
    # With workers the broker must outlive whichever of them started it; pytest_unconfigure ends it.
    yield resolve_broker(Path(os.environ[_RUN_FOLDER]) / "broker", tethered=not shared_by_workers).bootstrap


@pytest.fixture
def namespace() -> str:
    """A short prefix that no other test has, for topic names, groups and transactional ids."""
    return f"t{uuid.uuid4().hex[:10]}"


@pytest.fixture
def jvm_broker(tmp_path: Path) -> Iterator[Callable[..., JvmBroker]]:
    """Make brokers of this test's own, to kill, pause and restart: `jvm_broker()` or `jvm_broker(nodes=3)`, started.

    The test is skipped only where Java or Maven is absent.
    """
    if (missing := missing_for_jvm()) is not None:
        pytest.skip(f"a private broker cannot run here: {missing}")
    made: list[JvmBroker] = []

    def make(nodes: int = 1) -> JvmBroker:
        broker = JvmBroker(tmp_path / f"kafka-{len(made)}", nodes)
        made.append(broker)
        broker.start()
        return broker

    yield make
    for broker in made:
        broker.stop(wipe=True)
