"""What a soak does and when, from its length and its seed alone; and what it must at least have done at its end."""

import random
from dataclasses import asdict, dataclass
from enum import StrEnum

__all__ = ["DEFAULT_SECONDS", "FULL", "HOSTS", "WORKERS", "Action", "HostPlan", "Minimums", "Plan", "Step", "make_plan"]

DEFAULT_SECONDS = 600
_SHORTEST = 60
WORKERS = ("a", "b", "c")


class Action(StrEnum):
    """Something that is done to a process, or to the log."""

    KILL_WORKER = "kill worker"
    STOP_WORKER = "stop worker"
    """SIGSTOP, for longer than the consumer group waits; then SIGCONT."""
    KILL_HOST = "kill host"
    END_HOST = "end host"
    """In order; another life follows."""
    KILL_BROKER = "kill broker"
    CUT_OFF = "cut off"
    """The host that is cut off goes on without the brokers."""
    RETURN = "return"
    SPOIL = "spoil"
    """Unreadable records."""


@dataclass(frozen=True, slots=True)
class HostPlan:
    """One host."""

    name: str
    release_line: str
    skew_s: float = 0.0
    """How far its clock is ahead."""
    away: bool = False
    """Whether it is the one that is cut off."""


# Whose clock is minutes wrong has a release line of its own: it keeps that line's windows from being COMPLETE, or has
# them counted by the broker's time, and the others are to be looked at undisturbed.
HOSTS = (
    HostPlan("even-1", "main"),
    HostPlan("even-2", "main"),
    HostPlan("early", "main", skew_s=15.0),
    HostPlan("late", "behind", skew_s=-150.0),
    HostPlan("future", "ahead", skew_s=400.0),
    HostPlan("away", "main", away=True),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing at one time, in seconds since the load began."""

    at: float
    action: Action
    target: int | str
    """Name of a worker or host, id of a broker, number of records."""


@dataclass(frozen=True, slots=True)
class Minimums:
    """What must have happened, or the run proves too little."""

    events: int
    worker_kills: int
    worker_stops: int
    host_kills: int
    broker_kills: int
    replays: int
    unreadable: int

    def less_than(self, others: "Minimums") -> dict[str, tuple[int, int]]:
        """Name to both numbers, of what is aimed at here less than there."""
        there = asdict(others)
        return {name: (n, there[name]) for name, n in asdict(self).items() if n < there[name]}


FULL = Minimums(
    events=1_000_000, worker_kills=20, worker_stops=2, host_kills=20, broker_kills=3, replays=1_000, unreadable=60
)
"""What a run of the default length must have done."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole run."""

    seconds: int
    seed: int
    steps: tuple[Step, ...]
    minimums: Minimums
    away_s: int
    """How long the host is cut off."""
    rate: float
    """Events per second of one host."""
    window_seconds: tuple[int, ...] = (5, 30)
    grace_ms: int = 3_000
    session_timeout_ms: int = 6_000
    stop_s: float = 10.0
    """How long a worker is stopped."""
    replays_per_second: float = 4.0

    @property
    def open_horizon_s(self) -> int:
        """How long cells stay open: much less than the host is cut off."""
        return self.away_s // 3

    @property
    def write_off_s(self) -> int:
        """How long a silent emitter's windows stay LOSSY: longer than the host is cut off."""
        return self.away_s + 45


def make_plan(seconds: int, seed: int) -> Plan:
    """The plan. Minimums shrink with the length. Raises ValueError where there is too little time for anything."""
    if seconds < _SHORTEST:
        raise ValueError(f"a soak of less than {_SHORTEST} s has no time for what it must do")
    draw = random.Random(seed)
    share = seconds / DEFAULT_SECONDS

    def scaled(most: int, least: int = 1) -> int:
        return max(least, round(most * share))

    minimums = Minimums(
        events=scaled(FULL.events), worker_kills=scaled(FULL.worker_kills), worker_stops=scaled(FULL.worker_stops),
        host_kills=scaled(FULL.host_kills), broker_kills=scaled(FULL.broker_kills), replays=scaled(FULL.replays),
        unreadable=scaled(FULL.unreadable, 10),
    )  # fmt: skip
    leave, away_s = 0.3 * seconds, round(max(30.0, 0.15 * seconds))
    steps = [Step(leave, Action.CUT_OFF, "away"), Step(leave + away_s, Action.RETURN, "away")]
    workers, hosts = list(WORKERS), [host.name for host in HOSTS]

    def spread(count: int, action: Action, targets: list[str], first: float, last: float) -> None:
        # One in each of as many equal parts: never all at once, and never foreseeable.
        part = (last - first) / count
        order = [name for _ in range(count // len(targets) + 1) for name in draw.sample(targets, len(targets))]
        steps.extend(
            Step(first + part * (n + draw.random()), action, name) for n, name in enumerate(order[:count])
        )  # fmt: skip

    spread(minimums.worker_kills + 2, Action.KILL_WORKER, workers, 8, seconds - 5)
    spread(minimums.worker_stops + 1, Action.STOP_WORKER, workers, 12, seconds - 20)
    spread(minimums.host_kills + 2, Action.KILL_HOST, hosts, 8, seconds - 2)
    spread(max(2, round(8 * share)), Action.END_HOST, hosts, 15, seconds - 10)
    spread(minimums.broker_kills, Action.KILL_BROKER, ["1", "2", "3"], 15, seconds - 30)
    bursts = scaled(3)
    for n in range(bursts):
        # The unreadable spoil every window that they may have told of, so that they come together.
        at = seconds * (n + draw.uniform(0.2, 0.8)) / bursts
        steps.append(Step(at, Action.SPOIL, -(-minimums.unreadable // bursts) + 5))
    return Plan(
        seconds, seed, tuple(sorted(steps, key=lambda step: step.at)), minimums, away_s, 2_200 / len(HOSTS)
    )  # fmt: skip
