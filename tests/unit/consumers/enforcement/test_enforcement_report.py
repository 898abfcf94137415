"""What is refused is counted by enforcer and answer, and whatever turned out wrong is counted too."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from tests.json_schema_check import violations
from tests.session_parts import delegation
from tests.table_records import at, session_tally

from unmask.consumers.delegations import merged, parts_of
from unmask.consumers.enforcement import DecisionCount, GateCount, HostCount, json_schema, render
from unmask.consumers.enforcement.document import EnforcementReport, Origin
from unmask.consumers.enforcement.make import Gathered, make_report
from unmask.schemas.codes import Enforcer


def admission(step: str, question: str, answer: str, by: str | None = None, why: str | None = None) -> dict[str, Any]:
    return {"step": step, "admission_id": question, "answer": answer, "by": by, "reason_code": why}


def effect(step: str, enforcer: str | None, answer: str | None = None, by: str | None = None) -> dict[str, Any]:
    return {"step": step, "enforcer": enforcer, "answer": answer, "by": by, "reason_code": by and "wrong"}


def batch(seq: int, *effects: dict[str, Any], witnesses: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "emitter": {"emitter_id": "e1"}, "batch_seq": seq, "delegation_effects": list(effects),
        "witnesses": list(witnesses),
    }  # fmt: skip


def gate(*records: dict[str, Any]) -> GateCount:
    counted = GateCount()
    for record in records:
        counted.take(record)
    return counted


def hosts(*batches: dict[str, Any]) -> HostCount:
    counted = HostCount()
    for one in batches:
        counted.take(one)
    return counted


def origin(topic: str) -> Origin:
    return Origin(topic=topic, kept_days=90, oldest=None, records=0, unusable=0, proves="nothing")


def report(
    gates: GateCount | None = None, told: HostCount | None = None, decided: DecisionCount | None = None,
    *work: dict[str, Any],
) -> EnforcementReport:  # fmt: skip
    return make_report(
        Gathered(
            gate=gates or GateCount(),
            refusals_upheld=None,
            hosts=told or HostCount(),
            decisions=decided,
            delegations=merged(parts_of([session_tally(delegations=list(work))])),
            admissions_origin=origin("admissions"),
            hosts_origin=origin("events"),
            decisions_origin=None if decided is None else origin("decisions"),
            sessions_origin=origin("sessions"),
        ),
        now=at(9),
    )


def test_the_gate_s_refusals_are_counted_by_answer_and_admissions_are_none() -> None:
    found = report(gate(admission("ASKED", "q1", "ADMITTED"), admission("ASKED", "q2", "HALTED"))).gate
    assert (found.questions, found.recorded.refused, list(found.recorded.by_answer)) == (2, 1, ["HALTED"])


def test_a_refusal_that_two_appealed_is_one_and_both_are_named() -> None:
    found = report(
        gate(
            admission("ASKED", "q1", "UNPROVEN"),
            admission("APPEALED", "q1", "UNPROVEN", "ana", "late_batch"),
            admission("APPEALED", "q1", "UNPROVEN", "bo", "late_batch"),
            admission("VINDICATED", "q1", "UNPROVEN", "cy", "batch_came"),
            # Its question is older than what the topic keeps; the step says itself what was refused.
            admission("APPEALED", "q0", "HALTED", "ana", "old"),
        )
    ).gate.recorded
    assert (found.appealed, found.vindicated) == (2, 1)
    assert found.by_answer["UNPROVEN"].model_dump() == {"refused": 1, "appealed": 1, "vindicated": 1}
    assert found.by_answer["HALTED"].model_dump() == {"refused": 0, "appealed": 1, "vindicated": 0}
    assert {(said.by, said.reason_code, said.count) for said in found.appeals} == {
        ("ana", "late_batch", 1),
        ("bo", "late_batch", 1),
        ("ana", "old", 1),
    }


def test_an_override_is_counted_once_for_a_question_and_by_name() -> None:
    found = report(
        gate(
            admission("ASKED", "q1", "HALTED"),
            admission("OVERRIDDEN", "q1", "ADMITTED", "ana", "drill"),
            admission("OVERRIDDEN", "q1", "ADMITTED", "bo", "drill"),
        )
    ).gate
    assert (found.overridden, [said.by for said in found.overrides]) == (1, ["ana", "bo"])


def test_what_hosts_tell_stands_apart_by_enforcer_and_a_batch_that_comes_again_counts_once() -> None:
    first = batch(1, effect("refused", "breaker", "TRIPPED"), effect("refused", "effects", "BUDGET_SPENT"))
    told = hosts(first, first, batch(2, effect("appealed", "breaker", "TRIPPED", "ana"), effect("granted", "effects")))
    found = report(told=told)
    assert found.breaker.told.by_answer["TRIPPED"].model_dump() == {"refused": 1, "appealed": 1, "vindicated": 0}
    assert (found.effects.told.refused, found.gate.told.refused) == (1, 0)
    assert found.breaker.told.appeals[0].by == "ana"
    assert told.of(Enforcer.GATE).refused.total() == 0


def test_a_refusal_by_an_enforcer_that_is_not_known_here_is_remarked_on() -> None:
    assert report(told=hosts(batch(1, effect("refused", None)))).remarks == [
        "Hosts tell of 1 more refusals, by none of these enforcers."
    ]


def test_without_a_witness_nothing_is_said_to_be_nothing() -> None:
    assert hosts(batch(1)).witnesses == set()
    assert hosts(batch(1, witnesses=("delegation_effect",))).witnesses == {"e1"}


def test_the_ledger_s_decisions_are_counted_by_answer_with_the_reasons_of_abstentions() -> None:
    decided = DecisionCount()
    for kind, answer, reason in (
        ("claim", "GRANTED", None), ("claim", "HELD_BY_ANOTHER", None), ("claim", "ABSTAIN", "tenant_full"),
        ("commit", "COMMITTED", None), ("commit", "FENCED", "lease_over"), ("renew", "FENCED", "not_the_holder"),
    ):  # fmt: skip
        decided.take({"kind": kind, "answer": answer, "reason": reason})
    found = report(decided=decided).effects.decided
    assert found is not None
    assert (found.claims, found.granted, found.refused, found.fenced) == (3, 1, 2, 2)
    assert (found.by_answer, found.abstained_by_reason) == ({"ABSTAIN": 1, "HELD_BY_ANOTHER": 1}, {"tenant_full": 1})
    assert report().effects.decided is None


def test_turns_without_a_write_are_told_for_each_delegation_the_longest_first() -> None:
    work = [
        delegation("short", blocked_turns=2, longest_blocked=3),
        delegation("long", blocked_turns=1, longest_blocked=107, committed=1),
        delegation("free"),
    ]
    found = report(None, None, None, *work).turns_without_accepted_write
    assert (found.current, found.longest, [one.delegation_id for one in found.delegations]) == (
        2,
        107,
        ["long", "short"],
    )


def test_false_trips_are_counted_beside_the_trips() -> None:
    work = delegation(trips=3, false_trips=1, tripped=True, doubts=[{"doubt": "no_signal", "count": 4}])
    found = report(None, None, None, work).breaker
    assert (found.trips, found.false_trips, found.tripped_now, found.abstentions) == (3, 1, 1, 4)


def test_people_read_where_each_number_is_from() -> None:
    full = report(
        gate(admission("ASKED", "q1", "HALTED"), admission("APPEALED", "q1", "HALTED", "ana", "wrong")),
        hosts(batch(1, effect("refused", "breaker", "TRIPPED"))),
        DecisionCount(claims=1, granted=1),
        delegation(trips=2, false_trips=1, blocked_turns=4, longest_blocked=9),
    )
    console = Console(width=200)
    with console.capture() as captured:
        console.print(render(full))
    text = captured.get()
    for part in (
        "HALTED",
        "TRIPPED",
        "Appeals (gate): 1: ana 1 (wrong)",
        "2 trips, 1 of them false",
        "4 now, 9 at most",
    ):
        assert part in text
    for topic in ("admissions", "events", "decisions", "sessions"):
        assert f"{topic} (keeps 90 days; nothing is on it; 0 records). It proves nothing." in text


def test_the_published_schema_is_the_code_s_own_and_a_report_keeps_it() -> None:
    published = Path(__file__).parents[4] / "docs" / "enforcement.schema.json"
    assert json.loads(published.read_text()) == json_schema(), "unmask enforcement --schema > docs/enforcement…"
    for found in (report(), report(decided=DecisionCount(), told=hosts(batch(1, effect("refused", "gate", "HALTED"))))):
        assert violations(json.loads(found.model_dump_json()), json_schema()) == []
