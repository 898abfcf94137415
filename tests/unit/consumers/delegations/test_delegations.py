"""One delegation over all its sessions and partitions: what adds up, what does not, and what verdicts find."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from tests.json_schema_check import violations
from tests.session_parts import commit, delegation, refusal
from tests.table_records import at, session_tally

from unmask.consumers.delegations import Delegation, Judged, json_schema, lines_of, merged, parts_of
from unmask.consumers.delegations.report import Question, no_report
from unmask.consumers.delegations.table import delegations_table
from unmask.consumers.record_answers import RecordAnswer
from unmask.schemas.codes import Evidence, Finding, SignalDoubt


def tally(session: str = "s1", *work: dict[str, Any], partition: int = 0, **parts: Any) -> dict[str, Any]:
    return session_tally(session, delegations=list(work), partition=partition, **parts)


def one(*tallies: dict[str, Any]) -> Delegation:
    (found,) = merged(parts_of(tallies))
    return found


def invocations(*pairs: tuple[str, str], total: int | None = None) -> dict[str, Any]:
    listed = [{"invocation_id": name, "emitter_id": emitter} for name, emitter in pairs]
    return {"invocations": listed, "invocations_total": len(listed) if total is None else total}


def test_calls_add_up_over_sessions_and_partitions_and_budgets_hold_for_all_of_them() -> None:
    found = one(
        tally("s1", delegation(budget_calls=40, tokens=5, **invocations(("i1", "e1")))),
        tally("s2", delegation(budget_calls=15, calls=8, succeeded=8, **invocations(("i2", "e1")))),
    )
    assert (found.calls, found.tokens, found.sessions) == (18, 105, {"s1", "s2"})
    assert (found.budget.calls, [part.value for part in found.over]) == (15, ["calls"])
    assert found.found_over_all == ("BUDGET_EXCEEDED",)
    (line,) = lines_of({"s1": [tally("s1", delegation(**invocations(("i1", "e1"), total=9)))]}, {})
    assert (line.invocations, len(line.invocations_listed)) == (9, 1)


def test_a_resume_elsewhere_under_the_same_invocation_is_an_identity_that_two_claim() -> None:
    apart = one(
        tally("s1", delegation(**invocations(("i1", "e1")))),
        tally("s1", delegation(**invocations(("i2", "e2"))), partition=1),
    )
    claimed = one(
        tally("s1", delegation(**invocations(("i1", "e1")))),
        tally("s1", delegation(**invocations(("i1", "e2"))), partition=1),
    )
    assert (apart.identity_conflicts, claimed.identity_conflicts) == (0, 1)


def test_an_effect_with_two_receipts_is_two_and_one_that_is_told_twice_is_one() -> None:
    twice = one(
        tally("s1", delegation(commits=[commit("x", 1, "r1")], committed=1)),
        tally("s2", delegation(commits=[commit("x", 1, "r2")], committed=1)),
    )
    again = one(
        tally("s1", delegation(commits=[commit("x", 1, "r1")], committed=1)),
        tally("s2", delegation(commits=[commit("x", 1, None)], committed=1)),
    )
    assert (twice.duplicated, again.duplicated) == (("x",), ())
    assert (twice.found_over_all, again.found_over_all) == (("DUPLICATE_EFFECT",), ())


def test_progress_elsewhere_after_a_trip_ends_it() -> None:
    stuck = delegation(tripped=True, trips=1, unchanged=9, first_trip_call=8, last_step_at=at(2))
    moved = delegation(last_step_at=at(3))
    assert one(tally("s1", stuck)).tripped
    assert not one(tally("s1", stuck), tally("s2", moved)).tripped
    still = delegation(succeeded=1, calls=1, last_step_at=at(3))
    assert one(tally("s1", stuck), tally("s2", still)).tripped
    assert one(tally("s1", stuck), tally("s2", still)).unchanged == 0


def test_refusals_stay_apart_and_turns_without_a_write_begin_with_the_newest() -> None:
    found = one(
        tally("s1", delegation(refusals=[refusal("gate", 3, 1)], blocked_turns=3, longest_blocked=9)),
        tally("s2", delegation(refusals=[refusal("gate", 2), refusal("effects", 4, 2, 1)], blocked_turns=4)),
    )
    assert {name: (of.count, of.appealed, of.vindicated) for name, of in found.refusals.items()} == {
        "gate": (5, 1, 0),
        "effects": (4, 2, 1),
    }
    assert (found.blocked_turns, found.longest_blocked) == (7, 9)
    written = one(
        tally("s1", delegation(committed=1, blocked_turns=3)), tally("s2", delegation(blocked_turns=4))
    )  # fmt: skip
    assert written.blocked_turns == 4


def test_abstentions_are_told_with_their_reasons() -> None:
    doubts = [{"doubt": "no_signal", "count": 3}, {"doubt": "foreign_signal", "count": 1}]
    found = one(tally("s1", delegation(doubts=doubts)), tally("s2", delegation(doubts=doubts[:1])))
    assert (found.abstentions, found.doubts[SignalDoubt.NO_SIGNAL]) == (7, 6)
    (line,) = lines_of({"s1": [tally("s1", delegation(doubts=doubts))]}, {})
    assert line.breaker.doubts == {"foreign_signal": 1, "no_signal": 3}


def test_a_calibration_is_no_delegation() -> None:
    assert merged(parts_of([tally("s1", delegation("calibration.checks"))])) == []


def test_findings_are_the_verdicts_and_null_before_there_is_one() -> None:
    tallies = {"s1": [tally("s1", delegation())], "s2": [tally("s2", delegation(), delegation("d2"))]}
    judged = {"s1": Judged(Evidence.COMPLETE, {"d1": (Finding.STALLED_DELEGATION,)})}
    by_name = {line.delegation_id: line for line in lines_of(tallies, judged)}
    assert (by_name["d1"].findings, by_name["d1"].sessions_judged) == ([Finding.STALLED_DELEGATION], 1)
    assert (by_name["d2"].findings, by_name["d2"].evidence) == (None, Evidence.PENDING)
    # One session of two is proven.
    assert by_name["d1"].evidence is Evidence.PENDING


def test_lossy_evidence_of_one_session_is_that_of_the_delegation() -> None:
    tallies = {"s1": [tally("s1", delegation(), evidence="LOSSY")], "s2": [tally("s2", delegation())]}
    (line,) = lines_of(tallies, {"s2": Judged(Evidence.COMPLETE, {})})
    assert line.evidence is Evidence.LOSSY


def test_the_table_says_what_is_wrong_in_words() -> None:
    work = delegation(
        budget_calls=5, tripped=True, trips=2, false_trips=1, first_trip_call=8, unchanged=54, repeated_commits=1,
        granted=1, committed=2, refusals=[refusal("breaker", 3, 1, 1)], blocked_turns=107, longest_blocked=107,
    )  # fmt: skip
    console = Console(width=100)
    with console.capture() as captured:
        console.print(delegations_table(lines_of({"s1": [tally("s1", work)]}, {}), "Delegations"))
    for part in (
        "10 of 5 calls", "TRIPPED", "unchanged calls: 54", "2 trips, 1 false", "1 committed again", "by breaker: 3",
        "107 now",
    ):  # fmt: skip
        assert part in captured.get()


def test_the_published_schema_is_the_code_s_own_and_every_answer_keeps_it() -> None:
    published = Path(__file__).parents[4] / "docs" / "delegations.schema.json"
    assert json.loads(published.read_text()) == json_schema(), "unmask delegations --schema > docs/delegations…"
    for answer in RecordAnswer:
        document = json.loads(no_report(Question("d1"), answer, "Because.", now=at(1)).model_dump_json())
        assert violations(document, json_schema()) == []
    lines = lines_of({"s1": [tally("s1", delegation(commits=[commit("x")], refusals=[refusal("gate", 1)]))]}, {})
    document["delegations"] = [json.loads(line.model_dump_json()) for line in lines]
    assert violations(document, json_schema()) == []
