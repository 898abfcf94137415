"""The recount against the stream's own pure parts on random histories: two readings of one contract must agree."""

from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.consumers.verify.hosts import BLUE, GREEN, Host, Log, at
from tests.unit.consumers.verify.stream_in_memory import InMemoryStream

from unmask.consumers.verify.outcome import Examined, Mismatch
from unmask.consumers.verify.rules import RecountRules
from unmask.schemas.windowing import MICROS

SIZES = (60, 3600, 0)


@dataclass(frozen=True)
class Step:
    """What a host does before it cuts a batch, and what becomes of that."""

    wait: float
    attempts: int
    fallbacks: int
    masked: int
    drops: int
    back: float
    work: str
    fate: str
    delay: float


STEPS = st.builds(
    Step,
    # The last one is longer than an unreadable record may spoil.
    wait=st.sampled_from([0.5, 1.0, 7.0, 25.0, 55.0, 130.0, 5_000.0]),
    attempts=st.integers(0, 4),
    fallbacks=st.integers(0, 2),
    masked=st.integers(0, 1),
    drops=st.sampled_from([0, 0, 0, 1]),
    back=st.sampled_from([0.0, 0.0, 3.0]),
    work=st.sampled_from(["", "", "", "tells", "selects", "calls", "effects", "drops"]),
    fate=st.sampled_from(["sent", "sent", "sent", "late", "lost", "twice", "garbled", "altered", "usurped"]),
    delay=st.sampled_from([2.0, 40.0, 200.0, 5_000.0]),
)
HISTORIES = st.lists(
    st.tuples(st.lists(STEPS, min_size=1, max_size=8), st.booleans(), st.booleans()), min_size=1, max_size=3
)


def play(histories: list[tuple[list[Step], bool, bool]]) -> list[tuple[float, int, str, object]]:
    """Arrivals in the order of the broker's time: when, on which partition, under which key, what."""
    arrivals: list[tuple[float, int, str, object]] = []
    for number, (steps, closes, green) in enumerate(histories):
        host = Host(f"e-{number}", GREEN if green else BLUE)
        now = 0.1
        for index, step in enumerate(steps):
            now += step.wait
            host.attempt(*[now - step.back - 0.01 * n for n in range(step.attempts)]) if step.attempts else None
            for _ in range(step.fallbacks):
                host.fallback(now - step.back)
            for _ in range(step.masked):
                host.masked(now - step.back, f"s-{number}", f"op-{index}")
            if step.drops:
                host.drop("kernel_fallback", step.drops)
            work(host, step.work, now - step.back, f"s-{number}")
            batch = host.cut(now, closing=closes and index == len(steps) - 1)
            if step.fate == "garbled":
                arrivals.append((now, number % 2, host.emitter_id, b"garbled"))
            elif step.fate != "lost":
                arrivals.append((now + (step.delay if step.fate == "late" else 0), number % 2, host.emitter_id, batch))
            if step.fate == "twice":
                arrivals.append((now + step.delay, number % 2, host.emitter_id, batch))
            elif step.fate == "altered":
                other = {**batch, "route_attempts": [], "kernel_fallbacks": [], "sent_at": batch["sent_at"] + 1}
                arrivals.append((now + step.delay, number % 2, host.emitter_id, other))
            elif step.fate == "usurped":
                life = {**batch["emitter"], "started_at": batch["emitter"]["started_at"] + 1}
                scope = (GREEN if index % 2 else BLUE)._asdict()
                arrivals.append(
                    (now + step.delay, number % 2, host.emitter_id, {**batch, "emitter": life | {"scope": scope}})
                )
    return sorted(arrivals, key=lambda arrival: arrival[0])


def work(host: Host, what: str, second: float, session: str) -> None:
    """What only some hosts tell of; from then on they say that they do."""
    if what == "selects":
        host.selection(second, session)
    elif what == "calls":
        host.call(second, session)
    elif what == "effects":
        host.effect(second, session, enforcer=None if int(second) % 2 else "gate")
    elif what == "drops":
        host.drop("route_selection")
    if what == "tells" or what == "selects":
        host.witnesses.add("route_selection")
    elif what in ("calls", "effects"):
        host.witnesses |= {"delegation_progress", "delegation_effect"}


def run(histories: list[tuple[list[Step], bool, bool]], pauses: list[float], after: float) -> tuple[Log, Examined]:
    """Feeds the stream with marks at several times on the way, as a live one has them, then compares."""
    log, stream = Log(), InMemoryStream()
    arrivals = play(histories)
    fed = 0
    for second, partition, key, what in arrivals:
        while pauses and pauses[0] < second:
            stream.feed(log.records[fed:])
            fed = len(log.records)
            stream.publish(at(pauses.pop(0)))
        log.append(second, what, partition, key)  # type: ignore[arg-type]
    stream.feed(log.records[fed:])
    last = arrivals[-1][0] if arrivals else 0.0
    # One more look after the last record, as a stream that goes on has: what a record changed is settled by it.
    stream.publish(at(last + after))
    stream.publish(at(last + after + 0.5))
    return log, stream.compare(log, RecountRules(window_seconds=SIZES))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(HISTORIES, st.lists(st.floats(1, 600), max_size=4).map(sorted), st.sampled_from([0.5, 8.0, 70.0, 4_000.0]))
