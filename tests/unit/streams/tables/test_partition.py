"""One table partition: bytes in, records out."""

from typing import Any

from tests.table_records import BLUE, at, cell, closing_mark, flaw, mark, masked, session_tally, teardown

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
    return [f"{output.record['kind']} {output.record['state']}" for output in outputs if output.topic is Source.ALERTS]


def named(outputs: list[Output], topic: Source, key: str) -> dict[str, Any]:
    (found,) = [output.record for output in outputs if output.topic is topic and output.key == key]
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
    (record,) = [o for o in collect(log.reader()) if o.key == WINDOW]
    log.write(Source.WINDOWS, WINDOW, "window", {**record.record, "attempts": 99, "revision": 10_000})
    assert named(collect(log.reader()), Source.WINDOWS, WINDOW)["attempts"] == 3
