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

from tests.chaos.effects.journal import now_us
from tests.chaos.effects.plan import HOSTS, WORKERS, Action, Plan, Step
from tests.chaos.effects.replayer import Replayer
from tests.chaos.soak.processes import Child, start
from tests.chaos.soak.slots import Slot

from unmask.consumers.devbroker import JvmBroker
from unmask.schemas.topics import Topics

__all__ = ["NODES", "Conductor"]

NODES = (1, 2, 3)
_TICK_S = 0.05
_RESTART_S = (0.2, 3.0)
_BROKER_DOWN_S = (3.0, 8.0)
_BROKER_START_S = 300.0
_HOST_END_S = 180.0
_WORKER_END_S = 40.0
_STRETCH = 3
"""A slow machine has so many times as long as planned to do all that is planned."""
_LOOK_S = 2.0


@dataclass
class Conductor:
    """One run's processes."""

    plan: Plan
    folder: Path
    broker: JvmBroker
    topics: Topics
    replayer: Replayer
    say: Callable[[str], None]
    done: Counter[str] = field(default_factory=Counter)
    """How often each action was done."""
    faults: list[str] = field(default_factory=list)
    """Processes that ended as they must not."""
    worker_ends: list[str] = field(default_factory=list)
    """What workers said that ended by themselves, which they may where they cannot go on."""
    load_s: float = 0.0
    """How long the load lasted."""

    def __post_init__(self) -> None:
        self._random = Random(self.plan.seed + 1)
        self._hosts = {name: Slot(name, partial(self._launch_host, name)) for name in HOSTS}
        self._workers = {name: Slot(name, partial(self._launch_worker, name)) for name in WORKERS}
        self._broker_up: dict[int, tuple[float, Callable[[], None]]] = {}
        self._broker_threads: list[threading.Thread] = []
        self._cut_off: dict[str, float] = {}
        self._epoch = now_us()
        self.journals.mkdir()

    @property
    def journals(self) -> Path:
        """Where the hosts' journals are."""
        return self.folder / "journals"

    @property
    def world(self) -> Path:
        """Where the effects are made."""
        return self.folder / "world"

    def start_workers(self) -> None:
        """The first lives of all workers."""
        for slot in self._workers.values():
            slot.start()

    def run(self, enough: Callable[[], bool]) -> None:
        """The whole plan. It ends after the time that was planned, or as much later as a slow machine takes until every
        step is done and it was `enough`."""
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
            self.tend()
            time.sleep(_TICK_S)
        self.load_s = time.monotonic() - began
        self.faults.extend(f"there was no time for {step.action} {step.target}" for step in steps)
        self._settle()

    def end_hosts(self) -> None:
        """Every host ends in order."""
        for slot in self._hosts.values():
            slot.expected = True
            if slot.child is not None:
                slot.child.signal(signal.SIGTERM)
        for slot in self._hosts.values():
            if slot.child is None:
                continue
            # One that had only just been started may not know yet that it can be told to end.
            begun = (self.journals / f"{slot.child.name}.journal").exists()
            expected = (0, -signal.SIGKILL) if begun else (0, -signal.SIGKILL, -signal.SIGTERM)
            if (code := slot.child.end(_HOST_END_S)) not in expected:
                self.faults.append(f"host {slot.name} ended with {code}: {slot.child.said()}")

    def stop(self) -> None:
        """Everything ends."""
        slots = (*self._hosts.values(), *self._workers.values())
        for slot in slots:
            if slot.child is not None:
                slot.child.signal(signal.SIGCONT)
                slot.child.signal(signal.SIGTERM)
        for slot in slots:
            if slot.child is not None:
                slot.child.end(_WORKER_END_S)
        for thread in self._broker_threads:
            thread.join(_BROKER_START_S)

    def tend(self, *, hosts: bool = True) -> None:
        """Lets go on what was stopped, and starts what has ended."""
        now = time.monotonic()
        for slot in (*self._workers.values(), *self._hosts.values()):
            if slot.child is not None and slot.resume_at is not None and now >= slot.resume_at:
                slot.child.signal(signal.SIGCONT)
                slot.resume_at = None
        for slot in self._workers.values():
            self._tend(slot, now, self._worker_ended)
        if hosts:
            for slot in self._hosts.values():
                self._tend(slot, now, self._host_ended)
        for name, until in list(self._cut_off.items()):
            if now >= until:
                del self._cut_off[name]
                self._barrier(name).unlink()
        for node, (at, bring_back) in list(self._broker_up.items()):
            if now >= at:
                del self._broker_up[node]
                thread = threading.Thread(target=bring_back)
                self._broker_threads.append(thread)
                thread.start()

    # -- one step

    def _do(self, step: Step) -> bool:
        now, target = time.monotonic(), step.target
        if step.action in (Action.KILL_WORKER, Action.KILL_HOST, Action.RESTART_CUT_OFF):
            slot = (self._workers if step.action is Action.KILL_WORKER else self._hosts)[target]
            if not self._at_work(slot) or (step.action is Action.RESTART_CUT_OFF and target in self._cut_off):
                return False
            self._kill(slot, now)
            if step.action is Action.RESTART_CUT_OFF:
                self._barrier(target).touch()
                self._cut_off[target] = slot.restart_at + self._random.uniform(*self.plan.cut_off_s)
        elif step.action in (Action.STOP_WORKER, Action.STOP_HOST):
            worker = step.action is Action.STOP_WORKER
            slot = (self._workers if worker else self._hosts)[target]
            if not self._at_work(slot) or slot.child is None:
                return False
            slot.child.signal(signal.SIGSTOP)
            slot.resume_at = now + (self.plan.stop_worker_s if worker else self._random.uniform(*self.plan.stop_host_s))
        elif step.action is Action.SPOIL:
            self.replayer.put_unreadable(int(target))
        elif self._broker_up or any(thread.is_alive() for thread in self._broker_threads):
            return False
        elif step.action is Action.STOP_BROKER:
            node = int(target)
            self.broker.pause(node)
            at = now + self._random.uniform(*self.plan.stop_broker_s)
            self._broker_up[node] = (at, partial(self.broker.resume, node))
        else:
            nodes = NODES if step.action is Action.OUTAGE else (int(target),)
            down = self._random.uniform(*_BROKER_DOWN_S)
            for place, node in enumerate(nodes):
                self.broker.kill(node)
                self._broker_up[node] = (now + down + 0.3 * place, partial(self._bring_back, node))
            if step.action is Action.OUTAGE:
                for slots in (self._workers, self._hosts):
                    slot = slots[self._random.choice(sorted(slots))]
                    if self._at_work(slot):
                        self._kill(slot, now)
        return True

    def _at_work(self, slot: Slot) -> bool:
        return slot.child is not None and slot.running() and slot.resume_at is None and not slot.expected

    def _kill(self, slot: Slot, now: float) -> None:
        if slot.child is not None:
            slot.child.kill()
        slot.expected = True
        slot.restart_at = now + self._random.uniform(*_RESTART_S)

    def _barrier(self, host: str) -> Path:
        return self.journals / f"{host}.cut-off"

    # -- keeping things going

    def _tend(self, slot: Slot, now: float, ended: Callable[[Slot], None]) -> None:
        if slot.child is None or slot.running():
            return
        if not slot.expected:
            ended(slot)
            slot.expected = True
            slot.restart_at = now + 1.0
        elif now >= slot.restart_at:
            slot.start()

    def _worker_ended(self, slot: Slot) -> None:
        assert slot.child is not None
        said = slot.child.said().splitlines()
        self.worker_ends.append(f"worker {slot.name}: {said[-1] if said else slot.child.process.returncode}")

    def _host_ended(self, slot: Slot) -> None:
        assert slot.child is not None
        # By its own hand is as planned; any other end is not.
        if (code := slot.child.process.returncode) != -signal.SIGKILL:
            self.faults.append(f"host {slot.name} ended with {code}: {slot.child.said()}")

    def _bring_back(self, node: int) -> None:
        try:
            self.broker.restart(node, _BROKER_START_S)
        except Exception as error:
            self.faults.append(f"broker {node} did not come back: {error}")

    def _settle(self) -> None:
        """Nothing is down, stopped or cut off any more."""
        slots = (*self._workers.values(), *self._hosts.values())
        while self._broker_up or self._cut_off or any(slot.resume_at is not None for slot in slots):
            self.tend()
            time.sleep(_TICK_S)
        for thread in self._broker_threads:
            thread.join(_BROKER_START_S)

    # -- starting

    def _environment(self) -> dict[str, str]:
        return {"KAFKA_BOOTSTRAP_SERVERS": self.broker.bootstrap, "UNMASK_NAMESPACE": self.topics.namespace}

    def _launch_host(self, name: str, number: int) -> Child:
        life, (shortest, longest) = f"{name}-{number}", self.plan.lease_s
        arguments = [
            *("--life", life, "--name", name, "--folder", str(self.journals), "--world", str(self.world)),
            *("--threads", str(self.plan.threads), "--leases", str(shortest), str(longest)),
            *("--epoch", str(self._epoch), "--seed", str(self._random.randrange(1 << 30))),
        ]
        return start(life, self.folder / f"host-{name}.log", "tests.chaos.effects.host", arguments, self._environment())

    def _launch_worker(self, name: str, number: int) -> Child:
        arguments = ["--instance", name, "--port", "0", "--no-page"]
        log = self.folder / f"worker-{name}.log"
        return start(f"{name}-{number}", log, "tests.chaos.effects.worker", arguments, self._environment())
