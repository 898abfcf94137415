"""The tables as a process: fed by hand, killed, restarted, doubled."""

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.session_parts import delegation, refusal, selection
from tests.table_records import BLUE, masked, session_tally, teardown, window_evidence
from tests.tables_on_kafka import PARTITIONS, Stream, WorkerProcess, eventually

from unmask.schemas import keys
from unmask.schemas.kafka import producer_config
from unmask.schemas.partitioner import partition_for
from unmask.schemas.verdict_digest import verify_digest
from unmask.schemas.windowing import MICROS

pytestmark = pytest.mark.integration

Start = Callable[..., WorkerProcess]
Minute = Callable[[int], int]


def tally(measure: str, count: int, start: int, *, seconds: int = 60, offset: int = 10, code: str = "-") -> Any:
    capability = "search" if measure in ("route_attempt", "kernel_fallback") else "-"
    record = {
        "partition": 0, "offset": offset, "window_start": start, "window_seconds": seconds, "scope": BLUE._asdict(),
        "measure": measure, "capability": capability, "code": code, "count": count, "sessions": [], "correction": None,
    }  # fmt: skip
    return keys.tally_key(0, start, seconds, BLUE, measure, capability, code), record


def grown(measure: str, count: int, *, capability: str, code: str = "-") -> Callable[[int, int], Any]:
    """A cell of a measure that was added, for the window that is given."""

    def at_window(start: int, seconds: int) -> Any:
        _, record = tally(measure, count, start, seconds=seconds)
        key = keys.tally_key(0, start, seconds, BLUE, measure, capability, code)
        return key, {**record, "capability": capability, "code": code}

    return at_window


def now() -> int:
    return int(time.time() * MICROS)


def mark(through: int, *, offset: int = 100, live: bool = True) -> Any:
    scopes = [{"scope": BLUE._asdict(), "accounted_through": through, "emitters": 1}] if live else []
    return keys.mark_key(0), {
        "partition": 0, "partitions": 1, "offset": offset, "read_through": through, "grace_ms": 5000, "scopes": scopes,
        "unaccounted": [], "unaccounted_total": 0,
    }  # fmt: skip


def flaw(start: int) -> Any:
    return keys.flaw_key(0, start, 60, BLUE, "e1", 3, 5, "gap"), {
        "partition": 0, "offset": 10, "window_start": start, "window_seconds": 60, "scope": BLUE._asdict(),
        "emitter_id": "e1", "from_seq": 3, "to_seq": 5, "cause": "gap", "losses": [],
    }  # fmt: skip


def whole(start: int) -> str:
    return keys.window_key(start, 60, None, None)


def attempts(stream: Stream, start: int) -> int | None:
    record = stream.newest("window").get(whole(start))
    return None if record is None else record["attempts"]


def states(stream: Stream, start: int) -> set[str]:
    record = stream.newest("window").get(whole(start))
    return set() if record is None else {entry["state"] for entry in record["evidence"]}


def degraded(session_id: str, **parts: Any) -> dict[str, Any]:
    return session_tally(
        session_id, degraded=["a"], masked=[masked("a")], unreachable=1, **{"teardowns": [teardown(4, 1)], **parts}
    )


def test_tallies_become_windows_with_evidence_and_a_healed_gap_heals_them(
    stream: Stream, worker: Start, minute: Minute
) -> None:
    running = worker().wait_ready()
    stream.tally(tally("emitters", 1, minute(0)), tally("route_attempt", 7, minute(0), code="api"), flaw(minute(0)))
    eventually(lambda: attempts(stream, minute(0)) == 7)
    assert states(stream, minute(0)) == {"PENDING"}
    stream.tally(mark(minute(1) + 5 * MICROS))
    eventually(lambda: states(stream, minute(0)) == {"LOSSY"})
    eventually(lambda: [a for a in stream.newest("alert").values() if a["kind"] == "TELEMETRY_LOSS"])
    stream.tally(flaw(minute(0)), remove=True)
    eventually(lambda: states(stream, minute(0)) == {"COMPLETE"})
    eventually(lambda: [a["state"] for a in stream.newest("alert").values()] == ["RESOLVED"])
    assert running.end() == 0


