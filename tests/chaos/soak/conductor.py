"""The conductor: keeps hosts, workers and brokers going, and does to them what the plan says."""

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random

from tests.chaos.soak.injector import Injector
from tests.chaos.soak.plan import HOSTS, WORKERS, Action, HostPlan, Plan, Step
from tests.chaos.soak.processes import Child, start
from tests.chaos.soak.worker import ENDED

from unmask.consumers.devbroker import JvmBroker
from unmask.schemas.topics import Topics
from unmask.streams.settings import StreamSettings

__all__ = ["Conductor"]

_TICK_S = 0.05
_RESTART_S = (0.2, 3.0)
_BROKER_DOWN_S = (3.0, 8.0)
_BROKER_START_S = 120.0
_HOST_END_S = 150.0
_WORKER_END_S = 40.0


@dataclass(slots=True)
class _Slot:
    """A place that a process has, life after life."""

    name: str
    launch: Callable[[int], Child]
    lives: int = 0
    child: Child | None = None
    restart_at: float = 0.0
    expected: bool = True
    """Whether the child's end was ours to see, or to bring about."""
    resume_at: float | None = None

    def start(self) -> None:
        self.lives += 1
        self.child = self.launch(self.lives)
        self.expected = False
        self.resume_at = None

    def running(self) -> bool:
        return self.child is not None and self.child.running()