def test_windows_evidence_and_counts_are_what_the_stream_publishes(
    histories: list[tuple[list[Step], bool, bool]], pauses: list[float], after: float
) -> None:
    _, examined = run(histories, pauses, after)
    assert [d for m in examined.mismatches if m.what == "window" and not healed_away(m) for d in m.differences()] == []


def healed_away(mismatch: Mismatch) -> bool:
    """The record of a scope that had nothing in a window but a flaw, which healed: it stands as it was."""
    stands = mismatch.published
    if mismatch.recounted is not None or stands is None:
        return False
    return not any(value for name, value in stands.items() if not name.startswith("evidence."))


@dataclass(frozen=True)
class Part:
    """One batch of a session's life on a host."""

    wait: float
    opens: bool
    masked: tuple[tuple[int, str, bool], ...]
    fallbacks: tuple[int | None, ...]
    ends: tuple[str, int, int] | None
    claims: bool
    drops: bool
    work: str
    fate: str
    delay: float


PARTS = st.builds(
    Part,
    wait=st.sampled_from([0.5, 3.0, 20.0, 45.0]),
    opens=st.booleans(),
    masked=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["HTTP_503", "HTTP_500", "TIMEOUT"]), st.booleans()), max_size=2
    ).map(tuple),
    fallbacks=st.lists(st.one_of(st.none(), st.integers(0, 3)), max_size=2).map(tuple),
    ends=st.one_of(
        st.none(), st.tuples(st.sampled_from(["success", "success", "failure"]), st.integers(0, 30), st.integers(0, 3))
    ),
    claims=st.booleans(),
    drops=st.sampled_from([False, False, False, True]),
    work=st.sampled_from(["", "", "", "selects", "calls", "effects", "drops"]),
    fate=st.sampled_from(["sent", "sent", "sent", "late", "lost", "twice"]),
    delay=st.sampled_from([2.0, 40.0, 200.0]),
)


def live(host: Host, session: str, parts: list[Part], closes: bool) -> list[tuple[float, dict[str, Any]]]:
    """A session's life on one host: when each of its batches arrives."""
    arrivals, now = [], host.started + 0.1
    host.opening(now, session)
    arrivals.append((now, host.cut(now)))
    for number, part in enumerate(parts):
        now += part.wait
        if part.opens:
            host.opening(now - 0.2, session)
        for operation, signature, equal in part.masked:
            equivalence = "bit_for_bit" if equal else "unproven"
            host.masked(
                now - 0.1, session, f"op-{operation}", masked_upstream_signature=signature, equivalence=equivalence
            )
        for place in part.fallbacks:
            host.fallback(now - 0.1, session_id=session, operation_id=None if place is None else f"op-{place}")
        if part.drops:
            host.drop("masked_error")
        work(host, part.work, now - 0.1, session)
        if part.ends is not None:
            claims = [{"family": "masked_error", "count": 1}] if part.claims else []
            outcome, operations, degraded = part.ends
            host.teardown(now, session, operations, degraded, outcome=outcome, claims=claims)
        batch = host.cut(now, closing=closes and number == len(parts) - 1)
        if part.fate != "lost":
            arrivals.append((now + (part.delay if part.fate == "late" else 0), batch))
        if part.fate == "twice":
            arrivals.append((now + part.delay, batch))
    return arrivals


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.lists(PARTS, min_size=1, max_size=5), st.booleans()), min_size=1, max_size=2),
    st.lists(st.floats(1, 300), max_size=3).map(sorted),
    st.sampled_from([0.5, 100.0]),
    st.booleans(),
    st.booleans(),
)
def test_verdicts_are_what_the_stream_publishes(
    lives: list[tuple[list[Part], bool]], pauses: list[float], after: float, shared: bool, together: bool
) -> None:
    """Sessions of their own or `shared` by all hosts, which send to partitions of their own or `together` to one."""
    arrivals: list[tuple[float, int, dict[str, Any]]] = []
    for number, (parts, closes) in enumerate(lives):
        host = Host(f"e-{number}")
        session, partition = "s-0" if shared else f"s-{number}", 0 if together else number % 2
        arrivals += [(second, partition, batch) for second, batch in live(host, session, parts, closes)]
    log, stream, fed = Log(), InMemoryStream(), 0
    for second, partition, batch in sorted(arrivals, key=lambda arrival: arrival[0]):
        while pauses and pauses[0] < second:
            stream.feed(log.records[fed:])
            fed = len(log.records)
            stream.publish(at(pauses.pop(0)))
        log.append(second, batch, partition)
    stream.feed(log.records[fed:])
    last = (log.records[-1].arrival - at(0)) / MICROS
    stream.publish(at(last + after))
    stream.publish(at(last + after + 0.5))
    examined = stream.compare(log, RecountRules(window_seconds=SIZES))
    assert [d for m in examined.mismatches if m.what == "verdict" for d in m.differences()] == []
