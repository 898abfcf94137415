"""Each rule of the verdict, on sessions as the ledger tells of them."""

from typing import Any

import pytest
from tests.table_records import at, masked, session_tally, teardown

from unmask.schemas.codec import decode, encode
from unmask.schemas.codes import Directive
from unmask.schemas.verdict_digest import verify_digest
from unmask.streams.verdict import Obligation, adjudicate


def judged(*tallies: dict[str, Any], threshold: float = 0.05, obligations: tuple[Obligation, ...] = ()) -> Any:
    verdict = adjudicate(tallies, threshold=threshold, obligations=obligations)
    assert verdict is not None
    return verdict


def degraded_session(operations: int, names: list[str], **parts: Any) -> dict[str, Any]:
    errors = [masked(name) for name in names]
    claims = {"masked_error": len(errors)}
    return session_tally(
        degraded=names, masked=errors, unreachable=len(errors),
        **{"teardowns": [teardown(operations, len(names), claims=claims)], **parts},
    )  # fmt: skip


def test_a_running_session_has_no_verdict() -> None:
    assert adjudicate([session_tally()], threshold=0.05) is None


def test_a_session_without_any_snapshot_cannot_be_judged() -> None:
    with pytest.raises(ValueError, match="at least one"):
        adjudicate([], threshold=0.05)


def test_no_fallback_and_complete_evidence_is_clean() -> None:
    verdict = judged(session_tally(teardowns=[teardown(40, claims={"route_attempt": 40})]))
    assert (verdict["verdict"], verdict["directive"], verdict["evidence"]) == ("CLEAN_SUCCESS", "NONE", "COMPLETE")
    assert (verdict["degraded_operation_ratio"], verdict["findings"]) == (0.0, [])


@pytest.mark.parametrize("outcome", ["failure", "unknown_outcome"])
def test_an_objective_that_was_not_reached_is_a_hard_failure(outcome: str) -> None:
    verdict = judged(session_tally(teardowns=[teardown(40, outcome=outcome)]))
    assert (verdict["verdict"], verdict["directive"]) == ("HARD_FAILURE", "HALT_AND_ALERT_DEVELOPER")


def test_a_session_that_was_left_open_is_a_hard_failure() -> None:
    verdict = judged(session_tally(abandoned_at=at(9)))
    assert (verdict["verdict"], verdict["directive"]) == ("HARD_FAILURE", "HALT_AND_ALERT_DEVELOPER")
    assert "ABANDONED" in verdict["findings"]
    assert (verdict["outcome_claimed"], verdict["ended_at"], verdict["degraded_operation_ratio"]) == (None, at(9), None)


def test_an_outage_in_eleven_of_fifty_operations_is_degraded_though_it_recovered() -> None:
    """F02."""
    verdict = judged(degraded_session(50, [f"op{n}" for n in range(10, 21)]))
    assert (verdict["verdict"], verdict["directive"]) == ("DEGRADED_SUCCESS", "PROBE_UPSTREAM_BEFORE_ACTION")
    assert (verdict["degraded_operations"], verdict["degraded_operation_ratio"]) == (11, 0.22)
    assert verdict["above_threshold"] is True
    assert "PHANTOM_STABILITY" in verdict["findings"]


def test_one_operation_that_two_layers_report_is_one_degraded_operation() -> None:
    """F05: the host counts it once; two emitters of one session still name one operation."""
    one = degraded_session(20, ["op1"], partition=0)
    other = degraded_session(20, ["op1"], partition=1, emitters=["e2"], teardowns=[])
    verdict = judged(one, other)
    assert (verdict["degraded_operations"], verdict["degraded_operation_ratio"]) == (1, 0.05)


def test_operations_count_and_hops_do_not() -> None:
    """F01: every hop of an operation is in the receipts, and the ratio stays at or below 1."""
    errors = [masked("op1", upstream="a"), masked("op1", upstream="b", signature="QUOTA_EXHAUSTED")]
    verdict = judged(
        session_tally(degraded=["op1"], masked=errors, unreachable=2, exhausted=1, teardowns=[teardown(1, 1)])
    )
    assert (verdict["degraded_operation_ratio"], len(verdict["masked"])) == (1.0, 2)