def test_a_killed_worker_s_successor_publishes_nothing_twice_and_misses_nothing(
    stream: Stream, worker: Start, minute: Minute
) -> None:
    first = worker().wait_ready()
    for n in range(8):
        stream.tally(tally("emitters", 1, minute(n)), tally("route_attempt", n, minute(n), code="api"))
    stream.tally(mark(now()))
    stream.session(degraded("s1"))
    eventually(lambda: all(states(stream, minute(n)) == {"COMPLETE"} for n in range(8)))
    eventually(lambda: "s1" in stream.newest("verdict"))
    time.sleep(1)
    before = {name: len(stream.read(name)) for name in ("window", "verdict", "alert")}
    first.end(signal.SIGKILL)
    # While nobody works, the ledger goes on.
    stream.tally(tally("route_attempt", 50, minute(3), code="api", offset=20))
    stream.session(degraded("s2"))
    worker().wait_ready()
    eventually(lambda: attempts(stream, minute(3)) == 50)
    eventually(lambda: "s2" in stream.newest("verdict"))
    time.sleep(1)
    after = {name: len(stream.read(name)) for name in ("window", "verdict", "alert")}
    # The changed window is three records: the whole, its scope, its capability.
    assert after == {"window": before["window"] + 3, "verdict": before["verdict"] + 1, "alert": before["alert"] + 1}


def test_two_workers_share_the_partitions_and_one_takes_over_when_the_other_is_killed(
    stream: Stream, worker: Start, minute: Minute
) -> None:
    one = worker().wait_ready()
    other = worker().wait_ready()
    share = "unmask_tables_partitions"
    eventually(lambda: {one.metrics()[share], other.metrics()[share]} == {1.0, 2.0})
    eventually(lambda: not one.not_ready() and not other.not_ready())
    for n in range(9):
        stream.tally(tally("emitters", 1, minute(n)), tally("route_attempt", n, minute(n), code="api"))
    stream.tally(mark(now()))
    eventually(lambda: all(states(stream, minute(n)) == {"COMPLETE"} for n in range(9)))
    one.end(signal.SIGKILL)
    for n in range(9):
        stream.tally(tally("route_attempt", 100 + n, minute(n), code="api", offset=20))
    eventually(lambda: all(attempts(stream, minute(n)) == 100 + n for n in range(9)), 60)
    assert other.metrics()[share] == PARTITIONS
    assert other.end() == 0


def test_what_an_aborted_transaction_wrote_is_not_seen(stream: Stream, worker: Start, minute: Minute) -> None:
    worker().wait_ready()
    stream.tally(tally("emitters", 1, minute(0)), flaw(minute(0)), mark(minute(1) + 5 * MICROS))
    eventually(lambda: states(stream, minute(0)) == {"LOSSY"})
    aborting = Producer(producer_config(stream.bootstrap, transactional_id=f"{stream.topics.namespace}.test"))
    aborting.init_transactions(20)
    aborting.begin_transaction()
    stream.tally(flaw(minute(0)), remove=True, producer=aborting)
    stream.tally(tally("route_attempt", 9, minute(0), code="api"), producer=aborting)
    aborting.abort_transaction(20)
    stream.tally(tally("emitters", 2, minute(0), offset=11))
    eventually(lambda: stream.newest("window")[whole(minute(0))]["emitters"] == 2)
    assert (states(stream, minute(0)), attempts(stream, minute(0))) == ({"LOSSY"}, 0)


def test_a_record_that_cannot_be_read_is_counted_and_the_next_one_is_taken_in(
    stream: Stream, worker: Start, minute: Minute
) -> None:
    stream.raw(stream.topics.tallies.name, 0, b"c|0", b"no record at all")
    running = worker().wait_ready()
    for partition in range(PARTITIONS):
        stream.raw(stream.topics.tallies.name, partition, b"c|0", b"\xc3\x01nonsense")
    stream.tally(tally("emitters", 1, minute(0)))
    eventually(lambda: stream.newest("window"))
    assert running.metrics()['unmask_tables_undecodable{topic="tallies"}'] == PARTITIONS + 1
    assert "nonsense" not in running.log
    assert not running.ended()


