"""One table partition: bytes in, records out."""

from typing import Any

import pytest
from tests.table_records import (
    BLUE,
    GREEN,
    at,
    cell,
    closing_mark,
    flaw,
    mark,
    masked,
    session_tally,
    teardown,
    window_evidence,
)

from unmask.schemas.codec import decode, encode
from unmask.schemas.codes import AlertKind
from unmask.schemas.keys import session_key, window_key
from unmask.streams.tables.flow import Output, Source
from unmask.streams.tables.partition import TablePartition
from unmask.streams.tables.rules import TableRules
from unmask.streams.verdict import Obligation

RULES = TableRules(table_partitions=1)
WINDOW = window_key(at(0), 60, None, None)


class NothingKnown:
    """Knows of no other session."""

    def knows(self, session_id: str) -> bool:
        return False

    def cuts_circle(self, session_id: str, predecessor: str) -> bool:
        return False

    def open_obligation(self, session_id: str) -> Obligation | None:
        return None

    def discharged_at(self, session_id: str, digest: str) -> int | None:
        return None

    def withdrawn_at(self, session_id: str) -> int | None:
        return None


class Log:
    """The topics of one table partition, and partitions that read them."""

    def __init__(self) -> None:
        self.records: dict[Source, list[tuple[str, bytes | None]]] = {source: [] for source in Source}

    def write(self, source: Source, key: str, name: str, record: dict[str, Any] | None) -> None:
        self.records[source].append((key, None if record is None else encode(name, record)))

    def tally(self, *keyed: tuple[str, dict[str, Any]]) -> None:
        for key, record in keyed:
            name = {"c": "tally", "f": "evidence_flaw", "m": "evidence_mark"}[key[0]]
            self.write(Source.TALLIES, key, name, record)

    def session(self, tally: dict[str, Any]) -> None:
        self.write(Source.SESSIONS, session_key(tally["session_id"], tally["partition"]), "session_tally", tally)

    def publish(self, outputs: list[Output]) -> list[Output]:
        for output in outputs:
            self.write(output.topic, output.key, output.record_name, output.record)
        return outputs

    def feed(self, partition: TablePartition, *, own: bool = False) -> TablePartition:
        for source in (Source.WINDOWS, Source.VERDICTS, Source.ALERTS, Source.TALLIES, Source.SESSIONS):
            for offset, (key, value) in enumerate(self.records[source]):
                if offset >= partition.position(source):
                    echo = own and source not in (Source.TALLIES, Source.SESSIONS)
                    partition.apply(source, key.encode(), value, offset, own=echo)
        return partition

    def reader(self) -> TablePartition:
        partition = self.feed(TablePartition(0, RULES, NothingKnown()))
        partition.read_back_done()
        return partition


def collect(partition: TablePartition, now: int | None = None) -> list[Output]:
    return partition.collect(at(10) if now is None else now, everything=True)


def kinds(outputs: list[Output]) -> list[str]:
    alerts = [output.record for output in outputs if output.topic is Source.ALERTS and output.record is not None]
    return [f"{alert['kind']} {alert['state']}" for alert in alerts]


def named(outputs: list[Output], topic: Source, key: str) -> dict[str, Any]:
    (found,) = [output.record for output in outputs if output.topic is topic and output.key == key]
    assert found is not None
    return found


def degraded(**parts: Any) -> dict[str, Any]:
    return session_tally(
        degraded=["a"], masked=[masked("a")], unreachable=1, **{"teardowns": [teardown(4, 1)], **parts}
    )


def test_a_window_is_published_once_and_again_when_it_changes() -> None:
    log = Log()
    log.tally(cell("emitters", 1), cell("route_attempt", 3))
    partition = log.reader()
    first = log.publish(collect(partition))
    assert named(first, Source.WINDOWS, WINDOW)["attempts"] == 3
    assert collect(partition) == []
    log.tally(cell("route_attempt", 4, offset=11))
    log.feed(partition, own=True)
    second = collect(partition)
    assert named(second, Source.WINDOWS, WINDOW)["revision"] > named(first, Source.WINDOWS, WINDOW)["revision"]


def test_a_restart_publishes_nothing_that_stands_already() -> None:
    log = Log()
    log.tally(cell("emitters", 1), cell("route_attempt", 3), flaw(), closing_mark(1))
    log.session(degraded())
    assert log.publish(collect(log.reader())) != []
    assert collect(log.reader()) == []


