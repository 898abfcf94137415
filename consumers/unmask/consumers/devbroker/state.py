"""What is known of a started broker, kept as JSON in its data folder."""

import json
import os
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from unmask.consumers.devbroker.ports import LOOPBACK

__all__ = ["BrokerState", "Node", "Way"]

_FILE = "broker.json"


class Way(StrEnum):
    """How a broker came to be."""

    EXTERNAL = "external"
    """Somebody else's: `KAFKA_BOOTSTRAP_SERVERS` names it, and nothing here starts or stops it."""
    DOCKER = "docker"
    """A container, by docker-compose.yml."""
    JVM = "jvm"
    """One or more Java processes of this user."""


@dataclass(frozen=True, slots=True)
class Node:
    """One broker node: `pid` is 0 while it does not run, and always for a container."""

    node_id: int
    port: int
    controller_port: int = 0
    pid: int = 0

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"


@dataclass(frozen=True, slots=True)
class BrokerState:
    """A broker's way and nodes; written on each change, so that any later process can find and stop it."""

    way: Way
    nodes: tuple[Node, ...]

    @property
    def bootstrap(self) -> str:
        return ",".join(node.address for node in self.nodes)

    def with_pid(self, node_id: int, pid: int) -> "BrokerState":
        """The same with one node's process replaced."""
        return replace(self, nodes=tuple(replace(n, pid=pid) if n.node_id == node_id else n for n in self.nodes))

    def save(self, folder: Path) -> None:
        """Write the state so that a reader sees either the old or the new one, whole."""
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f"{_FILE}.{os.getpid()}"
        draft.write_text(json.dumps(asdict(self), indent=2) + "\n")
        draft.replace(folder / _FILE)

    @classmethod
    def load(cls, folder: Path) -> "BrokerState | None":
        """The folder's state, or None where no broker was ever started (or the file is not ours to read)."""
        try:
            content = json.loads((folder / _FILE).read_text())
            return cls(Way(content["way"]), tuple(Node(**node) for node in content["nodes"]))
        except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
            return None