def test_a_successor_inherits_across_partitions_until_the_directive_is_carried_out(
    stream: Stream, worker: Start
) -> None:
    # Session ids whose verdicts lie on different partitions.
    first = "predecessor"
    second = next(f"s{n}" for n in range(99) if partition_for(f"s{n}", PARTITIONS) != partition_for(first, PARTITIONS))
    worker().wait_ready()
    stream.session(session_tally(second, predecessor_session_id=first, teardowns=[teardown(4)]))
    eventually(lambda: stream.newest("verdict").get(second, {}).get("verdict") == "CLEAN_SUCCESS")
    stream.session(degraded(first))
    inherited = eventually(lambda: [v for v in [stream.newest("verdict")[second]] if v["inherited_from"] == [first]])
    assert (inherited[0]["verdict"], inherited[0]["directive"]) == ("DEGRADED_SUCCESS", "PROBE_UPSTREAM_BEFORE_ACTION")
    left = stream.newest("verdict")[first]
    assert verify_digest(left)
    eventually(lambda: stream.newest("alert").get(f"DEGRADED_SESSION|{first}", {}).get("state") == "FIRING")
    stream.admission(
        {
            "admission_id": "a1", "session_id": first, "step": "RECONCILED", "answer": "RECONCILE_FIRST",
            "mutating": True, "occurred_at": int(time.time()) * MICROS, "verdict_digest": left["digest"],
            "directive": left["directive"], "successor_session_id": second, "by": None, "reason_code": None,
            "signature": None,
        }
    )  # fmt: skip
    eventually(lambda: stream.newest("verdict")[second]["verdict"] == "CLEAN_SUCCESS")
    eventually(lambda: stream.newest("alert")[f"DEGRADED_SESSION|{first}"]["state"] == "RESOLVED")


def test_recoveries_and_delegations_become_windows_alerts_and_findings(
    stream: Stream, worker: Start, minute: Minute
) -> None:
    running = worker().wait_ready()
    counted = {"capability": "-", "code": "succeeded"}
    new = [
        grown("witnesses", 1, capability="delegation_progress"),
        grown("delegation_progress", 54, **counted),
        grown("delegation_effect", 21, capability="effects", code="refused"),
        grown("route_selection", 3, capability="auto", code="live"),
    ]
    stream.tally(tally("emitters", 1, minute(0)), *(one(minute(0), 60) for one in new), mark(minute(1) + 5 * MICROS))
    stream.tally(*(one(0, 0) for one in new))
    eventually(lambda: "COMPLETE" in states(stream, minute(0)))
    window = stream.newest("window")[whole(minute(0))]
    evidence = window_evidence(window)
    assert evidence["delegation_progress"] == "COMPLETE"
    assert "route_selection" not in evidence
    assert (window["delegation_calls"], window["selections"]) == ({"succeeded": 54}, {"auto.live": 3})
    assert window["delegation_effects"] == {"effects.refused": 21}

    drift = [
        selection("fast", 1, source="user", scope="session"),
        selection("safe", 2, reason_code="timeout"),
        selection("safe", 3),
    ]
    stuck = delegation(
        tripped=True, trips=1, calls=54, succeeded=54, unchanged=53, longest_unchanged=53, blocked_turns=107,
        longest_blocked=107, refusals=[refusal("effects", 107)],
    )  # fmt: skip
    told = {"selections": drift, "selections_total": 3, "delegations": [stuck]}
    stream.session(session_tally("s1", **told))
    expected = {
        "PREFERENCE_DRIFT|s1": "FIRING", "STALLED_DELEGATION|s1|d1": "FIRING", "ENFORCEMENT_BLOCKED|s1|d1": "FIRING",
    }  # fmt: skip
    eventually(lambda: {key: alert["state"] for key, alert in stream.newest("alert").items()} == expected)
    assert stream.newest("verdict") == {}
    cleared = selection("safe", 4, timeline="cleared", cleared_by="runtime")
    told |= {"selections": [*drift, cleared], "selections_total": 4}
    stream.session(session_tally("s1", **told, offset=11, teardowns=[teardown(9)]))
    verdict = eventually(lambda: stream.newest("verdict").get("s1"))
    assert verify_digest(verdict)
    assert (verdict["verdict"], verdict["user_profile"]) == ("CLEAN_SUCCESS", "fast")
    assert verdict["findings"] == ["PREFERENCE_DRIFT", "STALLED_DELEGATION", "ENFORCEMENT_BLOCKED"]
    assert [entry["delegation_id"] for entry in verdict["delegations"]] == ["d1"]
    eventually(lambda: stream.newest("alert")["PREFERENCE_DRIFT|s1"]["state"] == "RESOLVED")
    name = 'unmask_delegation_effects_total{composition="%s",enforcer="effects",release_line="r1",step="refused"}'
    eventually(lambda: running.metrics().get(name % BLUE.composition) == 21.0)


