"""The demo's checks find what is wrong: each test falsifies one published value and expects exactly that mismatch."""

from collections.abc import Callable
from typing import Any

import pytest

from demo.comparison import Comparison
from demo.expected import NOTHING, expected_sessions
from demo.journal import Entry, HostJournal, Kind
from demo.plan import WINDOW_S
from demo.play import Ending
from demo.session_checks import check_alerts, check_answers, check_verdicts
from demo.window_checks import attempts_journalled, check_totals, check_windows
from demo.workers import Total
from unmask.consumers.testing import SCOPE, clean_verdict, degraded_verdict, failed_verdict, window_record
from unmask.schemas.codes import AlertKind, AlertState, Evidence, FlawCause, ReasonCode
from unmask.schemas.models import Alert, Verdict, Window, from_avro
from unmask.schemas.windowing import MICROS

START = 1_767_268_800 * MICROS
SIZE = WINDOW_S * MICROS
KILLED_AT = START + SIZE + 2 * MICROS
UPSTREAM = "up"


def step(kind: Kind, at: int, **facts: Any) -> Entry:
    return Entry(kind, at, at + 5, facts)


def session(name: str, at: int, *, degraded: bool, outcome: str | None) -> list[Entry]:
    about = {"session": name, "operation": f"{name}-1", "capability": "c"}
    entries = [
        step(Kind.SESSION_OPEN, at, session=name),
        step(Kind.ATTEMPT, at + 10, entry_point="e", **about),
    ]
    if degraded:
        entries.append(step(Kind.FALLBACK, at + 20, outcome="timed out", **about))
    if outcome is not None:
        entries.append(step(Kind.SESSION_CLOSE, at + 30, session=name, outcome=outcome))
    return entries


LIVING = HostJournal(
    "living",
    False,
    (
        step(Kind.EMITTER_OPEN, START + 1),
        *session("clean", START + 100, degraded=False, outcome="success"),
        *session("degraded", START + 200, degraded=True, outcome="success"),
        *session("failed", START + 300, degraded=False, outcome="failure"),
        step(Kind.ATTEMPT, START + SIZE + 1, capability="c", entry_point="e"),
        step(Kind.EMITTER_CLOSE, START + SIZE + 50),
    ),
)
KILLED = HostJournal(
    "killed",
    True,
    (
        step(Kind.EMITTER_OPEN, START + 2),
        step(Kind.ATTEMPT, START + 60, capability="c", entry_point="e"),
        *session("cut", START + SIZE + 10, degraded=False, outcome=None),
    ),
)
JOURNALS = [LIVING, KILLED]


def window(start: int, capability: str | None, *, scoped: bool = True, lossy: bool = False, **counts: Any) -> Window:
    record = window_record(
        start,
        WINDOW_S,
        scope=SCOPE if scoped else None,
        capability=capability,
        states=Evidence.LOSSY if lossy else Evidence.COMPLETE,
        causes=[str(FlawCause.SILENT)] if lossy else [],
        **({"emitters": 2} | counts),
    )
    return from_avro(Window, record)


def attempted(count: int) -> dict[str, Any]:
    return {"attempts": count, "attempts_by_entry_point": {"e": count}}


FELL_BACK: dict[str, Any] = {"fallbacks_total": 1, "fallbacks_by_reason": {"timeout": 1}}
MASKED: dict[str, Any] = {"masked_errors": 1, "masked_errors_by_class": {"timeout": 1}}
TORN_DOWN: dict[str, Any] = {"teardowns_by_outcome": {"success": 2, "failure": 1}}


def windows(first: dict[str, Any] | None = None, second: dict[str, Any] | None = None) -> list[Window]:
    """What must be published; `first` and `second` falsify the whole-scope record of the first and second window."""
    calm: dict[str, Any] = attempted(4) | FELL_BACK | MASKED | TORN_DOWN
    hit: dict[str, Any] = attempted(1)
    return [
        window(START, None, scoped=False, **calm),
        window(START, None, **(calm | (first or {}))),
        window(START, "c", **attempted(4), **FELL_BACK),
        window(START + SIZE, None, scoped=False, lossy=True, **hit),
        window(START + SIZE, None, **({"lossy": True} | hit | (second or {}))),
        window(START + SIZE, "c", lossy=True, **hit),
    ]


