"""The broker as a container: docker-compose.yml, driven through whichever Compose command this machine has."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from unmask.consumers.devbroker.errors import BrokerStartFailed, NoWayToRunBroker
from unmask.consumers.devbroker.ports import free_ports, is_free
from unmask.consumers.devbroker.readiness import wait_until_serving
from unmask.consumers.devbroker.state import BrokerState, Node, Way

__all__ = ["ComposeBroker", "compose_command", "docker_engine_answers", "missing_for_docker"]

_PREFERRED_PORT = 9092
_PULL_AND_START = 600.0
_QUESTION = 5.0


def docker_engine_answers() -> bool:
    """Whether a Docker engine (not merely its client) answers within five seconds."""
    return bool(_output(["docker", "version", "--format", "{{.Server.Version}}"]))


def compose_command() -> list[str] | None:
    """Compose as a plugin of the Docker client, else as the program of its own, else None."""
    return next((words for words in (["docker", "compose"], ["docker-compose"]) if _output([*words, "version"])), None)


def missing_for_docker() -> str | None:
    """What this machine lacks to run the broker as a container, or None."""
    if shutil.which("docker") is None:
        return "no docker command on the path"
    if not docker_engine_answers():
        return "the docker command is here, but no Docker engine answers it"
    if compose_command() is None:
        return "a Docker engine answers, but neither `docker compose` nor `docker-compose` is installed"
    return None


class ComposeBroker:
    """One container with a named volume; folders that differ give brokers that differ."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self._project = "unmask-" + hashlib.sha256(str(self.folder).encode()).hexdigest()[:8]
        state = BrokerState.load(self.folder)
        self._state = state if state is not None and state.way is Way.DOCKER else None

    @property
    def bootstrap(self) -> str:
        """The container's address on this machine, `host:port`."""
        if self._state is None:
            raise BrokerStartFailed(f"the broker of {self.folder} has not been started; call start() first")
        return self._state.bootstrap

    def start(self, timeout: float = 90.0) -> None:
        """Create or start the container and wait until it serves; `timeout` seconds from when it runs.

        Raises `NoWayToRunBroker` without an engine or Compose, else `BrokerStartFailed`.
        """
        # Looked up now, not at import: whether an engine answers changes while a program runs.
        if (missing := missing_for_docker()) is not None:
            raise NoWayToRunBroker(f"Kafka cannot run as a container here: {missing}.")
        self._state = BrokerState(Way.DOCKER, (Node(1, self._port()),))
        self._state.save(self.folder)
        self._compose("up", "--detach", *self._wait_option())
        if not wait_until_serving(self.bootstrap, frozenset({1}), timeout, lambda: True):
            said = self._compose("logs", "--tail", "30")
            raise BrokerStartFailed(f"the broker's container did not become ready; the end of its log:\n{said}")

    def running(self) -> bool:
        """Whether this folder's container runs; another's broker on the same port is not it."""
        label = f"label=com.docker.compose.project={self._project}"
        return bool(_output(["docker", "ps", "--quiet", "--filter", label]))

    def stop(self, *, wipe: bool = False) -> None:
        """Remove the container; its volume only with `wipe`."""
        self._compose("down", *(["--volumes"] if wipe else []))
        if wipe:
            shutil.rmtree(self.folder, ignore_errors=True)
            self._state = None

    def _port(self) -> int:
        kept = self._state.nodes[0].port if self._state is not None else _PREFERRED_PORT
        # Our own container may be what holds the port, and Compose then changes nothing.
        return kept if is_free(kept) or self.running() else free_ports(1)[0]

    def _wait_option(self) -> list[str]:
        # Old Compose lacks it; then our own waiting has to do, which is why that always follows.
        return ["--wait"] if "--wait" in self._compose("up", "--help") else []

    def _compose(self, *words: str) -> str:
        command = compose_command()
        if command is None:
            raise NoWayToRunBroker("Kafka cannot run as a container here: Compose is not installed.")
        full = [*command, "--project-name", self._project, "--file", str(_compose_file()), *words]
        port = str(self._state.nodes[0].port if self._state is not None else _PREFERRED_PORT)
        environment = {**os.environ, "UNMASK_BROKER_PORT": port}
        try:
            run = subprocess.run(
                full, env=environment, capture_output=True, text=True, timeout=_PULL_AND_START, check=True
            )
        except subprocess.CalledProcessError as error:
            said = (error.stdout + error.stderr).strip()[-2000:]
            raise BrokerStartFailed(
                f"`{' '.join(full)}` failed (UNMASK_DEV_BROKER=jvm runs Kafka with Java instead); it said:\n{said}"
            ) from error
        except subprocess.TimeoutExpired as error:
            raise BrokerStartFailed(f"`{' '.join(full)}` did not end within {_PULL_AND_START:.0f} s") from error
        return run.stdout + run.stderr


def _compose_file() -> Path:
    """The project's docker-compose.yml: beside this module in a wheel, at the root in a source tree."""
    here = Path(__file__)
    candidates = [here.with_name("docker-compose.yml"), here.parents[4] / "docker-compose.yml"]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise BrokerStartFailed("docker-compose.yml is missing from this installation; install unmask again")


def _output(command: list[str]) -> str:
    """What the command prints, empty when it fails."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=_QUESTION, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""
