"""Every answer of the gate, and that nothing else ever admits."""

import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from unmask.consumers.gate import (
    Admission,
    AdmissionAnswer,
    Entry,
    NoRecord,
    Recorded,
    Tombstone,
    Undecodable,
    Unread,
    decide,
)
from unmask.consumers.testing import clean_verdict, degraded_verdict, failed_verdict, masked_operation
from unmask.schemas.codes import (
    Contradiction,
    Directive,
    Equivalence,
    Evidence,
    Finding,
    SessionOutcome,
    VerdictKind,
)
from unmask.schemas.verdict_digest import seal

SESSION = "session-1"


def ask(verdict: dict[str, Any], *, mutating: bool = True, session: str = SESSION, key: str = SESSION) -> Admission:
    return decide(Recorded(session, key, verdict), mutating=mutating)


@pytest.mark.parametrize(
    ("entry", "answer"),
    [
        (Unread(SESSION, "The broker is down."), AdmissionAnswer.NOT_READY),
        (NoRecord(SESSION), AdmissionAnswer.NO_VERDICT),
        (Tombstone(SESSION), AdmissionAnswer.WITHDRAWN),
        (Undecodable(SESSION, "EMPTY_VALUE"), AdmissionAnswer.UNVERIFIABLE),
    ],
)
@pytest.mark.parametrize("mutating", [True, False])
def test_what_holds_no_verdict_is_refused_each_in_its_own_way(
    entry: Entry, answer: AdmissionAnswer, mutating: bool
) -> None:
    admission = decide(entry, mutating=mutating)
    assert admission.answer is answer
    assert not admission.admitted
    assert admission.verdict is None


def test_a_cause_of_not_being_ready_is_told_on() -> None:
    assert decide(Unread(SESSION, "The broker is down.")).reason == "The broker is down."


@pytest.mark.parametrize("mutating", [True, False])
def test_a_clean_proven_session_admits(mutating: bool) -> None:
    admission = ask(clean_verdict(SESSION), mutating=mutating)
    assert admission.answer is AdmissionAnswer.ADMITTED
    assert admission.admitted
    assert admission.directive is Directive.NONE


def test_a_clean_session_without_operations_has_no_ratio_and_admits() -> None:
    assert ask(clean_verdict(SESSION, operations=0)).admitted


def test_a_degraded_session_must_be_reconciled_first_and_the_directive_is_named() -> None:
    admission = ask(degraded_verdict(SESSION))
    assert admission.answer is AdmissionAnswer.RECONCILE_FIRST
    assert admission.directive is Directive.PROBE_UPSTREAM_BEFORE_ACTION
    assert admission.obligation is not None
    assert admission.obligation.upstreams == ("prices",)


def test_a_degraded_session_below_the_threshold_is_not_let_through_either() -> None:
    admission = ask(degraded_verdict(SESSION, operations=100, degraded=1), mutating=False)
    assert admission.answer is AdmissionAnswer.RECONCILE_FIRST


def test_a_proven_equivalent_session_may_be_read_and_nothing_else() -> None:
    verdict = degraded_verdict(SESSION, operations=100, degraded=5, equivalent=True)
    assert ask(verdict, mutating=False).answer is AdmissionAnswer.ADMITTED_READ_ONLY
    assert ask(verdict, mutating=True).answer is AdmissionAnswer.RECONCILE_FIRST


def test_mutating_is_assumed_where_nobody_says() -> None:
    verdict = degraded_verdict(SESSION, operations=100, degraded=5, equivalent=True)
    assert decide(Recorded(SESSION, SESSION, verdict)).answer is AdmissionAnswer.RECONCILE_FIRST


@pytest.mark.parametrize("vague", [None, 0, "", "no"])
def test_anything_but_a_plain_false_counts_as_mutating(vague: Any) -> None:
    verdict = degraded_verdict(SESSION, operations=100, degraded=5, equivalent=True)
    assert ask(verdict, mutating=vague).answer is AdmissionAnswer.RECONCILE_FIRST


