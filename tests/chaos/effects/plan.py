"""What a soak of the effects ledger does and when, from its length and seed; and what it must at least have done."""

import random
from dataclasses import asdict, dataclass
from enum import StrEnum

__all__ = ["DEFAULT_SECONDS", "FULL", "HOSTS", "WORKERS", "Action", "Minimums", "Plan", "Step", "make_plan"]

DEFAULT_SECONDS = 600
_SHORTEST = 60
WORKERS = ("a", "b", "c")
HOSTS = ("north", "east", "south", "west")


class Action(StrEnum):
    """Something that is done to a process, or to the log."""

    KILL_WORKER = "kill worker"
    STOP_WORKER = "stop worker"
    """SIGSTOP, for longer than the consumer group waits; then SIGCONT."""
    KILL_HOST = "kill host"
    STOP_HOST = "stop host"
    """SIGSTOP, for longer than leases; then SIGCONT."""
    RESTART_CUT_OFF = "restart cut off"
    """A host is killed, and begins its next life without a way to the brokers."""
    KILL_BROKER = "kill broker"
    STOP_BROKER = "stop broker"
    OUTAGE = "outage"
    """All brokers are killed at once; meanwhile a worker and a host are killed too, and start into it."""
    SPOIL = "spoil"
    """Unreadable requests."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing at one time, in seconds since the load began."""

    at: float
    action: Action
    target: str
    """Name of a worker or host, id of a broker, number of records."""


@dataclass(frozen=True, slots=True)
class Minimums:
    """What must have happened, or the run proves too little."""

    claims: int
    worker_kills: int
    worker_stops: int
    host_kills: int
    host_stops: int
    cut_off: int
    broker_kills: int
    outages: int
    replays: int
    unreadable: int
    deaths: int
    """Of hosts by their own hand, in the middle of a deed."""
    late_commits: int
    """Commits that were refused since their lease was over, or another's by then."""
    budget_spent: int
    overdue: int
    """Leases of which nobody said anything."""

    def less_than(self, others: "Minimums") -> dict[str, tuple[int, int]]:
        """Name to both numbers, of what is aimed at here less than there."""
        there = asdict(others)
        return {name: (n, there[name]) for name, n in asdict(self).items() if n < there[name]}


FULL = Minimums(
    claims=12_000, worker_kills=20, worker_stops=4, host_kills=20, host_stops=12, cut_off=3, broker_kills=3, outages=1,
    replays=1_000, unreadable=40, deaths=20, late_commits=50, budget_spent=100, overdue=200,
)  # fmt: skip
"""What a run of the default length must have done."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole run."""

    seconds: int
    seed: int
    steps: tuple[Step, ...]
    minimums: Minimums
    threads: int = 6
    """Of each host."""
    lease_s: tuple[float, float] = (0.6, 4.0)
    """Shortest and longest lease."""
    stop_worker_s: float = 10.0
    stop_host_s: tuple[float, float] = (3.0, 8.0)
    stop_broker_s: tuple[float, float] = (4.0, 8.0)
    cut_off_s: tuple[float, float] = (3.0, 8.0)
    replays_per_second: float = 4.0
    ended_within_s: float = 120.0
    """So long after its time a lease must have been found over, whatever was down or stopped then."""


def make_plan(seconds: int, seed: int) -> Plan:
    """The plan. Minimums shrink with the length. Raises ValueError where there is too little time for anything."""
    if seconds < _SHORTEST:
        raise ValueError(f"a soak of less than {_SHORTEST} s has no time for what it must do")
    draw = random.Random(seed)
    share = seconds / DEFAULT_SECONDS

    def scaled(most: int, least: int = 1) -> int:
        return max(least, round(most * share))

    aims = {name: scaled(most) for name, most in asdict(FULL).items()}
    # Three brokers that start at once need a while, which a short run does not have.
    aims["outages"] = int(share)
    minimums = Minimums(**aims)
    steps: list[Step] = []

    def spread(count: int, action: Action, targets: tuple[str, ...], first: float, last: float) -> None:
        # One in each of as many equal parts: never all at once, and never foreseeable.
        part = (last - first) / max(1, count)
        order = [name for _ in range(count // len(targets) + 1) for name in draw.sample(targets, len(targets))]
        steps.extend(Step(first + part * (n + draw.random()), action, name) for n, name in enumerate(order[:count]))

    spread(minimums.worker_kills + 2, Action.KILL_WORKER, WORKERS, 6, seconds - 5)
    spread(minimums.worker_stops + 1, Action.STOP_WORKER, WORKERS, 10, seconds - 20)
    spread(minimums.host_kills + 2, Action.KILL_HOST, HOSTS, 6, seconds - 2)
    spread(minimums.host_stops + 1, Action.STOP_HOST, HOSTS, 8, seconds - 10)
    spread(minimums.cut_off, Action.RESTART_CUT_OFF, HOSTS, 10, seconds - 15)
    spread(minimums.broker_kills, Action.KILL_BROKER, ("1", "2", "3"), 15, seconds - 30)
    spread(scaled(2, 0), Action.STOP_BROKER, ("1", "2", "3"), 20, seconds - 30)
    spread(minimums.outages, Action.OUTAGE, ("all",), 0.4 * seconds, 0.7 * seconds)
    spread(scaled(4), Action.SPOIL, (str(-(-minimums.unreadable // scaled(4)) + 2),), 5, seconds - 5)
    return Plan(seconds, seed, tuple(sorted(steps, key=lambda step: step.at)), minimums)