def compared_windows(published: list[Window]) -> list[tuple[str, str]]:
    comparison = Comparison()
    check_windows(comparison, JOURNALS, published, WINDOW_S, UPSTREAM, KILLED_AT)
    assert comparison.compared > 30
    return [(mismatch.what, mismatch.published) for mismatch in comparison.mismatches]


def test_windows_that_say_what_the_journals_say_agree() -> None:
    assert compared_windows(windows()) == []
    assert attempts_journalled(JOURNALS, START + SIZE) == 2


@pytest.mark.parametrize(
    ("falsified", "found"),
    [
        (attempted(5), [("attempts", "5")]),
        (attempted(3), [("attempts", "3")]),
        ({"fallbacks_total": 2}, [("fallbacks", "2")]),
        ({"masked_errors_by_class": {"connection": 1}}, [("connection", "1"), ("timeout", "0")]),
        ({"teardowns_by_outcome": {"success": 3}}, [("failure", "0"), ("success", "3")]),
        ({"emitters": 1}, [(NOTHING, "1")]),
        ({"duplicates": 1}, [("duplicates", "1")]),
    ],
)
def test_a_wrong_count_in_a_complete_window_is_found(falsified: dict[str, Any], found: list[tuple[str, str]]) -> None:
    assert compared_windows(windows(first=falsified)) == found


def test_a_lossy_window_may_lack_what_the_killed_host_did_and_nothing_else() -> None:
    assert compared_windows(windows(second=attempted(2))) == []
    assert ("attempts", "0") in compared_windows(windows(second=attempted(0)))
    assert ("attempts", "3") in compared_windows(windows(second=attempted(3)))


def test_evidence_that_says_too_much_or_too_little_is_found() -> None:
    assert ("evidence", "LOSSY") in compared_windows(windows(first={"lossy": True}))
    assert ("evidence", "COMPLETE") in compared_windows(windows(second={"lossy": False}))


def test_a_window_that_was_not_published_is_found() -> None:
    published = [
        record for record in windows() if not (record.window_start.second == WINDOW_S and record.scope is None)
    ]
    assert compared_windows(published) == [("record", "none")]


def verdicts() -> dict[str, Verdict]:
    records = [
        clean_verdict("clean", operations=1),
        degraded_verdict("degraded", operations=1, degraded=1),
        failed_verdict("failed", operations=1),
        failed_verdict("cut", operations=0, findings=["ABANDONED"], outcome_claimed=None),
    ]
    return {record["session_id"]: from_avro(Verdict, record) for record in records}


def compared_verdicts(published: dict[str, Verdict]) -> list[tuple[str, str]]:
    comparison = Comparison()
    check_verdicts(comparison, JOURNALS, published)
    return [(mismatch.about, mismatch.what) for mismatch in comparison.mismatches]


def falsify(name: str, **changes: Any) -> dict[str, Verdict]:
    published = verdicts()
    published[name] = published[name].model_copy(update=changes)
    return published


def test_verdicts_that_say_what_the_journals_say_agree() -> None:
    assert compared_verdicts(verdicts()) == []


@pytest.mark.parametrize(
    ("published", "found"),
    [
        (lambda: falsify("degraded", degraded_operations=2), [("degraded", "degraded")]),
        (lambda: falsify("clean", operations=2), [("clean", "operations")]),
        (lambda: falsify("degraded", degraded_operation_ratio=0.5), [("degraded", "ratio")]),
        (lambda: falsify("clean", evidence=Evidence.LOSSY), [("clean", "evidence")]),
        (lambda: falsify("cut", operations=9), [("cut", "operations")]),
        (lambda: falsify("cut", findings=()), [("cut", "abandoned")]),
        (lambda: {k: v for k, v in verdicts().items() if k != "clean"}, [("verdicts", "sessions")]),
        (lambda: verdicts() | {"stranger": verdicts()["clean"]}, [("verdicts", "sessions")]),
    ],
)
def test_a_wrong_verdict_is_found(published: Callable[[], dict[str, Verdict]], found: list[tuple[str, str]]) -> None:
    assert compared_verdicts(published()) == found


def test_a_run_without_every_kind_of_verdict_is_no_demonstration() -> None:
    comparison = Comparison()
    check_verdicts(comparison, [KILLED], {"cut": verdicts()["cut"]})
    assert [mismatch.expected for mismatch in comparison.mismatches] == [
        "one that ends CLEAN_SUCCESS",
        "one that ends DEGRADED_SUCCESS",
    ]


