"""Places that processes have, life after life, and how the hosts and workers of a soak are started in them."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from tests.chaos.soak.plan import HostPlan, Plan
from tests.chaos.soak.processes import Child, start

from unmask.streams.settings import StreamSettings

__all__ = ["Launches", "Slot"]


@dataclass(slots=True)
class Slot:
    """A place that a process has, life after life."""

    name: str
    launch: Callable[[int], Child]
    lives: int = 0
    child: Child | None = None
    restart_at: float = 0.0
    """Monotonic seconds, as all times here."""
    expected: bool = True
    """Whether the child's end was ours to see, or to bring about."""
    resume_at: float | None = None
    """Until when it is stopped; None where it is not."""

    def start(self) -> None:
        """The next life begins."""
        self.lives += 1
        self.child = self.launch(self.lives)
        self.expected = False
        self.resume_at = None

    def running(self) -> bool:
        """Whether there is a life that has not ended."""
        return self.child is not None and self.child.running()


class Launches:
    """Starts processes, with what their environment and the plan say."""

    def __init__(self, plan: Plan, folder: Path, journals: Path, bootstrap: str, namespace: str) -> None:
        self._plan = plan
        self._folder = folder
        self._journals = journals
        self._bootstrap = bootstrap
        self._namespace = namespace
        self._random = Random(plan.seed + 3)
        self._environment = {"KAFKA_BOOTSTRAP_SERVERS": bootstrap, "UNMASK_NAMESPACE": namespace}

    def host(self, host: HostPlan, number: int) -> Child:
        """A host's life of that number."""
        life = f"{host.name}-{number}"
        arguments = [
            *("--name", host.name, "--life", life, "--folder", str(self._journals)),
            *("--outbox", str(self._folder / "outbox" / host.name), "--release-line", host.release_line),
            *("--rate", str(self._plan.rate), "--skew", str(host.skew_s)),
            *("--seed", str(self._random.randrange(1 << 30))),
        ]
        log = self._folder / f"host-{host.name}.log"
        return start(life, log, "tests.chaos.soak.host", arguments, self._environment)

    def worker(self, name: str, number: int) -> Child:
        """A worker's life of that number."""
        plan = self._plan
        settings = StreamSettings(
            bootstrap=self._bootstrap, namespace=self._namespace, instance=name, static_membership=True,
            window_seconds=plan.window_seconds, grace_ms=plan.grace_ms, write_off_s=plan.write_off_s,
            open_horizon_s=plan.open_horizon_s, session_timeout_ms=plan.session_timeout_ms, port=0,
        )  # fmt: skip
        log, arguments = self._folder / f"worker-{name}.log", [json.dumps(asdict(settings))]
        return start(f"{name}-{number}", log, "tests.chaos.soak.worker", arguments, self._environment)