def test_equivalence_lets_reads_pass_at_any_ratio_and_writes_at_none() -> None:
    verdict = degraded_verdict(SESSION, operations=100, degraded=60, equivalent=True)
    assert ask(verdict, mutating=False).answer is AdmissionAnswer.ADMITTED_READ_ONLY
    assert ask(verdict, mutating=True).answer is AdmissionAnswer.RECONCILE_FIRST


@pytest.mark.parametrize(
    "changes",
    [
        {"contradictions": [str(Contradiction.MASKED_ERRORS)]},
        {"findings": [str(Finding.CONTRADICTED)]},
        {"findings": [str(Finding.SCHEMA_DRIFT)]},
        {"masked": []},
    ],
)
def test_equivalence_that_nothing_supports_does_not_help(changes: dict[str, Any]) -> None:
    verdict = degraded_verdict(SESSION, operations=100, degraded=5, equivalent=True, **changes)
    assert ask(verdict, mutating=False).answer is AdmissionAnswer.RECONCILE_FIRST


def test_an_inherited_directive_must_be_carried_out_even_after_a_clean_session() -> None:
    admission = ask(clean_verdict(SESSION, inherited_from=["session-0"]), mutating=False)
    assert admission.answer is AdmissionAnswer.RECONCILE_FIRST
    assert admission.obligation is not None
    assert admission.obligation.inherited_from == ("session-0",)


def test_a_failed_session_halts_and_no_probe_can_help() -> None:
    admission = ask(failed_verdict(SESSION))
    assert admission.answer is AdmissionAnswer.HALTED
    assert admission.obligation is None


def test_an_abandoned_session_halts_even_while_its_evidence_is_open() -> None:
    verdict = failed_verdict(
        SESSION, evidence=str(Evidence.LOSSY), findings=[str(Finding.ABANDONED)], outcome_claimed=None
    )
    admission = ask(verdict)
    assert admission.answer is AdmissionAnswer.HALTED
    assert "abandoned" in admission.reason


def test_a_session_that_went_on_from_a_failed_one_halts_too() -> None:
    verdict = degraded_verdict(
        SESSION, directive=str(Directive.HALT_AND_ALERT_DEVELOPER), inherited_from=["session-0"], degraded=0
    )
    assert ask(verdict).answer is AdmissionAnswer.HALTED


def test_a_session_that_one_of_its_hosts_left_open_is_unproven() -> None:
    verdict = degraded_verdict(SESSION, evidence=str(Evidence.LOSSY), findings=[str(Finding.ABANDONED)])
    assert ask(verdict).answer is AdmissionAnswer.UNPROVEN


@pytest.mark.parametrize("evidence", [Evidence.LOSSY, Evidence.PENDING, Evidence.ABSENT])
@pytest.mark.parametrize("make", [clean_verdict, degraded_verdict])
def test_without_complete_evidence_nothing_is_proven(make: Any, evidence: Evidence) -> None:
    assert ask(make(SESSION, evidence=str(evidence)), mutating=False).answer is AdmissionAnswer.UNPROVEN


@pytest.mark.parametrize("contract", [0, 2, True, None, "1", 1.0])
def test_a_verdict_of_another_contract_cannot_be_verified(contract: Any) -> None:
    verdict = {**clean_verdict(SESSION), "contract": contract}
    assert ask(seal(verdict)).answer is AdmissionAnswer.UNVERIFIABLE


def test_one_flipped_digit_of_the_ratio_breaks_the_digest() -> None:
    verdict = degraded_verdict(SESSION, operations=100, degraded=5)
    assert ask({**verdict, "degraded_operation_ratio": 0.04}).answer is AdmissionAnswer.UNVERIFIABLE


@pytest.mark.parametrize("field", ["directive", "evidence", "verdict", "operations", "masked", "ended_at", "emitters"])
def test_the_digest_covers_everything_that_decides(field: str) -> None:
    verdict = degraded_verdict(SESSION)
    other = {**clean_verdict(SESSION), "evidence": "LOSSY", "ended_at": 1, "emitters": [], "operations": 1}
    assert other[field] != verdict[field]
    assert ask({**verdict, field: other[field]}).answer is AdmissionAnswer.UNVERIFIABLE