@pytest.mark.parametrize(("operations", "above"), [(20, False), (19, True), (60, False), (100, False)])
def test_exactly_five_per_cent_is_not_above(operations: int, above: bool) -> None:
    count = 3 if operations == 60 else 5 if operations == 100 else 1
    verdict = judged(degraded_session(operations, [f"op{n}" for n in range(count)]))
    assert verdict["above_threshold"] is above
    assert verdict["verdict"] == "DEGRADED_SUCCESS"


def test_a_reachable_upstream_asks_for_the_primary_answer_only() -> None:
    tally = session_tally(
        degraded=["op1"], masked=[masked("op1", signature="INVALID_RESPONSE")], teardowns=[teardown(10, 1)]
    )
    assert judged(tally)["directive"] == "RE_FETCH_FROM_PRIMARY"


@pytest.mark.parametrize("evidence", ["LOSSY", "PENDING", "ABSENT"])
def test_a_clean_claim_without_complete_evidence_is_not_clean(evidence: str) -> None:
    verdict = judged(session_tally(evidence=evidence, teardowns=[teardown(40)]))
    assert (verdict["verdict"], verdict["evidence"]) == ("DEGRADED_SUCCESS", evidence)
    assert verdict["directive"] == "RE_FETCH_FROM_PRIMARY"
    assert verdict["findings"] == ["LOSSY_EVIDENCE"]


def test_no_operations_have_no_ratio() -> None:
    """Z02: 0/0 is null with a state, and never a NaN."""
    verdict = judged(session_tally(teardowns=[teardown(0)]))
    assert (verdict["degraded_operation_ratio"], verdict["verdict"]) == (None, "CLEAN_SUCCESS")
    assert verdict["above_threshold"] is False


def test_a_session_that_nobody_witnessed_is_not_clean() -> None:
    """Z03."""
    assert judged(session_tally(evidence="ABSENT", teardowns=[teardown(0)]))["verdict"] == "DEGRADED_SUCCESS"


def test_a_host_that_claims_fewer_degraded_operations_is_contradicted() -> None:
    names = ["op1", "op2", "op3"]
    verdict = judged(degraded_session(40, names, teardowns=[teardown(40, 0, claims={"masked_error": 0})]))
    assert verdict["contradictions"] == ["degraded_operations", "masked_errors"]
    assert "CONTRADICTED" in verdict["findings"]
    assert (verdict["verdict"], verdict["degraded_operations"]) == ("DEGRADED_SUCCESS", 3)


def test_more_degraded_operations_than_claimed_operations_keep_the_ratio_at_one() -> None:
    verdict = judged(degraded_session(2, ["op1", "op2", "op3"]))
    assert "operations" in verdict["contradictions"]
    assert (verdict["operations"], verdict["degraded_operation_ratio"]) == (3, 1.0)


def test_a_host_that_counted_fewer_fallbacks_is_contradicted() -> None:
    tally = session_tally(fallbacks=4, degraded=["op1"], teardowns=[teardown(40, 1, claims={"kernel_fallback": 3})])
    assert judged(tally)["contradictions"] == ["kernel_fallbacks"]


def test_a_host_that_says_nothing_of_its_counts_is_not_contradicted_by_them() -> None:
    assert judged(degraded_session(40, ["op1"], teardowns=[teardown(40, 1)]))["contradictions"] == []


def test_a_host_that_claims_more_than_was_seen_is_taken_at_its_word() -> None:
    verdict = judged(session_tally(teardowns=[teardown(40, 8)]))
    assert (verdict["degraded_operations"], verdict["verdict"]) == (8, "DEGRADED_SUCCESS")
    assert (verdict["contradictions"], verdict["equivalent"]) == ([], False)


def test_the_newest_teardown_counts_and_a_clean_one_never_takes_a_degraded_one_back() -> None:
    first = teardown(40, 4, minute=5)
    second = teardown(50, 0, minute=6)
    verdict = judged(session_tally(teardowns=[second, first]))
    assert (verdict["operations"], verdict["ended_at"]) == (50, at(6))
    assert (verdict["verdict"], verdict["degraded_operations"]) == ("DEGRADED_SUCCESS", 4)
    assert "teardowns_disagree" in verdict["contradictions"]


def test_two_clean_teardowns_that_disagree_are_not_clean() -> None:
    verdict = judged(session_tally(teardowns=[teardown(40, minute=5), teardown(41, minute=6)]))
    assert (verdict["contradictions"], verdict["verdict"]) == (["teardowns_disagree"], "DEGRADED_SUCCESS")


