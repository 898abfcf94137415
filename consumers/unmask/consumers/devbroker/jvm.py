"""A real Kafka of one or more nodes as Java processes: for development, and for tests that kill brokers."""

import shutil
import subprocess
import uuid
from base64 import urlsafe_b64encode
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from unmask.consumers.devbroker.distribution import find_java, kafka_libraries
from unmask.consumers.devbroker.errors import BrokerStartFailed, NoWayToRunBroker
from unmask.consumers.devbroker.node_process import NodeProcess
from unmask.consumers.devbroker.node_settings import node_settings, render
from unmask.consumers.devbroker.ports import free_ports, is_free
from unmask.consumers.devbroker.readiness import wait_until_serving
from unmask.consumers.devbroker.state import BrokerState, Node, Way

__all__ = ["JvmBroker"]

_LOGGING = Path(__file__).with_name("log4j2.properties")
_LOG_TAIL = 2000


class JvmBroker:
    """A cluster of `nodes` KRaft nodes (ids from 1) with its own data in `folder`.

    With three nodes, topics have three replicas of which two must be in sync. A tethered broker dies with the process
    that started it; an untethered one goes on, and a new `JvmBroker` of the same folder finds it again.
    """

    def __init__(self, folder: Path, nodes: int = 1, *, tethered: bool = True, heap_mb: int = 512) -> None:
        self.folder = folder.absolute()
        self._count = nodes
        self._tethered = tethered
        self._heap_mb = heap_mb
        state = BrokerState.load(self.folder)
        self._state = state if state is not None and state.way is Way.JVM else None
        self._java_words: list[str] = []
        self._processes: dict[int, NodeProcess] = {}
        if self._state is not None:
            self._processes = {n.node_id: NodeProcess(n.pid, self._settings(n.node_id)) for n in self._state.nodes}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap(self) -> str:
        """The nodes' addresses, `host:port,…`; the same through kills and restarts of nodes."""
        if self._state is None:
            raise BrokerStartFailed(f"the broker in {self.folder} has not been started; call start() first")
        return self._state.bootstrap

    def alive(self, node: int = 1) -> bool:
        """Whether the node's process is there (it may still be paused or starting)."""
        return node in self._processes and self._processes[node].alive()

    def start(self, timeout: float = 90.0) -> None:
        """Start all nodes that do not run and wait until every one serves; within `timeout` seconds.

        Data of an earlier life is kept. Raises `NoWayToRunBroker` without Java or Maven, else `BrokerStartFailed`.
        """
        if self._state is not None and len(self._state.nodes) != self._count:
            raise BrokerStartFailed(
                f"{self.folder} holds a broker of {len(self._state.nodes)} node(s), not {self._count}; "
                "stop it with its data wiped, or use another folder"
            )
        expected = frozenset(range(1, self._count + 1))
        for attempt in (1, 2, 3):
            self._place_nodes()
            for node in expected:
                self._launch(node)
            if wait_until_serving(self.bootstrap, expected, timeout, lambda: all(map(self.alive, expected))):
                return
            said = self._log_tail()
            self.stop()
            # Between our look at a port and the JVM's bind, somebody else may take it.
            if "already in use" not in said or attempt == 3:
                break
        raise BrokerStartFailed(f"the broker in {self.folder} did not become ready; the end of its log:\n{said}")

    def stop(self, *, wipe: bool = False) -> None:
        """Shut all nodes down in order; with `wipe`, delete their data as well."""
        running = [process for process in self._processes.values() if process.alive()]
        # The last ones have no controller quorum left to say goodbye to, so they are not waited for as long.
        for position, process in enumerate(running):
            process.terminate(patience=15.0 if position == 0 else 5.0)
        if self._state is not None:
            for node in self._state.nodes:
                self._state = self._state.with_pid(node.node_id, 0)
            self._state.save(self.folder)
        if wipe:
            shutil.rmtree(self.folder, ignore_errors=True)
            self._state = None
            self._processes = {}

    def kill(self, node: int = 1) -> None:
        """SIGKILL one node."""
        self._processes[node].kill()

    def pause(self, node: int = 1) -> None:
        """SIGSTOP one node: connected, and silent."""
        self._processes[node].pause()

    def resume(self, node: int = 1) -> None:
        """SIGCONT one node."""
        self._processes[node].resume()

    def restart(self, node: int = 1, timeout: float = 60.0) -> None:
        """Start one node again, after a shutdown in order if it runs, and wait until it serves.

        Raises `BrokerStartFailed` when it does not within `timeout` seconds.
        """
        self._processes[node].terminate()
        self._launch(node)
        address = next(n.address for n in self._nodes() if n.node_id == node)
        if not wait_until_serving(address, frozenset({node}), timeout, lambda: self.alive(node)):
            raise BrokerStartFailed(f"node {node} did not come back; the end of its log:\n{self._log_tail()}")

    def _nodes(self) -> tuple[Node, ...]:
        return self._state.nodes if self._state is not None else ()

    def _place_nodes(self) -> None:
        """Give every node that does not run its ports and settings; ports of an earlier life are kept if still free."""
        nodes = self._nodes() or tuple(Node(n, 0) for n in range(1, self._count + 1))
        wanted = [p for n in nodes if not self.alive(n.node_id) for p in (n.port, n.controller_port)]
        if not all(port and is_free(port) for port in wanted):
            # The voters' addresses are part of every node's settings, so all nodes move together.
            for process in self._processes.values():
                process.terminate()
            fresh = iter(free_ports(2 * len(nodes)))
            nodes = tuple(replace(n, port=next(fresh), controller_port=next(fresh)) for n in nodes)
        self._state = BrokerState(Way.JVM, nodes)
        self._state.save(self.folder)
        for node in nodes:
            if not self.alive(node.node_id):
                settings = self._settings(node.node_id)
                settings.parent.mkdir(parents=True, exist_ok=True)
                settings.write_text(render(node_settings(node, nodes, self._data(node.node_id))))
        self._format()

    def _format(self) -> None:
        """Prepare the storage of nodes that have none yet, all at once: each is a short Java process."""
        identity = self.folder / "cluster.id"
        if not identity.exists():
            identity.write_text(urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="))
        tool = ["kafka.tools.StorageTool", "format", f"--cluster-id={identity.read_text()}", "--config"]
        runs = [
            subprocess.Popen(
                [*self._java(256), *tool, str(self._settings(node.node_id))],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for node in self._nodes()
            if not (self._data(node.node_id) / "meta.properties").exists()
        ]
        outputs = [run.communicate()[0] for run in runs]
        for run, output in zip(runs, outputs, strict=True):
            if run.returncode != 0:
                raise BrokerStartFailed(f"the storage of a node could not be formatted:\n{output[-_LOG_TAIL:]}")

    def _launch(self, node: int) -> None:
        if self.alive(node):
            return
        process = NodeProcess.launch(
            [*self._java(self._heap_mb), "kafka.Kafka"],
            self._settings(node),
            self._log(node),
            tethered=self._tethered,
        )
        self._processes[node] = process
        if self._state is not None:
            self._state = self._state.with_pid(node, process.pid)
            self._state.save(self.folder)

    def _java(self, heap_mb: int) -> list[str]:
        if not self._java_words:
            libraries = kafka_libraries()
            java = find_java()
            if java is None:
                raise NoWayToRunBroker("Kafka cannot run as a Java process here: no Java 17 or newer.")
            logging = f"-Dlog4j2.configurationFile={_LOGGING}"
            self._java_words = [str(java), "-XX:+UseSerialGC", logging, "-cp", f"{libraries}/*"]
        return [self._java_words[0], f"-Xmx{heap_mb}m", *self._java_words[1:]]

    def _settings(self, node: int) -> Path:
        return self.folder / f"node-{node}" / "server.properties"

    def _data(self, node: int) -> Path:
        return self.folder / f"node-{node}" / "data"

    def _log(self, node: int) -> Path:
        return self.folder / f"node-{node}" / "broker.log"

    def _log_tail(self) -> str:
        logs = [self._log(node.node_id) for node in self._nodes()]
        return "\n".join(log.read_text(errors="replace")[-_LOG_TAIL:] for log in logs if log.exists())