@pytest.mark.parametrize("key", ["session-2", ""])
def test_a_verdict_under_another_sessions_key_is_refused(key: str) -> None:
    assert ask(clean_verdict(SESSION), key=key).answer is AdmissionAnswer.UNVERIFIABLE
    assert ask(clean_verdict("session-2")).answer is AdmissionAnswer.UNVERIFIABLE
    assert ask(clean_verdict(SESSION), session="session-2").answer is AdmissionAnswer.UNVERIFIABLE


@pytest.mark.parametrize(
    "changes",
    [
        {"directive": str(Directive.PROBE_UPSTREAM_BEFORE_ACTION)},
        {"directive": str(Directive.HALT_AND_ALERT_DEVELOPER)},
        {"above_threshold": True},
        {"degraded_operations": 1, "degraded_operation_ratio": 0.05},
        {"degraded_operation_ratio": 0.01},
        {"degraded_operation_ratio": None},
        {"operations": 0, "degraded_operation_ratio": 0.0},
        {"operations": -1, "degraded_operations": -1, "degraded_operation_ratio": 1.0},
        {"threshold": 1.5},
        {"masked": [masked_operation(1)]},
        {"masked_cut": 3},
        {"outcome_claimed": None},
        {"outcome_claimed": str(SessionOutcome.FAILURE)},
        {"findings": [str(Finding.ABANDONED)]},
        {"contradictions": [str(Contradiction.TEARDOWNS_DISAGREE)]},
        {"verdict": str(VerdictKind.HARD_FAILURE)},
        {"verdict": str(VerdictKind.DEGRADED_SUCCESS)},
        {"verdict": "SPOTLESS_SUCCESS"},
        {"inherited_from": ["not a token"]},
        {"operations": True},
        {"findings": None},
    ],
)
def test_a_sealed_verdict_that_contradicts_itself_is_refused(changes: dict[str, Any]) -> None:
    assert ask(clean_verdict(SESSION, **changes)).answer is AdmissionAnswer.UNVERIFIABLE


@pytest.mark.parametrize(
    "changes",
    [
        {"above_threshold": False},
        {"degraded_operation_ratio": 0.05},
        {"degraded_operations": 30, "degraded_operation_ratio": 1.5},
        {"directive": str(Directive.NONE)},
        {"directive": str(Directive.HALT_AND_ALERT_DEVELOPER)},
        {"equivalent": True, "masked": [masked_operation(1)]},
    ],
)
def test_a_sealed_degraded_verdict_that_contradicts_itself_is_refused(changes: dict[str, Any]) -> None:
    assert ask(degraded_verdict(SESSION, **changes), mutating=False).answer is AdmissionAnswer.UNVERIFIABLE


def test_exactly_five_percent_is_not_above_the_threshold() -> None:
    wrong = degraded_verdict(SESSION, operations=20, degraded=1, above_threshold=True)
    assert ask(wrong).answer is AdmissionAnswer.UNVERIFIABLE
    assert ask(degraded_verdict(SESSION, operations=20, degraded=1)).answer is AdmissionAnswer.RECONCILE_FIRST


def test_an_infinite_number_cannot_be_verified() -> None:
    verdict = {**clean_verdict(SESSION), "degraded_operation_ratio": math.nan}
    assert ask(verdict).answer is AdmissionAnswer.UNVERIFIABLE


