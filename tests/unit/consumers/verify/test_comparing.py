"""The comparison: every difference is named, and nothing that is no claim is held against the stream."""

from typing import Any

from tests.unit.consumers.verify.hosts import BLUE, Host, Log, at, window_at
from tests.unit.consumers.verify.recounting import FRAMING, TABLES, recount_of

from unmask.consumers.testing import clean_verdict, window_record
from unmask.consumers.topic_reader import Row
from unmask.consumers.verify.compare_verdicts import compare_verdicts
from unmask.consumers.verify.compare_windows import compare_windows
from unmask.consumers.verify.evidence import AsOf
from unmask.consumers.verify.outcome import Difference, Examined
from unmask.consumers.verify.published import Admissions, PublishedTopic
from unmask.consumers.verify.span import Range
from unmask.schemas.codec import encode
from unmask.schemas.codes import Evidence
from unmask.schemas.keys import window_key, window_route
from unmask.schemas.partitioner import partition_for
from unmask.schemas.scope import Scope
from unmask.schemas.verdict_digest import seal

ZERO: dict[str, Any] = {"emitters": 0}
ALWAYS = Range()


def log() -> Log:
    made, host = Log(partitions=1), Host("e-1")
    host.opening(1, "s-1")
    host.attempt(10, 20)
    host.fallback(30)
    host.teardown(40, "s-1")
    made.append(50, host.cut(50, closing=True))
    return made


def right(**changes: Any) -> list[dict[str, Any]]:
    """The records of the log's one window, as they must stand."""
    counts: dict[str, Any] = {
        "attempts": 2, "attempts_by_entry_point": {"api": 2}, "fallbacks_total": 1,
        "fallbacks_by_reason": {"timeout": 1},
    }  # fmt: skip
    ended: dict[str, Any] = {"teardowns_by_outcome": {"success": 1}}
    start = window_at(0)
    return [
        window_record(start, scope=None, **counts, **ended) | changes,
        window_record(start, scope=BLUE, **counts, **ended),
        window_record(start, scope=BLUE, capability="search", **counts),
    ]


def place(record: dict[str, Any]) -> tuple[str, int]:
    scope = None if record["scope"] is None else Scope(**record["scope"])
    start, seconds = record["window_start"], record["window_seconds"]
    return window_key(start, seconds, scope, record["capability"]), partition_for(window_route(start, seconds), TABLES)


def windows(records: list[dict[str, Any]], within: Range = ALWAYS, through: float = 300, **keep: int) -> Examined:
    topic = PublishedTopic("window", FRAMING, lambda _key, _at: True)
    for record in records:
        key, partition = place(record)
        topic.take(Row(partition, 0, key.encode(), encode("window", record), 0))
    return compared(topic, within, through, **keep)


def compared(topic: PublishedTopic, within: Range = ALWAYS, through: float = 300, **keep: int) -> Examined:
    examined, as_of = Examined(), AsOf({0: at(through)}, {0: 5_000_000})
    compare_windows(examined, recount_of(log(), None, None, **keep), as_of, topic, TABLES, within)
    return examined


def differences(examined: Examined) -> list[Difference]:
    return [difference for mismatch in examined.mismatches for difference in mismatch.differences()]


def test_records_that_say_what_the_log_says_are_equal() -> None:
    examined = windows(right())
    assert differences(examined) == []
    assert (examined.windows, examined.window_records) == (1, 3)
    assert examined.not_checked == {}


def test_every_field_that_is_wrong_is_named_with_both_values() -> None:
    wrong = right(late=1, fallbacks_total=0, fallbacks_by_reason={"cancelled": 1})
    key = place(wrong[0])[0]
    assert differences(windows(wrong)) == [
        Difference("window", key, "fallbacks_by_reason.cancelled", 1, 0),
        Difference("window", key, "fallbacks_by_reason.timeout", 0, 1),
        Difference("window", key, "fallbacks_total", 0, 1),
        Difference("window", key, "late", 1, 0),
    ]


def test_a_record_that_is_missing_and_one_too_many_are_one_difference_each() -> None:
    (lost,) = differences(windows(right()[:2]))
    assert (lost.field, lost.published) == ("record", "no record")
    assert "attempts=2" in str(lost.recounted)
    extra = window_record(window_at(0), scope=BLUE, capability="other", attempts=1, attempts_by_entry_point={"api": 1})
    (found,) = differences(windows([*right(), extra]))
    assert (found.key, found.recounted) == (place(extra)[0], "no record")