def test_all_workers_show_the_same_totals_and_a_restart_does_not_reset_them(stream: Stream, worker: Start) -> None:
    one = worker("--capabilities", "search").wait_ready()
    name = 'unmask_capability_fallbacks_total{capability="search",reason_code="timeout"}'
    assert one.metrics()[name] == 0.0
    stream.tally(tally("emitters", 1, 0, seconds=0), tally("kernel_fallback", 1, 0, seconds=0, code="timeout"))
    eventually(lambda: one.metrics()[name] == 1.0)
    stream.tally(tally("kernel_fallback", 5, 0, seconds=0, code="timeout", offset=11))
    eventually(lambda: one.metrics()[name] == 5.0)
    other = worker().wait_ready()
    assert other.metrics()[name] == 5.0
    one.end(signal.SIGKILL)
    assert worker().wait_ready().metrics()[name] == 5.0


def test_a_worker_whose_topics_are_missing_refuses_and_says_what_to_do(worker: Start) -> None:
    running = worker()
    assert running.process.wait(60) == 1
    eventually(lambda: "TopicMissing" in running.log)
    assert "Fix:" in running.log


@pytest.mark.chaos
@pytest.mark.timeout(180)
def test_a_worker_that_was_paused_past_its_session_does_no_lasting_harm(
    stream: Stream, worker: Start, minute: Minute
) -> None:
    paused = worker().wait_ready()
    stream.tally(*(tally("emitters", 1, minute(n)) for n in range(6)))
    stream.tally(mark(now()))
    eventually(lambda: all(states(stream, minute(n)) == {"COMPLETE"} for n in range(6)))
    # What it has not read yet when it stops, it will work on when it wakes.
    stream.tally(*(tally("route_attempt", 5, minute(n), code="api", offset=20) for n in range(6)))
    paused.send(signal.SIGSTOP)
    other = worker().wait_ready()
    stream.tally(*(tally("route_attempt", 50, minute(n), code="api", offset=30) for n in range(6)))
    eventually(lambda: all(attempts(stream, minute(n)) == 50 for n in range(6)), 60)
    paused.send(signal.SIGCONT)
    time.sleep(8)
    eventually(lambda: all(attempts(stream, minute(n)) == 50 for n in range(6)), 60)
    share = "unmask_tables_partitions"
    eventually(lambda: paused.ended() or {paused.metrics()[share], other.metrics()[share]} == {1.0, 2.0}, 60)


def test_a_worker_alone_needs_no_more_than_seconds_to_come_back_under_its_name(stream: Stream, worker: Start) -> None:
    first = worker("--instance", "slot-1").wait_ready()
    first.end(signal.SIGKILL)
    began = time.monotonic()
    worker("--instance", "slot-1").wait_ready()
    assert time.monotonic() - began < 15


def test_a_worker_is_not_ready_while_the_ledger_s_marks_are_stalled(
    stream: Stream, worker: Start, minute: Minute
) -> None:
    """C13: a partition that nobody reads is told of, by readiness and by an alert."""
    stream.tally(mark(minute(0)))
    running = worker()
    reason = eventually(lambda: running.not_ready().get("tables", "").startswith("the ledger's marks") and running)
    assert reason.get("/readyz")[0] == 503
    stream.tally(mark(now(), offset=101))
    running.wait_ready()
    assert running.get("/healthz") == (200, "ok\n")


def test_both_parts_run_in_one_process_and_stop_cleanly(stream: Stream, worker: Start) -> None:
    running = worker(only=None).wait_ready()
    metrics = running.metrics()
    assert metrics["unmask_ledger_partitions"] == 1
    assert metrics["unmask_tables_partitions"] == PARTITIONS
    assert running.end() == 0, running.log
    assert "Traceback" not in running.log


def test_the_ledger_alone_has_no_tables(stream: Stream, worker: Start) -> None:
    running = worker(only="ledger").wait_ready()
    metrics = running.metrics()
    assert "unmask_tables_partitions" not in metrics
    assert metrics["unmask_ledger_ready"] == 1
    assert running.end() == 0, running.log


def test_a_port_that_is_taken_is_a_named_error(stream: Stream, worker: Start) -> None:
    port = worker().port
    other = worker("--port", str(port))
    assert other.process.wait(60) == 1
    eventually(lambda: "unmask stream: EndpointUnavailable: " in other.log)
