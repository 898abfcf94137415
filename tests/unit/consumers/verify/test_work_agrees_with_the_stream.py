"""Recoveries, delegations and the user's profile: the recount against the stream's own parts, on random histories."""

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.consumers.verify.hosts import Host, Log, at
from tests.unit.consumers.verify.stream_in_memory import InMemoryStream

from unmask.consumers.verify.outcome import Examined

Act = Callable[[Host, float, str], None]


def _selects(**said: Any) -> Act:
    return lambda host, second, session: host.selection(second, session, **said)


def _calls(**said: Any) -> Act:
    return lambda host, second, session: host.call(second, session, **said)


def _affects(**said: Any) -> Act:
    return lambda host, second, session: host.effect(second, session, **said)


def _drops(family: str) -> Act:
    return lambda host, second, session: host.drop(family)


DELEGATIONS = st.sampled_from(["d-1", "d-1", "d-2"])
INVOCATIONS = st.sampled_from(["i-1", "i-2"])
SELECTIONS = st.builds(
    _selects,
    turn=st.integers(0, 3),
    profile=st.sampled_from(["mini", "large"]),
    source=st.sampled_from(["user", "auto"]),
    scope=st.sampled_from(["turn", "window", "session"]),
    timeline=st.sampled_from(["live", "persisted", "cleared"]),
    cleared_by=st.sampled_from([None, "user", "runtime", "watchdog"]),
    reason_code=st.sampled_from([None, "timeout"]),
    emergency=st.booleans(),
    expires_at=st.sampled_from([None, at(5), at(200)]),
)
CALLS = st.builds(
    _calls,
    delegation_id=DELEGATIONS,
    invocation_id=INVOCATIONS,
    outcome=st.sampled_from(["succeeded", "succeeded", "succeeded", "failed", "refused"]),
    attempt=st.integers(1, 3),
    tokens=st.integers(0, 50),
    signal=st.sampled_from(["checks", "checks", "lint", None]),
    state_digest=st.sampled_from(["x", "x", "x", "y"]),
    conditions=st.sampled_from(["c", "c", "c2", None]),
    measure=st.sampled_from([None, 1, 2]),
    budget_calls=st.sampled_from([None, 3, 40]),
    budget_tokens=st.sampled_from([None, 60]),
    budget_attempts=st.sampled_from([None, 2]),
)
EFFECTS = st.builds(
    _affects,
    delegation_id=DELEGATIONS,
    invocation_id=INVOCATIONS,
    turn=st.integers(0, 40),
    step=st.sampled_from(["granted", "committed", "committed", "released", "refused", "appealed", "vindicated"]),
    enforcer=st.sampled_from([None, "gate", "effects"]),
    effect_key=st.sampled_from([None, "k-1", "k-1", "k-2"]),
    fencing_token=st.sampled_from([None, 1, 2]),
    receipt=st.sampled_from([None, "r-1", "r-2"]),
)


def _one_after_another(*acts: Act) -> Act:
    def all_of_them(host: Host, second: float, session: str) -> None:
        for number, act in enumerate(acts):
            act(host, second + 0.001 * number, session)

    return all_of_them


STANDSTILL = st.just(
    _one_after_another(
        *(_calls(state_digest=state, measure=None, budget_calls=None) for state in ("a", "b", *["b"] * 9))
    )
)
REFUSALS = st.integers(10, 25).map(lambda n: _one_after_another(*(_affects(turn=turn) for turn in range(1, n + 1))))
VANISHING = st.just(
    _one_after_another(
        _selects(turn=1, profile="large", source="user", scope="session", reason_code=None),
        _selects(turn=2, scope="session"),
        _selects(turn=3, profile="large", source="user", scope="session", reason_code=None),
    )
)
DROPS = st.sampled_from(["route_selection", "delegation_progress", "masked_error"]).map(_drops)
ACTS = st.lists(
    st.one_of(SELECTIONS, CALLS, EFFECTS, SELECTIONS, CALLS, EFFECTS, STANDSTILL, REFUSALS, VANISHING, DROPS),
    max_size=20,
)
BATCHES = st.tuples(ACTS, st.sampled_from([1.0, 4.0, 30.0]), st.sampled_from(["sent", "sent", "sent", "late", "lost"]))


def live(host: Host, session: str, batches: list[Any], *, ends: bool) -> list[tuple[float, dict[str, Any]]]:
    """A session's life on one host: when each of its batches arrives."""
    now = 0.2
    host.opening(now, session)
    arrivals = [(now, host.cut(now))]
    for acts, wait, fate in batches:
        for number, act in enumerate(acts):
            act(host, now + wait * (number + 1) / (len(acts) + 1), session)
        now += wait
        batch = host.cut(now)
        if fate != "lost":
            arrivals.append((now + (45.0 if fate == "late" else 0.0), batch))
    now += 1
    if ends:
        host.teardown(now, session)
    arrivals.append((now, host.cut(now, closing=True)))
    return arrivals


def compared(lives: list[tuple[str, list[Any], bool, int]], *, together: bool) -> Examined:
    """Each life on a host of its own, whose clock may be ahead by some seconds; `together` on one partition."""
    arrivals: list[tuple[float, int, dict[str, Any]]] = []
    for number, (session, batches, ends, ahead) in enumerate(lives):
        partition = 0 if together else number % 2
        told = live(Host(f"e-{number}", base=at(ahead)), session, batches, ends=ends)
        arrivals += [(second, partition, batch) for second, batch in told]
    log, stream = Log(), InMemoryStream()
    for second, partition, batch in sorted(arrivals, key=lambda arrival: arrival[0]):
        log.append(second, batch, partition)
    stream.feed(log.records)
    for later in (60.0, 61.0, 90.0):
        stream.publish(at(max(arrival[0] for arrival in arrivals) + later))
    return stream.compare(log)


SESSIONS = st.sampled_from(["s-1", "s-1", "s-2"])
ENDS = st.sampled_from([True, True, False])
AHEAD = st.sampled_from([0, 0, 0, 400])
LIVES = st.lists(st.tuples(SESSIONS, st.lists(BATCHES, min_size=1, max_size=4), ENDS, AHEAD), min_size=1, max_size=3)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(LIVES, st.booleans())
def test_what_stands_beside_a_verdict_is_what_the_stream_publishes(
    lives: list[tuple[str, list[Any], bool, int]], together: bool
) -> None:
    examined = compared(lives, together=together)
    assert [d for m in examined.mismatches if m.what == "verdict" for d in m.differences()] == []