def alert(kind: AlertKind, *, state: AlertState = AlertState.FIRING, **about: Any) -> Alert:
    record: dict[str, Any] = {
        "alert_id": "|".join((kind, *map(str, about.values()))),
        "kind": kind,
        "state": state,
        "since": START,
        "causes": [],
        "facts": {},
        "revision": 1,
    }
    return from_avro(Alert, record | about)


def alerts() -> list[Alert]:
    return [
        alert(AlertKind.DEGRADED_SESSION, session_id="degraded"),
        alert(AlertKind.HARD_FAILURE, session_id="failed"),
        alert(AlertKind.HARD_FAILURE, session_id="cut"),
        alert(AlertKind.TELEMETRY_LOSS, window_start=START + SIZE, window_seconds=WINDOW_S),
        alert(AlertKind.SILENT_EMITTER, emitter_id="e1"),
    ]


def compared_alerts(published: list[Alert]) -> list[str]:
    comparison = Comparison()
    check_alerts(comparison, JOURNALS, published, UPSTREAM, KILLED_AT)
    return [mismatch.what for mismatch in comparison.mismatches]


def test_missing_and_unfounded_alerts_are_found() -> None:
    assert compared_alerts(alerts()) == []
    for index, kind in enumerate(["DEGRADED_SESSION", "HARD_FAILURE", "HARD_FAILURE", "TELEMETRY_LOSS"]):
        assert compared_alerts(alerts()[:index] + alerts()[index + 1 :]) == [kind]
    assert compared_alerts(alerts()[:-1]) == ["SILENT_EMITTER, how many"]
    assert compared_alerts([*alerts(), alert(AlertKind.UPSTREAM_OUTAGE, upstream=UPSTREAM)]) == ["UPSTREAM_OUTAGE"]
    assert compared_alerts([*alerts(), alert(AlertKind.CONTRADICTION, session_id="clean")]) == ["CONTRADICTION"]


def ending(**answers: str) -> Ending:
    said = {
        "clean": "ADMITTED",
        "degraded": "RECONCILE_FIRST",
        "failed": "HALTED",
        "cut": "HALTED",
        "nobody": "NO_VERDICT",
    }
    return Ending({name: (answer, "") for name, answer in (said | answers).items()}, {"degraded": ("ADMITTED", "")})


def compared_answers(heard: Ending) -> list[tuple[str, str, str]]:
    comparison = Comparison()
    check_answers(comparison, expected_sessions(JOURNALS), heard, "nobody", "degraded")
    return [(mismatch.about, mismatch.expected, mismatch.published) for mismatch in comparison.mismatches]


def test_a_gate_that_admits_where_it_must_refuse_is_found() -> None:
    assert compared_answers(ending()) == []
    assert compared_answers(ending(degraded="ADMITTED")) == [("degraded", "RECONCILE_FIRST", "ADMITTED")]
    assert compared_answers(ending(cut="NO_VERDICT")) == [("cut", "HALTED", "NO_VERDICT")]
    assert compared_answers(ending(nobody="ADMITTED")) == [("nobody", "NO_VERDICT", "ADMITTED")]
    silent = Ending(ending().asked, {})
    assert compared_answers(silent) == [("degraded", "ADMITTED", "none")]


def totals() -> dict[Total, int]:
    return {Total("c", None): 6} | {Total("c", reason): int(reason == "timeout") for reason in ReasonCode}


def compared_totals(published: dict[Total, int]) -> list[tuple[str, str]]:
    comparison = Comparison()
    check_totals(comparison, JOURNALS, published, "a", UPSTREAM)
    return [(mismatch.what, mismatch.published) for mismatch in comparison.mismatches]


def test_counters_must_be_right_and_be_there_as_zero_where_nothing_happened() -> None:
    assert compared_totals(totals()) == []
    assert compared_totals(totals() | {Total("c", "timeout"): 2}) == [("timeout", "2")]
    assert compared_totals(totals() | {Total("c", None): 9}) == [("attempts", "9")]
    never = Total("c", str(ReasonCode.CIRCUIT_OPEN))
    assert compared_totals({total: n for total, n in totals().items() if total != never}) == [("circuit_open", "none")]
    assert compared_totals(totals() | {Total("other", "timeout"): 1}) == [("timeout", "1")]