def test_a_later_success_does_not_take_a_failure_back() -> None:
    teardowns = [teardown(40, outcome="failure", minute=5), teardown(40, minute=6)]
    assert judged(session_tally(teardowns=teardowns))["verdict"] == "HARD_FAILURE"


def test_the_same_teardown_seen_twice_does_not_disagree() -> None:
    verdict = judged(session_tally(teardowns=[teardown(40)]), session_tally(partition=1, teardowns=[teardown(40)]))
    assert verdict["contradictions"] == []


def test_equivalence_needs_every_degraded_operation_proven() -> None:
    proven = masked("op1", equivalence="bit_for_bit")
    tally = session_tally(degraded=["op1"], masked=[proven], not_equivalent=0, teardowns=[teardown(10, 1)])
    assert judged(tally)["equivalent"] is True
    assert judged(tally | {"not_equivalent": 1})["equivalent"] is False


@pytest.mark.parametrize(
    ("parts", "finding"),
    [
        ({"shape_drifts": 1}, "SCHEMA_DRIFT"),
        ({"exhausted": 2}, "EXHAUSTION"),
        ({"unreachable": 1, "masked_errors": 1}, "PHANTOM_STABILITY"),
    ],
)
def test_patterns_are_found(parts: dict[str, Any], finding: str) -> None:
    assert finding in judged(session_tally(teardowns=[teardown(10)], **parts))["findings"]


def test_one_rate_limit_is_not_yet_exhaustion() -> None:
    assert "EXHAUSTION" not in judged(session_tally(exhausted=1, teardowns=[teardown(10)]))["findings"]


def test_a_failed_session_has_no_phantom_stability() -> None:
    tally = session_tally(unreachable=3, teardowns=[teardown(10, outcome="failure")])
    assert "PHANTOM_STABILITY" not in judged(tally)["findings"]


def test_an_open_directive_of_the_predecessor_is_inherited() -> None:
    left = Obligation("s0", Directive.PROBE_UPSTREAM_BEFORE_ACTION, ("s-1",))
    verdict = judged(session_tally(predecessor_session_id="s0", teardowns=[teardown(10)]), obligations=(left,))
    assert (verdict["verdict"], verdict["directive"]) == ("DEGRADED_SUCCESS", "PROBE_UPSTREAM_BEFORE_ACTION")
    assert (verdict["findings"], verdict["inherited_from"]) == (["INHERITED"], ["s0", "s-1"])


def test_of_two_directives_the_stricter_one_stands() -> None:
    left = Obligation("s0", Directive.HALT_AND_ALERT_DEVELOPER)
    verdict = judged(degraded_session(40, ["op1"]), obligations=(left,))
    assert verdict["directive"] == "HALT_AND_ALERT_DEVELOPER"


def test_an_emitter_that_left_the_session_open_leaves_a_doubt_though_another_one_ended_it() -> None:
    left = session_tally(partition=1, emitters=["e2"], last_seen_at=at(2), abandoned_at=at(4))
    verdict = judged(session_tally(teardowns=[teardown(10)]), left)
    assert (verdict["verdict"], verdict["evidence"]) == ("DEGRADED_SUCCESS", "LOSSY")
    assert "ABANDONED" in verdict["findings"]


def test_a_session_that_another_emitter_took_up_is_not_abandoned() -> None:
    left = session_tally(partition=1, emitters=["e2"], last_seen_at=at(2), abandoned_at=at(4))
    assert adjudicate([left, session_tally(last_seen_at=at(6))], threshold=0.05) is None


def test_only_the_first_receipts_are_listed_and_the_others_counted() -> None:
    names = [f"op{n:03}" for n in range(70)]
    tally = degraded_session(100, names)
    tally["masked"] = tally["masked"][:64]
    verdict = judged(tally, session_tally(partition=1, masked=[masked("zz", minute=9)], degraded=["zz"]))
    assert (len(verdict["masked"]), verdict["masked_cut"]) == (64, 7)


def test_operations_beyond_the_list_are_counted_as_they_are() -> None:
    tally = session_tally(degraded=["op1"], degraded_operations_total=1500, teardowns=[teardown(10_000, 1500)])
    assert judged(tally)["degraded_operations"] == 1500


def test_the_digest_covers_the_verdict_and_the_record_fits_its_schema() -> None:
    verdict = judged(degraded_session(40, ["op1", "op2"]))
    assert verify_digest(verdict)
    assert decode("verdict", encode("verdict", verdict)) == verdict
    assert not verify_digest({**verdict, "directive": "NONE"})