codes = {
    "verdict": st.sampled_from([str(kind) for kind in VerdictKind]),
    "directive": st.sampled_from([str(directive) for directive in Directive]),
    "evidence": st.sampled_from([str(state) for state in Evidence]),
    "outcome_claimed": st.sampled_from([None, *(str(outcome) for outcome in SessionOutcome)]),
    "findings": st.lists(st.sampled_from([str(finding) for finding in Finding]), max_size=2),
    "contradictions": st.lists(st.sampled_from([str(found) for found in Contradiction]), max_size=1),
    "inherited_from": st.sampled_from([[], [], ["session-0"]]),
    "equivalent": st.booleans(),
    "above_threshold": st.booleans(),
    "operations": st.integers(0, 40),
    "degraded_operations": st.integers(0, 3),
    "masked_cut": st.integers(0, 1),
    "contract": st.sampled_from([1, 1, 1, 2]),
    "masked": st.lists(
        st.sampled_from([masked_operation(1), masked_operation(2, equivalence=Equivalence.BIT_FOR_BIT)]), max_size=3
    ),
}
"""Any field may take any of its values, however little they fit together."""


@given(st.fixed_dictionaries({}, optional=codes), st.booleans(), st.booleans())
def test_whatever_a_sealed_verdict_says_only_what_it_proves_admits(
    changes: dict[str, Any], fits: bool, mutating: bool
) -> None:
    verdict = {**clean_verdict(SESSION), **changes}
    if fits and verdict["operations"]:
        verdict["degraded_operation_ratio"] = verdict["degraded_operations"] / verdict["operations"]
        verdict["above_threshold"] = verdict["degraded_operation_ratio"] > 0.05
    admission = ask(seal(verdict), mutating=mutating)
    if admission.answer is AdmissionAnswer.ADMITTED:
        assert (verdict["verdict"], verdict["directive"]) == ("CLEAN_SUCCESS", "NONE")
        assert (verdict["degraded_operations"], verdict["masked"], verdict["masked_cut"]) == (0, [], 0)
        assert not verdict["contradictions"]
        assert not verdict["above_threshold"]
    elif admission.answer is AdmissionAnswer.ADMITTED_READ_ONLY:
        assert verdict["verdict"] == "DEGRADED_SUCCESS"
        assert verdict["equivalent"]
        assert mutating is False
        assert all(masked["equivalence"] == "bit_for_bit" for masked in verdict["masked"])
    if admission.admitted:
        assert verdict["contract"] == 1
        assert verdict["evidence"] == "COMPLETE"
        assert verdict["outcome_claimed"] == "success"
        assert verdict["inherited_from"] == []
    assert admission.session_id == SESSION


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.sampled_from(sorted(clean_verdict(SESSION))), anything, st.booleans())
def test_no_field_can_be_altered_after_sealing(field: str, value: Any, mutating: bool) -> None:
    verdict = clean_verdict(SESSION)
    # Who published it, and as which one, is signed, not sealed.
    assume(value != verdict[field] and field not in ("signature", "writer", "sequence"))
    # Null and empty say the same nothing, to the digest as to the reader.
    assume(not (value in (None, [], {}) and verdict[field] in (None, [], {})))
    assert not ask({**verdict, field: value}, mutating=mutating).admitted


@given(st.dictionaries(st.sampled_from(sorted(clean_verdict(SESSION))) | st.text(), anything), st.booleans())
def test_no_mapping_that_is_no_verdict_admits_or_raises(verdict: dict[str, Any], mutating: bool) -> None:
    assert ask(verdict, mutating=mutating).answer is AdmissionAnswer.UNVERIFIABLE


@given(st.sampled_from(sorted(clean_verdict(SESSION))))
def test_a_field_that_is_missing_never_makes_a_verdict_better(field: str) -> None:
    verdict = clean_verdict(SESSION)
    del verdict[field]
    resealed = verdict if field == "digest" else {**verdict, "digest": seal(verdict)["digest"]}
    decides = {
        "contract", "session_id", "verdict", "directive", "evidence", "operations", "degraded_operations",
        "degraded_operation_ratio", "threshold", "above_threshold", "equivalent", "outcome_claimed", "findings",
        "contradictions", "masked", "masked_cut", "inherited_from", "inherited_cut", "ended_at", "sequence",
        "digest", "emitters", "emitters_cut",
    }  # fmt: skip
    expected = AdmissionAnswer.UNVERIFIABLE if field in decides else AdmissionAnswer.ADMITTED
    assert ask(resealed).answer is expected