def test_a_restart_publishes_what_its_predecessor_did_not_get_out() -> None:
    log = Log()
    log.tally(cell("emitters", 1), closing_mark(1))
    log.session(degraded())
    outputs = collect(log.reader())
    log.publish([output for output in outputs if output.topic is not Source.VERDICTS])
    again = collect(log.reader())
    assert [output.topic for output in again] == [Source.VERDICTS]


def test_an_older_record_that_another_worker_writes_late_is_overwritten() -> None:
    log = Log()
    log.tally(cell("emitters", 1), cell("route_attempt", 3))
    late = collect(log.reader())
    log.tally(cell("route_attempt", 8, offset=20))
    partition = log.reader()
    log.publish(collect(partition))
    log.feed(partition, own=True)
    log.publish(late)
    log.feed(partition)
    repaired = collect(partition)
    assert named(repaired, Source.WINDOWS, WINDOW)["attempts"] == 8


def test_a_newer_record_of_another_worker_is_left_until_this_one_has_read_as_far() -> None:
    log = Log()
    log.tally(cell("emitters", 1), cell("route_attempt", 3))
    behind = log.reader()
    log.tally(cell("route_attempt", 8, offset=20))
    log.publish(collect(log.reader()))
    for source in (Source.WINDOWS, Source.ALERTS):
        for offset, (key, value) in enumerate(log.records[source]):
            behind.apply(source, key.encode(), value, offset)
    assert collect(behind) == []
    log.feed(behind)
    assert collect(behind) == []


def test_a_window_computed_from_what_retention_left_is_withheld() -> None:
    log = Log()
    log.tally(cell("emitters", 1), cell("route_attempt", 3), closing_mark(1))
    log.publish(collect(log.reader()))
    log.records[Source.TALLIES].pop(1)
    log.tally(closing_mark(2, offset=101), closing_mark(2, offset=102))
    partition = log.reader()
    outputs = collect(partition)
    assert [o for o in outputs if o.topic is Source.WINDOWS and o.key == WINDOW] == []
    assert partition.withheld > 0


def test_a_record_is_taken_in_once_however_often_it_comes() -> None:
    log = Log()
    key, record = flaw()
    log.tally(cell("emitters", 1), (key, record), closing_mark(1))
    log.write(Source.TALLIES, key, "evidence_flaw", None)
    partition = log.reader()
    # Faust may bring records from before an assignment once more: a healed flaw must not come back.
    assert not partition.apply(Source.TALLIES, key.encode(), encode("evidence_flaw", record), 1)
    states = {e["state"] for e in named(collect(partition), Source.WINDOWS, WINDOW)["evidence"]}
    assert states == {"COMPLETE"}


def test_records_that_cannot_be_read_are_counted_and_passed_over() -> None:
    partition = TablePartition(0, RULES, NothingKnown())
    assert not partition.apply(Source.TALLIES, b"c|0", b"not a record", 0)
    assert not partition.apply(Source.TALLIES, None, b"", 1)
    assert not partition.apply(Source.SESSIONS, b"\xff", b"\xc3\x01", 2)
    assert (partition.undecodable[Source.TALLIES], partition.undecodable[Source.SESSIONS]) == (2, 1)
    key, record = cell("emitters", 1)
    assert partition.apply(Source.TALLIES, key.encode(), encode("tally", record), 3)
    assert named(collect(partition), Source.WINDOWS, WINDOW)["emitters"] == 1


def test_a_verdict_goes_out_at_once_with_its_alert() -> None:
    log = Log()
    log.session(degraded())
    outputs = log.reader().collect(at(10), everything=False)
    verdict = named(outputs, Source.VERDICTS, "s1")
    assert decode("verdict", encode("verdict", verdict))["verdict"] == "DEGRADED_SUCCESS"
    assert kinds(outputs) == ["DEGRADED_SESSION FIRING"]


def test_a_snapshot_that_says_the_same_at_a_later_offset_publishes_no_verdict() -> None:
    log = Log()
    log.session(degraded())
    partition = log.reader()
    log.publish(collect(partition))
    log.session(degraded(offset=500))
    log.feed(partition, own=True)
    assert collect(partition) == []


def test_a_verdict_stands_when_the_ledger_gives_the_session_up() -> None:
    log = Log()
    log.session(degraded())
    log.publish(collect(log.reader()))
    log.write(Source.SESSIONS, session_key("s1", 0), "session_tally", None)
    assert collect(log.reader()) == []


