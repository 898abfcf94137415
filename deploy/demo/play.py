"""The play itself: processes are started, the kill happens, and the demo looks on until everything is settled."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from demo.board import Board
from demo.expected import ExpectedSession
from demo.journal import HostJournal, read_journal
from demo.plan import WINDOW_S, Plan
from demo.processes import Child, Cluster
from demo.scene import Scene
from unmask.consumers.devbroker.ports import free_ports

__all__ = ["Ending", "NotSettled", "Play"]

_LEAD_S = 5.0  # what the upstream and the hosts take to start, with some to spare
_PATIENCE_S = 25.0
_LOOK_S = 0.25


class NotSettled(Exception):
    """Windows or verdicts did not come in time; the message says which are missing."""


@dataclass(slots=True)
class Ending:
    """What the successor heard."""

    asked: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Session to answer and reason."""
    reconciled: dict[str, tuple[str, str]] = field(default_factory=dict)


class Play:
    """One performance of a plan."""

    def __init__(self, plan_name: str, plan: Plan, folder: Path, cluster: Cluster) -> None:
        self._plan_name = plan_name
        self._plan = plan
        self._folder = folder
        self._cluster = cluster
        self._start = 0.0
        self._upstream = ""
        self._hosts: dict[str, Child] = {}
        self.killed_at = 0
        """When the host was killed, in microseconds."""

    def begin(self, board: Board) -> Scene:
        """Starts the upstream and the hosts for the next beginning of a window; returns what is on show."""
        self._start = float(math.ceil((time.time() + _LEAD_S) / WINDOW_S) * WINDOW_S)
        port = free_ports(1)[0]
        self._upstream = f"http://127.0.0.1:{port}"
        common = ["--plan", self._plan_name, "--start", str(self._start)]
        self._cluster.start("upstream", ["-m", "demo.upstream", "--port", str(port), *common])
        for host in self._plan.hosts:
            self._hosts[host.name] = self._cluster.start(
                f"host-{host.name}",
                [
                    *("-m", "demo.host", "--name", host.name, *common),
                    *("--upstream", self._upstream, "--journal", str(self._journal(host.name))),
                ],
            )
        return Scene(self._plan, board, self._start)

    def look_on(self, scene: Scene, show: Callable[[Scene], None]) -> None:
        """Until every host is done, every window closed and every session judged. Raises ProcessFailed, NotSettled."""
        victim = self._plan.victim
        assert victim.killed_at is not None
        while True:
            scene.elapsed = time.time() - self._start
            if not self.killed_at and scene.elapsed >= victim.killed_at:
                self.killed_at, _ = self._cluster.kill(f"host-{victim.name}")
                scene.events.append(f"host {victim.name} killed with SIGKILL")
            self._cluster.check()
            scene.hosts = sum(child.running() for child in self._hosts.values())
            scene.board.poll()
            show(scene)
            missing = self._missing(scene)
            if not missing:
                return
            if scene.elapsed > self._plan.length + _PATIENCE_S:
                raise NotSettled(f"after {scene.elapsed:.0f} s there is still no {', '.join(missing)}")
            time.sleep(_LOOK_S)

    def windows(self) -> range:
        """Starts of the plan's windows, in seconds since the epoch."""
        return range(int(self._start), int(self._start + self._plan.length), WINDOW_S)

    def journals(self) -> list[HostJournal]:
        """What the hosts wrote."""
        victim = self._plan.victim.name
        return [read_journal(self._journal(host.name), killed=host.name == victim) for host in self._plan.hosts]

    def succeed(self, sessions: list[str], reconcile: ExpectedSession) -> Ending:
        """Runs the successor to its end: it asks for all sessions, and carries one's directive out.

        Raises ProcessFailed.
        """
        child = self._cluster.start(
            "successor",
            [
                *("-m", "demo.successor", "--upstream", self._upstream, "--capability", reconcile.capability),
                *("--reconcile", reconcile.session_id, *sessions),
            ],
        )
        child.wait(60.0)
        ending = Ending()
        for line in child.log.read_text().splitlines():
            if not line.startswith("{"):
                continue
            said = json.loads(line)
            heard = ending.asked if said["step"] == "asked" else ending.reconciled
            heard[said["session"]] = (said["answer"], said["reason"])
        return ending

    def _missing(self, scene: Scene) -> list[str]:
        board = scene.board
        missing = [f"end of {child.name}" for child in self._hosts.values() if child.running()]
        planned = {session.session_id for host in self._plan.hosts for session in host.sessions}
        missing += [f"verdict of {session_id}" for session_id in sorted(planned - set(board.verdicts))]
        missing += [f"closed window {start}" for start in self.windows() if not board.closed(start, WINDOW_S)]
        return missing

    def _journal(self, host: str) -> Path:
        return self._folder / f"{host}.jsonl"
