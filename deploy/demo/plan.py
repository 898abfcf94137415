"""What happens and when: the upstream's behaviour, the hosts' sessions, the kill. Times are seconds since the start.

The start is the beginning of a window, so that the plan may speak of windows. Every process of the demo computes the
same plan from its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["PLANS", "WINDOW_S", "Behaviour", "HostPlan", "Phase", "Plan", "SessionPlan"]

WINDOW_S = 10
"""Size of the windows that the demo looks at."""


class Behaviour(StrEnum):
    """What the upstream does with a request."""

    ANSWERS = "answers"
    TIMES_OUT = "times out"
    REFUSES = "refuses connections"
    RATE_LIMITS = "rate-limits (429)"
    FAILS = "fails (503)"


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of time in which the upstream behaves in one way."""

    behaviour: Behaviour
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """A session of one host; without a substitute it gives up after a few failures in a row."""

    session_id: str
    capability: str
    begin: float
    end: float
    substitute: bool = True


@dataclass(frozen=True, slots=True)
class HostPlan:
    """One host: what it does between its sessions, and in them."""

    name: str
    capability: str
    """Of the requests that belong to no session."""
    sessions: tuple[SessionPlan, ...]
    killed_at: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole demo."""

    phases: tuple[Phase, ...]
    hosts: tuple[HostPlan, ...]
    hosts_stop: float
    """When the last session is over and hosts close; within the last window, so that it closes soon."""

    @property
    def length(self) -> float:
        """End of the last phase, which is the end of a window."""
        return self.phases[-1].end

    def behaviour_at(self, elapsed: float) -> Behaviour:
        """The upstream's behaviour; outside the plan it answers."""
        for phase in self.phases:
            if phase.begin <= elapsed < phase.end:
                return phase.behaviour
        return Behaviour.ANSWERS

    def host(self, name: str) -> HostPlan:
        """The host of that name. Raises KeyError."""
        return {host.name: host for host in self.hosts}[name]

    @property
    def capabilities(self) -> list[str]:
        """All capabilities that hosts have."""
        return sorted({session.capability for host in self.hosts for session in host.sessions})

    @property
    def victim(self) -> HostPlan:
        """The host that is killed."""
        return next(host for host in self.hosts if host.killed_at is not None)


def _plan(ends: Mapping[Behaviour, float], end: float, killed_at: float) -> Plan:
    """`ends` says when each behaviour is over, in their order; then the upstream has recovered, until `end`."""
    phases, begin = [], 0.0
    for behaviour, over in ends.items():
        phases.append(Phase(behaviour, begin, over))
        begin = over
    phases.append(Phase(Behaviour.ANSWERS, begin, end))
    calm, slow, down, busy, broken, back = phases
    stop = end - 1.5
    sessions = {
        "search-1": (
            SessionPlan("search-calm", "retrieval", 0.4, calm.end - 1.0),
            SessionPlan("search-slow", "retrieval", slow.begin + 0.2, slow.end - 0.4),
            SessionPlan("search-back", "retrieval", back.begin + 0.4, stop),
        ),
        "search-2": (SessionPlan("search-cut", "retrieval", killed_at - 1.5, end),),
        "answer-1": (
            SessionPlan("answer-long", "answer", 0.5, down.end - 0.5),
            SessionPlan("answer-limits", "answer", busy.begin + 0.2, broken.end - 0.5),
        ),
        # Begins just before the recovery, so that very few of its operations are degraded.
        "answer-2": (SessionPlan("answer-edge", "answer", broken.end - 0.25, stop),),
        "tools-1": (
            SessionPlan("tools-calm", "tool_call", 0.5, calm.end - 1.1),
            SessionPlan("tools-broken", "tool_call", busy.begin + 0.3, broken.end, substitute=False),
        ),
    }
    hosts = tuple(
        HostPlan(name, planned[0].capability, planned, killed_at if name == "search-2" else None)
        for name, planned in sessions.items()
    )
    return Plan(tuple(phases), hosts, stop)


PLANS: Mapping[str, Plan] = {
    "full": _plan(
        {
            Behaviour.ANSWERS: 14.0,
            Behaviour.TIMES_OUT: 22.0,
            Behaviour.REFUSES: 29.0,
            Behaviour.RATE_LIMITS: 35.0,
            Behaviour.FAILS: 40.0,
        },
        end=50.0,
        killed_at=12.0,
    ),
    "short": _plan(
        {
            Behaviour.ANSWERS: 13.0,
            Behaviour.TIMES_OUT: 17.0,
            Behaviour.REFUSES: 20.0,
            Behaviour.RATE_LIMITS: 22.5,
            Behaviour.FAILS: 25.0,
        },
        end=30.0,
        killed_at=12.0,
    ),
}
"""`full` is what people see; `short` is the same story for tests. The kill comes early in its window, so that the
emitter's silence ends in the same window, and while the upstream answers, so that attempts die with the host."""