def test_what_is_left_of_a_session_does_not_overrule_its_verdict() -> None:
    log = Log()
    log.session(degraded())
    log.session(session_tally(partition=1, emitters=["e2"], degraded=["b"], masked=[masked("b")]))
    log.publish(collect(log.reader()))
    log.write(Source.SESSIONS, session_key("s1", 0), "session_tally", None)
    assert collect(log.reader()) == []


def test_a_verdict_from_fewer_partitions_does_not_overrule_one_from_all() -> None:
    log = Log()
    log.session(degraded())
    log.session(session_tally(partition=1, emitters=["e2"], teardowns=[teardown(9, emitter="e2")]))
    log.publish(collect(log.reader()))
    log.write(Source.SESSIONS, session_key("s1", 0), "session_tally", None)
    assert collect(log.reader()) == []


def test_a_loss_fires_and_is_resolved_when_it_heals() -> None:
    log = Log()
    key, record = flaw()
    log.tally(cell("emitters", 1), (key, record), closing_mark(1))
    partition = log.reader()
    assert "TELEMETRY_LOSS FIRING" in kinds(log.publish(collect(partition)))
    log.write(Source.TALLIES, key, "evidence_flaw", None)
    log.feed(partition, own=True)
    assert kinds(collect(partition)) == ["TELEMETRY_LOSS RESOLVED"]


def test_a_loss_that_never_heals_is_resolved_after_the_horizon_also_by_another_worker() -> None:
    log = Log()
    log.tally(cell("emitters", 1), flaw(), closing_mark(1))
    log.publish(collect(log.reader()))
    log.tally(closing_mark(62, offset=101, accounted={BLUE: at(62)}))
    assert kinds(collect(log.reader(), at(62))) == ["TELEMETRY_LOSS RESOLVED"]


def test_a_silent_emitter_fires_until_it_is_heard_of_again() -> None:
    log = Log()
    log.tally(mark(at(5), unaccounted=(("e1", "silent", at(3)),)))
    partition = log.reader()
    assert kinds(log.publish(collect(partition, at(5)))) == ["SILENT_EMITTER FIRING"]
    log.tally(mark(at(6), offset=101, accounted={BLUE: at(6)}))
    log.feed(partition, own=True)
    assert kinds(collect(partition, at(6))) == ["SILENT_EMITTER RESOLVED"]


def test_absence_fires_only_where_somebody_had_been() -> None:
    """Z04: all hosts stop."""
    nobody = Log()
    nobody.tally(mark(at(0)), closing_mark(3, offset=101))
    assert kinds(collect(nobody.reader(), at(3))) == []
    somebody = Log()
    somebody.tally(cell("emitters", 1, seconds=0), mark(at(0)))
    partition = somebody.reader()
    somebody.tally(closing_mark(3, offset=101))
    somebody.feed(partition)
    assert kinds(collect(partition, at(3))) == ["TELEMETRY_ABSENT FIRING"]


def test_a_partition_that_stands_still_fires_after_it_was_watched_for_long_enough() -> None:
    log = Log()
    log.tally(mark(at(0), accounted={BLUE: at(0)}))
    partition = log.reader()
    assert kinds(collect(partition, at(0))) == []
    assert kinds(collect(partition, at(2))) == ["TELEMETRY_ABSENT FIRING"]


def test_an_older_alert_that_another_worker_writes_late_is_overwritten() -> None:
    log = Log()
    key, record = flaw()
    log.tally(cell("emitters", 1), (key, record), closing_mark(1))
    late = [output for output in collect(log.reader()) if output.topic is Source.ALERTS]
    log.publish(late)
    log.write(Source.TALLIES, key, "evidence_flaw", None)
    partition = log.reader()
    resolved = log.publish(collect(partition))
    assert kinds(resolved) == ["TELEMETRY_LOSS RESOLVED"]
    log.feed(partition, own=True)
    log.publish(late)
    log.feed(partition)
    assert kinds(collect(partition)) == ["TELEMETRY_LOSS RESOLVED"]


def test_alerts_decided_elsewhere_are_resolved_when_they_are_no_longer_named() -> None:
    partition = TablePartition(0, RULES, NothingKnown())
    record = {
        "alert_id": "FALLBACK_RATE|x", "kind": "FALLBACK_RATE", "state": "FIRING", "since": at(0), "until": None,
    }  # fmt: skip
    assert kinds(partition.offer_alerts(AlertKind.FALLBACK_RATE, [record], 5, at(1))) == ["FALLBACK_RATE FIRING"]
    assert kinds(partition.offer_alerts(AlertKind.FALLBACK_RATE, [], 6, at(2))) == ["FALLBACK_RATE RESOLVED"]


