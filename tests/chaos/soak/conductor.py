"""The conductor: keeps hosts, workers and brokers going, and does to them what the plan says."""

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from tests.chaos.soak.injector import Injector
from tests.chaos.soak.plan import HOSTS, WORKERS, Action, Plan, Step
from tests.chaos.soak.slots import Launches, Slot
from tests.chaos.soak.worker import ENDED

from unmask.consumers.devbroker import JvmBroker
from unmask.schemas.topics import Topics

__all__ = ["Conductor"]

_TICK_S = 0.05
_RESTART_S = (0.2, 3.0)
_BROKER_DOWN_S = (3.0, 8.0)
_BROKER_START_S = 300.0
_WORKER_START_S = 300.0
_HOST_BEGIN_S = 300.0
_HOST_END_S = 800.0  # longer than a host itself waits for its deliveries
_WORKER_END_S = 40.0
_STRETCH = 3
"""A slow machine has so many times as long as planned to do all that is planned."""
_LOOK_S = 1.0
_GIVEN_AWAY = "partitions were given to another worker while this one was away"


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
    first_commit_s: float = 0.0
    """From the start of the first workers until each partition had been committed."""
    load_s: float = 0.0
    """How long the load lasted."""

    def __post_init__(self) -> None:
        self._random = Random(self.plan.seed + 1)
        start = Launches(self.plan, self.folder, self.journals, self.broker.bootstrap, self.topics.namespace)
        self._hosts = {host.name: Slot(host.name, partial(start.host, host)) for host in HOSTS}
        self._workers = {name: Slot(name, partial(start.worker, name)) for name in WORKERS}
        self._broker_down: dict[int, float] = {}
        self._cut_off_at = 0.0
        self._broker_thread: threading.Thread | None = None

    @property
    def journals(self) -> Path:
        """Where the hosts' journals are."""
        return self.folder / "journals"

    def run(self, committed: Callable[[], bool], enough: Callable[[], bool]) -> None:
        """The whole plan, from the first process to the last.

        The load begins once all partitions are `committed`. It ends after the time that was planned, or as much later
        as a slow machine takes until every step is done and it was `enough`.
        """
        self.journals.mkdir()
        self._start_workers(committed)
        for slot in self._hosts.values():
            slot.start()
        began, steps = time.monotonic(), list(self.plan.steps)
        looked, satisfied = 0.0, False
        while (elapsed := time.monotonic() - began) < self.plan.seconds or not (satisfied and not steps):
            if elapsed >= _STRETCH * self.plan.seconds:
                break
            if elapsed >= self.plan.seconds and elapsed - looked >= _LOOK_S:
                looked, satisfied = elapsed, enough()
            for step in [step for step in steps if step.at <= elapsed]:
                # One whose target is not there yet waits for it, and holds no other one back.
                if self._do(step):
                    steps.remove(step)
                    self.done[step.action] += 1
                    self.say(f"{elapsed:6.1f} s  {step.action} {step.target}")
            self._tend()
            time.sleep(_TICK_S)
        self.load_s = time.monotonic() - began
        self.faults.extend(f"there was no time for {step.action} {step.target}" for step in steps)
        self._settle()

    def _start_workers(self, committed: Callable[[], bool]) -> None:
        began = time.monotonic()
        for slot in self._workers.values():
            slot.start()
        while not committed() and time.monotonic() - began < _WORKER_START_S:
            self._tend_workers(time.monotonic())
            time.sleep(_TICK_S)
        self.first_commit_s = time.monotonic() - began

    def workers_away(self) -> int:
        """How often a worker that had been stopped, or cut off by a broker's death, found that others did its work."""
        logs = (self.folder / f"worker-{name}.log" for name in WORKERS)
        return sum(log.read_text(errors="replace").count(_GIVEN_AWAY) for log in logs if log.exists())

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
        deadline = time.monotonic() + _HOST_BEGIN_S
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
            slot = self._hosts[target]
            if not self._begun(slot) or not slot.running() or slot.expected:
                return False
            self._cut_off(target).touch()
            self._cut_off_at = now
        elif step.action is Action.RETURN:
            if not self._cut_off(target).exists() or now - self._cut_off_at < self.plan.away_s:
                return False
            self._cut_off(target).unlink()
        else:
            self.injector.put_unreadable(int(target))
        return True

    def _begun(self, host: Slot) -> bool:
        return (self.journals / f"{host.name}-{host.lives}.json").exists()

    def _kill(self, slot: Slot, now: float) -> None:
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