def test_a_claim_that_goes_too_far_is_a_difference_and_pending_is_no_claim() -> None:
    lossy = right()
    doubt = window_record(window_at(0), states=Evidence.LOSSY, causes=["gap"])["evidence"]
    lossy[1] = {**lossy[1], "evidence": doubt}
    assert {d.field.rpartition(".")[2] for d in differences(windows(lossy))} == {"state", "causes"}
    assert [m.pending for m in windows(lossy).mismatches] == [False]

    open_still = windows(right(), through=30)
    assert {d.recounted for d in differences(open_still)} == {"PENDING"}
    pending = [window_record(window_at(0), scope=None, states=Evidence.PENDING, attempts=1)]
    examined = windows(pending, through=30)
    assert (differences(examined), examined.windows) == ([], 0)
    assert sum(examined.not_checked.values()) == 1
    stale = windows([window_record(window_at(0), scope=None, states=Evidence.PENDING), *right()[1:]])
    assert [m.pending for m in stale.mismatches] == [True]


def test_silence_may_be_told_or_left_out() -> None:
    silent = window_record(window_at(120), scope=None, states=Evidence.ABSENT, **ZERO)
    assert differences(windows([*right(), silent])) == []
    noisy = window_record(window_at(120), scope=None, states=Evidence.ABSENT, emitters=0, attempts=1)
    assert [d.field for d in differences(windows([*right(), noisy]))] == ["attempts"]
    healed = window_record(window_at(60), scope=BLUE, states=Evidence.LOSSY, causes=["silent"], **ZERO)
    assert [d.recounted for d in differences(windows([*right(), healed]))] == ["no record"]


def test_bytes_that_cannot_be_read_and_records_in_the_wrong_place_are_told_so() -> None:
    topic = PublishedTopic("window", FRAMING, lambda _key, _at: True)
    whole, scope, capability = right()
    for record, value in ((whole, b"nonsense"), (scope, encode("window", capability))):
        key, partition = place(record)
        topic.take(Row(partition, 0, key.encode(), value, 0))
    key, partition = place(capability)
    topic.take(Row((partition + 1) % TABLES, 0, key.encode(), encode("window", capability), 0))
    told = [d.published for d in differences(compared(topic))]
    assert told[0] == "undecodable: BAD_MAGIC"
    assert told[1] == "under the key of another record"
    assert "which its window does not belong to" in told[2]


def test_a_window_that_the_tables_no_longer_keep_is_not_held_against_them() -> None:
    examined = windows(right(late=1), through=6 * 86_400 + 120)
    assert (examined.mismatches, sum(examined.not_checked.values())) == ([], 1)
    assert len(windows(right(late=1), through=5 * 86_400).mismatches) == 1
    assert windows(right(), through=6 * 86_400 + 120).not_checked == {}


def test_a_range_leaves_out_what_lies_outside() -> None:
    wrong = right(late=1)
    assert windows(wrong, Range(since=at(60))).windows == 0
    assert windows(wrong, Range(until=at(0))).windows == 0
    assert len(differences(windows(wrong, Range(since=at(59), until=at(60))))) == 1


def test_windows_that_the_log_no_longer_tells_of_are_counted_and_not_compared() -> None:
    examined = windows(right(late=1), Range(since=at(-120), until=at(120)), p0=1)
    assert (examined.windows, examined.mismatches) == (0, [])


def verdicts(*records: dict[str, Any], key: str | None = None, admissions: Admissions | None = None) -> Examined:
    topic = PublishedTopic("verdict", FRAMING, lambda _key, _at: True)
    for record in records:
        name = key or record["session_id"]
        topic.take(Row(partition_for(name, TABLES), 0, name.encode(), encode("verdict", record), 0))
    examined, as_of = Examined(), AsOf({0: at(300)}, {0: 0})
    compare_verdicts(examined, recount_of(log()), as_of, topic, admissions or Admissions(FRAMING), TABLES, Range())
    return examined


def honest(**changes: Any) -> dict[str, Any]:
    return clean_verdict("s-1", **{"ended_at": at(40), "equivalent": True} | changes)


def test_a_verdict_that_says_what_the_log_says_is_equal_and_its_digest_is_computed() -> None:
    examined = verdicts(honest())
    assert (examined.mismatches, examined.verdicts, examined.digests) == ([], 1, 1)


def test_a_field_changed_without_its_digest_is_two_differences_and_with_it_one() -> None:
    forged = honest() | {"operations": 21}
    assert {d.field for d in differences(verdicts(forged))} == {"digest", "operations"}
    assert [d.field for d in differences(verdicts(seal(forged)))] == ["operations"]