def test_a_window_that_stands_from_other_topics_does_not_hold_this_one_back() -> None:
    log = Log()
    log.tally(cell("emitters", 1), cell("route_attempt", 3))
    record = named(collect(log.reader()), Source.WINDOWS, WINDOW)
    log.write(Source.WINDOWS, WINDOW, "window", {**record, "attempts": 99, "revision": 10_000})
    assert named(collect(log.reader()), Source.WINDOWS, WINDOW)["attempts"] == 3


def silent_flaw() -> tuple[str, dict[str, Any]]:
    return flaw(minute=1, from_seq=-1, to_seq=-1, cause="silent")


def witnessed_elsewhere(log: Log) -> None:
    """Somebody of another scope was there in the window that the flaw touches."""
    log.tally(cell("emitters", 1, minute=1, scope=GREEN), silent_flaw(), closing_mark(2))


FLAWED = window_key(at(1), 60, BLUE, None)


def test_a_scope_that_was_only_flawed_is_withdrawn_once_the_flaw_has_healed() -> None:
    log = Log()
    witnessed_elsewhere(log)
    partition = log.reader()
    said = named(log.publish(collect(partition)), Source.WINDOWS, FLAWED)
    assert set(window_evidence(said).values()) == {"LOSSY"}
    log.write(Source.TALLIES, silent_flaw()[0], "evidence_flaw", None)
    log.feed(partition, own=True)
    outputs = log.publish(collect(partition))
    assert [output.record for output in outputs if output.key == FLAWED] == [None]
    log.feed(partition, own=True)
    assert [output for output in collect(partition) if output.key == FLAWED] == []


@pytest.mark.parametrize("window_known", [True, False])
def test_a_record_whose_flaw_is_not_even_in_the_inputs_any_more_is_withdrawn_after_a_restart(
    window_known: bool,
) -> None:
    log = Log()
    witnessed_elsewhere(log)
    log.publish(collect(log.reader()))
    # Compaction: the flaw is gone, and with it the only word of the scope.
    log.records[Source.TALLIES] = []
    if window_known:
        log.tally(cell("emitters", 1, minute=1, scope=GREEN), cell("emitters", 1, scope=GREEN))
    log.tally(closing_mark(2), *[closing_mark(2)] * 8)
    outputs = collect(log.reader())
    assert [output.record for output in outputs if output.key == FLAWED] == [None]


def test_a_record_that_counts_something_is_not_withdrawn_when_its_cells_are_forgotten() -> None:
    log = Log()
    key, record = cell("emitters", 1)
    log.tally((key, record), cell("emitters", 1, minute=1), closing_mark(2))
    log.publish(collect(log.reader()))
    log.write(Source.TALLIES, key, "tally", None)
    assert [output for output in collect(log.reader()) if output.record is None] == []


def test_a_forged_verdict_is_told_of_and_what_stood_is_published_again() -> None:
    log = Log()
    log.session(degraded())
    partition = log.reader()
    first = named(log.publish(collect(partition)), Source.VERDICTS, "s1")
    log.feed(partition, own=True)
    log.write(Source.VERDICTS, "s1", "verdict", {**first, "verdict": "CLEAN_SUCCESS", "directive": "NONE"})
    log.feed(partition, own=True)  # the forger copied the header by which a worker knows its own records
    outputs = log.publish(collect(partition, at(11)))
    assert "UNVERIFIABLE_VERDICT FIRING" in kinds(outputs)
    restored = named(outputs, Source.VERDICTS, "s1")
    assert (restored["digest"], restored["sequence"]) == (first["digest"], first["sequence"] + 1)
    log.feed(partition, own=True)
    assert collect(partition, at(11.5)) == []
    assert kinds(collect(partition, at(12))) == ["UNVERIFIABLE_VERDICT RESOLVED"]