@dataclass
class Conductor:
    """One run's processes."""

    plan: Plan
    folder: Path
    broker: JvmBroker
    topics: Topics
    injector: Injector
    say: Callable[[str], None]
    done: Counter[str] = field(default_factory=Counter)
    """How often each action was done."""
    faults: list[str] = field(default_factory=list)
    """Processes that ended as they must not."""

    def __post_init__(self) -> None:
        self._random = Random(self.plan.seed + 1)
        self._hosts = {host.name: _Slot(host.name, lambda n, h=host: self._launch_host(h, n)) for host in HOSTS}  # type: ignore[misc]
        self._workers = {name: _Slot(name, lambda n, w=name: self._launch_worker(w, n)) for name in WORKERS}  # type: ignore[misc]
        self._broker_down: dict[int, float] = {}
        self._broker_thread: threading.Thread | None = None
        self._environment = {
            "KAFKA_BOOTSTRAP_SERVERS": self.broker.bootstrap, "UNMASK_NAMESPACE": self.topics.namespace,
        }  # fmt: skip

    @property
    def journals(self) -> Path:
        """Where the hosts' journals are."""
        return self.folder / "journals"

    def run(self) -> None:
        """The whole plan, from the first process to the last."""
        self.journals.mkdir()
        for slot in self._workers.values():
            slot.start()
        time.sleep(6.0)
        for slot in self._hosts.values():
            slot.start()
        began, steps = time.monotonic(), list(self.plan.steps)
        while (elapsed := time.monotonic() - began) < self.plan.seconds:
            for step in [step for step in steps if step.at <= elapsed]:
                # One whose target is not there yet waits for it, and holds no other one back.
                if self._do(step):
                    steps.remove(step)
                    self.done[step.action] += 1
                    self.say(f"{elapsed:6.1f} s  {step.action} {step.target}")
            self._tend()
            time.sleep(_TICK_S)
        self.faults.extend(f"there was no time for {step.action} {step.target}" for step in steps)
        self._settle()

    def worker_ends(self) -> list[str]:
        """What workers said that ended by themselves, which they may where they cannot go on. Also one that was killed
        while it ended."""
        said = []
        for name in WORKERS:
            log = self.folder / f"worker-{name}.log"
            lines = log.read_text(errors="replace").splitlines() if log.exists() else []
            said += [f"worker {name}: {line[line.index(ENDED) + len(ENDED) :]}" for line in lines if ENDED in line]
        return said

    def end_hosts(self) -> None:
        """Every host ends in order, and with it all that its dead predecessors left."""
        for slot in self._hosts.values():
            if not slot.running():
                slot.start()
        deadline = time.monotonic() + _HOST_END_S
        while not all(map(self._begun, self._hosts.values())) and time.monotonic() < deadline:
            time.sleep(_TICK_S)
        for slot in self._hosts.values():
            slot.expected = True
            if slot.child is not None:
                slot.child.signal(signal.SIGTERM)
        for slot in self._hosts.values():
            if slot.child is not None and (code := slot.child.end(_HOST_END_S)) != 0:
                self.faults.append(f"host {slot.name} ended with {code}: {slot.child.said()}")

    def stop(self) -> None:
        """Everything ends."""
        for slot in (*self._hosts.values(), *self._workers.values()):
            if slot.child is not None:
                slot.child.signal(signal.SIGCONT)
                slot.child.signal(signal.SIGTERM)
        for slot in (*self._hosts.values(), *self._workers.values()):
            if slot.child is not None:
                slot.child.end(_WORKER_END_S)
        if self._broker_thread is not None:
            self._broker_thread.join(_BROKER_START_S)

    def tend_workers(self) -> None:
        """Restart workers that have ended, while the hosts are gone already."""
        self._tend_workers(time.monotonic())

    # -- one step

    def _do(self, step: Step) -> bool:
        now, target = time.monotonic(), str(step.target)
        if step.action in (Action.KILL_WORKER, Action.STOP_WORKER):
            slot = self._workers[target]
            if slot.child is None or not slot.running() or slot.resume_at is not None:
                return False
            if step.action is Action.STOP_WORKER:
                slot.child.signal(signal.SIGSTOP)
                slot.resume_at = now + self.plan.stop_s
            else:
                self._kill(slot, now)
        elif step.action in (Action.KILL_HOST, Action.END_HOST):
            slot = self._hosts[target]
            cut_off = self._cut_off(target).exists()
            if cut_off or not self._begun(slot) or not slot.running() or slot.expected:
                return False
            if step.action is Action.KILL_HOST:
                self._kill(slot, now)
            elif slot.child is not None:
                slot.expected = True
                slot.child.signal(signal.SIGTERM)
        elif step.action is Action.KILL_BROKER:
            if self._broker_down or (self._broker_thread is not None and self._broker_thread.is_alive()):
                return False
            self.broker.kill(int(target))
            self._broker_down[int(target)] = now + self._random.uniform(*_BROKER_DOWN_S)
        elif step.action is Action.CUT_OFF:
            self._cut_off(target).touch()
        elif step.action is Action.RETURN:
            self._cut_off(target).unlink()
        else:
            self.injector.put_unreadable(int(target))
        return True

    def _begun(self, host: _Slot) -> bool:
        return (self.journals / f"{host.name}-{host.lives}.json").exists()

    def _kill(self, slot: _Slot, now: float) -> None:
        if slot.child is not None:
            slot.child.kill()
        slot.expected = True
        slot.restart_at = now + self._random.uniform(*_RESTART_S)

    def _cut_off(self, host: str) -> Path:
        return self.journals / f"{host}.cut-off"

    # -- keeping things going

    def _tend(self) -> None:
        now = time.monotonic()
        self._tend_workers(now)
        for slot in self._hosts.values():
            if slot.running() or slot.child is None or now < slot.restart_at:
                continue
            code = slot.child.process.returncode
            if not slot.expected or code not in (0, -signal.SIGKILL):
                self.faults.append(f"host {slot.name} ended with {code}: {slot.child.said()}")
            slot.start()
        for node, at in list(self._broker_down.items()):
            if now >= at:
                del self._broker_down[node]
                self._broker_thread = threading.Thread(target=self._bring_back, args=(node,))
                self._broker_thread.start()

    def _tend_workers(self, now: float) -> None:
        for slot in self._workers.values():
            if slot.child is None:
                continue
            if slot.resume_at is not None and now >= slot.resume_at:
                slot.child.signal(signal.SIGCONT)
                slot.resume_at = None
            if slot.running() or now < slot.restart_at:
                continue
            if not slot.expected:
                slot.expected = True
                slot.restart_at = now + 1.0
            else:
                slot.start()

    def _bring_back(self, node: int) -> None:
        try:
            self.broker.restart(node, _BROKER_START_S)
        except Exception as error:
            self.faults.append(f"broker {node} did not come back: {error}")

    def _settle(self) -> None:
        """Nothing is down or stopped any more."""
        while self._broker_down or any(slot.resume_at is not None for slot in self._workers.values()):
            self._tend()
            time.sleep(_TICK_S)
        if self._broker_thread is not None:
            self._broker_thread.join(_BROKER_START_S)

    def _launch_host(self, host: HostPlan, number: int) -> Child:
        life = f"{host.name}-{number}"
        arguments = [
            *("--name", host.name, "--life", life, "--folder", str(self.journals)),
            *("--outbox", str(self.folder / "outbox" / host.name), "--release-line", host.release_line),
            *(
                "--rate",
                str(self.plan.rate),
                "--skew",
                str(host.skew_s),
                "--seed",
                str(self._random.randrange(1 << 30)),
            ),
        ]
        return start(life, self.folder / f"host-{host.name}.log", "tests.chaos.soak.host", arguments, self._environment)

    def _launch_worker(self, name: str, number: int) -> Child:
        plan = self.plan
        settings = StreamSettings(
            bootstrap=self.broker.bootstrap, namespace=self.topics.namespace, instance=name, static_membership=True,
            window_seconds=plan.window_seconds, grace_ms=plan.grace_ms, write_off_s=plan.write_off_s,
            open_horizon_s=plan.open_horizon_s, session_timeout_ms=plan.session_timeout_ms, port=0,
        )  # fmt: skip
        log = self.folder / f"worker-{name}.log"
        return start(
            f"{name}-{number}", log, "tests.chaos.soak.worker", [json.dumps(asdict(settings))], self._environment
        )