def test_a_verdict_that_is_missing_or_of_a_session_that_never_was_is_a_difference() -> None:
    (missing,) = differences(verdicts())
    assert (missing.key, missing.published) == ("s-1", "no record")
    (invented,) = differences(verdicts(honest(), clean_verdict("s-9", ended_at=at(45))))
    assert (invented.key, invented.recounted) == ("s-9", "no record")


def test_a_verdict_that_was_withdrawn_is_not_missing() -> None:
    topic = PublishedTopic("verdict", FRAMING, lambda _key, _at: True)
    topic.take(Row(partition_for("s-1", TABLES), 0, b"s-1", None, 0))
    withdrawn = Admissions(FRAMING)
    admission = {
        "admission_id": "a-1", "session_id": "s-1", "step": "WITHDRAWN", "answer": "WITHDRAWN", "mutating": False,
        "occurred_at": at(50), "verdict_digest": None, "directive": None, "successor_session_id": None, "by": "ana",
        "reason_code": "wrong", "signature": None,
    }  # fmt: skip
    withdrawn.take(Row(0, 0, b"s-1", encode("admission", admission), 0))
    for seen, told in ((topic, Admissions(FRAMING)), (PublishedTopic("verdict", FRAMING, topic.wanted), withdrawn)):
        examined = Examined()
        compare_verdicts(examined, recount_of(log()), AsOf({0: at(300)}, {0: 0}), seen, told, TABLES, ALWAYS)
        assert (examined.mismatches, examined.not_checked) == ([], {("verdicts", "withdrawn"): 1})


def test_a_doubt_that_the_whole_log_dispels_is_told_and_not_held_against_the_stream() -> None:
    doubt = honest(verdict="DEGRADED_SUCCESS", directive="RE_FETCH_FROM_PRIMARY", evidence="LOSSY")
    topic = PublishedTopic("verdict", FRAMING, lambda _key, _at: True)
    topic.take(Row(partition_for("s-1", TABLES), 0, b"s-1", encode("verdict", doubt), 0))
    made, other = log(), Host("e-2")
    other.opening(35, "s-1")
    other.teardown(40, "s-1", operations=0)
    made.append(51, other.cut(51, closing=True))
    for history, differences_ in ((log(), 3), (made, 0)):
        examined = Examined()
        compare_verdicts(
            examined, recount_of(history), AsOf({0: at(300)}, {0: 0}), topic, Admissions(FRAMING), TABLES, ALWAYS
        )
        assert len(differences(examined)) == differences_
        assert sum(examined.not_checked.values()) == (not differences_)


def test_a_verdict_under_the_key_of_another_session_is_told_so() -> None:
    told = [d.published for d in differences(verdicts(honest(), key="s-2"))]
    assert "under the key of another session" in told


def test_a_predecessors_open_directive_is_inherited_until_it_is_done() -> None:
    left = clean_verdict(
        "s-0", verdict="DEGRADED_SUCCESS", directive="PROBE_UPSTREAM_BEFORE_ACTION", ended_at=at(1)
    )  # fmt: skip
    made, host = log(), Host("e-2")
    host.opening(51, "s-2", predecessor="s-0")
    host.teardown(60, "s-2")
    made.append(61, host.cut(61, closing=True))
    topic = PublishedTopic("verdict", FRAMING, lambda _key, _at: True)
    inherits = clean_verdict(
        "s-2", verdict="DEGRADED_SUCCESS", directive="PROBE_UPSTREAM_BEFORE_ACTION", ended_at=at(60), equivalent=True
    )
    for record in (left, inherits, honest()):
        name = record["session_id"]
        topic.take(Row(partition_for(name, TABLES), 0, name.encode(), encode("verdict", record), 0))

    def found(admissions: Admissions) -> list[str]:
        examined = Examined()
        compare_verdicts(
            examined, recount_of(made), AsOf({0: at(300)}, {0: 0}), topic, admissions, TABLES, Range(since=at(2))
        )
        return sorted(d.field for d in differences(examined) if d.key == "s-2")

    assert found(Admissions(FRAMING)) == []
    done = Admissions(FRAMING)
    admission = {
        "admission_id": "a-1", "session_id": "s-0", "step": "RECONCILED", "answer": "RECONCILE_FIRST",
        "mutating": True, "occurred_at": at(50), "verdict_digest": left["digest"], "directive": None,
        "successor_session_id": None, "by": None, "reason_code": None, "signature": None,
    }  # fmt: skip
    done.take(Row(0, 0, b"s-0", encode("admission", admission), 0))
    assert found(done) == ["directive", "verdict"]