def test_an_older_verdict_that_is_replayed_is_told_of_and_what_stood_is_published_again() -> None:
    """Case V10."""
    log = Log()
    log.session(session_tally(teardowns=[teardown(4)]))
    partition = log.reader()
    clean = named(log.publish(collect(partition)), Source.VERDICTS, "s1")
    log.session(degraded(offset=20))
    log.feed(partition, own=True)
    worse = named(log.publish(collect(partition)), Source.VERDICTS, "s1")
    log.feed(partition, own=True)
    log.write(Source.VERDICTS, "s1", "verdict", clean)
    outputs = collect(log.feed(partition), at(11))
    assert named(outputs, Source.VERDICTS, "s1")["digest"] == worse["digest"]
    assert "UNVERIFIABLE_VERDICT FIRING" in kinds(outputs)


def test_a_session_that_was_resumed_elsewhere_is_clean_once_its_first_host_has_accounted() -> None:
    log = Log()
    log.tally(mark(at(4), accounted={BLUE: at(4)}))
    log.session(session_tally(last_seen_at=at(2)))
    log.session(session_tally(partition=1, emitters=["e2"], teardowns=[teardown(9, emitter="e2")]))
    partition = log.reader()
    outputs = log.publish(collect(partition))
    assert named(outputs, Source.VERDICTS, "s1")["evidence"] == "PENDING"
    # Until then it alerts to no more than a session that runs.
    assert not [kind for kind in kinds(outputs) if kind.startswith("DEGRADED_SESSION")]
    log.tally(mark(at(6), offset=101, accounted={BLUE: at(6)}))
    log.feed(partition, own=True)
    outputs = collect(partition)
    verdict = named(outputs, Source.VERDICTS, "s1")
    assert (verdict["verdict"], verdict["evidence"]) == ("CLEAN_SUCCESS", "COMPLETE")


class Withdrawn(NothingKnown):
    """Knows when the session's verdict was withdrawn."""

    at: int | None = None

    def withdrawn_at(self, session_id: str) -> int | None:
        return self.at


def test_a_withdrawn_verdict_is_taken_off_and_stays_off_until_the_session_goes_on() -> None:
    log, known = Log(), Withdrawn()
    log.session(degraded())
    partition = log.feed(TablePartition(0, RULES, known))
    log.publish(collect(partition))
    log.feed(partition, own=True)
    known.at = at(6)
    partition.sessions.touch("s1")
    (tombstone,) = [output for output in collect(partition) if output.topic is Source.VERDICTS]
    assert (tombstone.key, tombstone.record) == ("s1", None)
    log.write(Source.VERDICTS, "s1", "verdict", None)
    log.session(degraded(offset=30, shape_drifts=1))
    log.feed(partition, own=True)
    assert [output for output in collect(partition) if output.topic is Source.VERDICTS] == []
    again = degraded(offset=40, last_seen_at=at(8), teardowns=[teardown(4, 1), teardown(5, 1, minute=8)])
    log.session(again)
    log.feed(partition, own=True)
    assert named(collect(partition), Source.VERDICTS, "s1")["ended_at"] == at(8)


def test_a_tombstone_that_nobody_recorded_is_overwritten_by_what_stood() -> None:
    log = Log()
    log.session(degraded())
    partition = log.reader()
    first = named(log.publish(collect(partition)), Source.VERDICTS, "s1")
    log.feed(partition, own=True)
    log.write(Source.VERDICTS, "s1", "verdict", None)
    # Not at once: who withdrew it, if anybody did, may be read a moment later.
    assert [o for o in collect(log.feed(partition), at(11)) if o.topic is Source.VERDICTS] == []
    restored = named(collect(partition, at(12)), Source.VERDICTS, "s1")
    assert restored["digest"] == first["digest"]
    assert restored["sequence"] > first["sequence"]


def test_a_part_that_was_given_up_counts_as_long_as_the_session_goes_on_elsewhere() -> None:
    log = Log()
    log.session(session_tally(degraded=["a"], masked=[masked("a")], last_seen_at=at(2), abandoned_at=at(5)))
    log.session(session_tally(partition=1, emitters=["e2"], last_seen_at=at(3)))
    partition = log.reader()
    assert [output for output in collect(partition) if output.topic is Source.VERDICTS] == []
    log.write(Source.SESSIONS, session_key("s1", 0), "session_tally", None)
    log.session(session_tally(partition=1, offset=20, emitters=["e2"], teardowns=[teardown(9, emitter="e2")]))
    log.feed(partition, own=True)
    verdict = named(collect(partition), Source.VERDICTS, "s1")
    assert (verdict["verdict"], verdict["degraded_operations"]) == ("DEGRADED_SUCCESS", 1)
