"""Verdicts as the recount sees them, rule by rule."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.consumers.verify.hosts import BLUE, Host, Log, at
from tests.unit.consumers.verify.recounting import recount_of

from unmask.consumers.verify.evidence import AsOf
from unmask.consumers.verify.judgement import Judgement, NotJudged, judge
from unmask.consumers.verify.rules import RecountRules
from unmask.schemas.codes import Directive

END = 20.0


def judged(
    log: Log, *, through: float = 25, threshold: float = 0.05, inherited: tuple[Directive, ...] = (), **keep: int
) -> Judgement | NotJudged:
    recount = recount_of(log, RecountRules(), None, **keep)
    as_of = AsOf({0: at(through), 1: at(through)}, {0: 0, 1: 0})
    return judge(recount, as_of, recount.sessions["s-1"], threshold=threshold, inherited=inherited)


def told(found: Judgement | NotJudged, *names: str) -> tuple[Any, ...]:
    assert isinstance(found, Judgement), found
    return tuple(found.fields[name] for name in names)


def session(act: Callable[[Host], None] = lambda _host: None, **teardown: Any) -> Log:
    host, log = Host("e-1"), Log()
    host.opening(1, "s-1")
    log.append(1, host.cut(1))
    act(host)
    log.append(10, host.cut(10))
    host.teardown(END, "s-1", **teardown)
    log.append(END, host.cut(END))
    return log


def test_a_session_without_any_fallback_is_clean() -> None:
    found = judged(session())
    assert told(found, "verdict", "directive", "evidence", "degraded_operation_ratio", "outcome_claimed") == (
        "CLEAN_SUCCESS",
        "NONE",
        "COMPLETE",
        0.0,
        "success",
    )
    assert isinstance(found, Judgement)
    assert found.ended_at == at(END)


@pytest.mark.parametrize("outcome", ["failure", "unknown_outcome"])
def test_an_objective_that_was_not_reached_halts(outcome: str) -> None:
    found = judged(session(lambda host: host.masked(5, "s-1", "op-1"), outcome=outcome, degraded=1))
    assert told(found, "verdict", "directive") == ("HARD_FAILURE", "HALT_AND_ALERT_DEVELOPER")


@pytest.mark.parametrize(
    ("signature", "directive"),
    [
        ("HTTP_503", "PROBE_UPSTREAM_BEFORE_ACTION"),
        ("TIMEOUT_5000ms", "PROBE_UPSTREAM_BEFORE_ACTION"),
        ("HTTP_429", "PROBE_UPSTREAM_BEFORE_ACTION"),
        ("HTTP_500", "RE_FETCH_FROM_PRIMARY"),
        ("INVALID_RESPONSE", "RE_FETCH_FROM_PRIMARY"),
    ],
)
def test_a_masked_error_degrades_and_its_upstream_decides_the_directive(signature: str, directive: str) -> None:
    found = judged(
        session(lambda host: host.masked(5, "s-1", "op-1", masked_upstream_signature=signature), degraded=1)
    )  # fmt: skip
    assert told(found, "verdict", "directive", "degraded_operations", "masked") == (
        "DEGRADED_SUCCESS",
        directive,
        1,
        1,
    )


def test_operations_are_counted_and_not_hops() -> None:
    def hops(host: Host) -> None:
        for signature in ("HTTP_429", "HTTP_503"):
            host.masked(5, "s-1", "op-1", masked_upstream_signature=signature)
        host.fallback(6, session_id="s-1", operation_id="op-1")
        host.fallback(7, session_id="s-1", operation_id="op-2")
        host.fallback(8, session_id="s-1")

    found = judged(session(hops, operations=30, degraded=3))
    assert told(found, "degraded_operations", "operations", "degraded_operation_ratio", "contradictions") == (
        3,
        30,
        0.1,
        "",
    )


def test_a_share_never_exceeds_one_and_the_threshold_is_strict() -> None:
    def mask(host: Host) -> None:
        host.masked(5, "s-1", "op-1")

    assert told(judged(session(mask, operations=0, degraded=1)), "operations", "degraded_operation_ratio") == (1, 1.0)
    assert told(judged(session(mask, operations=20, degraded=1)), "above_threshold") == (False,)
    assert told(judged(session(mask, operations=19, degraded=1)), "above_threshold") == (True,)
    assert told(judged(session(operations=0)), "degraded_operation_ratio", "above_threshold") == (None, False)


@pytest.mark.parametrize(
    ("proofs", "equivalent"),
    [(["bit_for_bit"], True), (["bit_for_bit", "unproven"], False), (["different"], False), ([], False)],
)
def test_equivalence_needs_proof_of_every_degraded_operation(proofs: list[str], equivalent: bool) -> None:
    def act(host: Host) -> None:
        host.fallback(4, session_id="s-1", operation_id="op-1")
        for proof in proofs:
            host.masked(5, "s-1", "op-1", equivalence=proof)

    assert told(judged(session(act, degraded=1)), "equivalent") == (equivalent,)


def test_what_only_the_host_speaks_of_is_degraded_and_proven_by_nobody() -> None:
    found = judged(session(degraded=2))
    assert told(found, "verdict", "degraded_operations", "equivalent") == ("DEGRADED_SUCCESS", 2, False)


def test_a_host_that_claims_less_than_the_log_holds_is_contradicted() -> None:
    def mask(host: Host) -> None:
        host.masked(5, "s-1", "op-1")
        host.fallback(6, session_id="s-1", operation_id="op-2")

    claims = [{"family": "masked_error", "count": 0}]
    found = judged(session(mask, operations=1, degraded=0, claims=claims))
    assert told(found, "contradictions", "degraded_operations", "operations") == (
        "degraded_operations kernel_fallbacks masked_errors operations",
        2,
        2,
    )


def test_two_teardowns_that_disagree_are_a_contradiction_and_the_worse_word_stands() -> None:
    log, host = session(), Host("e-1", seq=3)
    host.recorded["session_teardown"] = 1
    host.teardown(21, "s-1", outcome="failure")
    log.append(21, host.cut(21))
    found = judged(log)
    assert told(found, "verdict", "contradictions") == ("HARD_FAILURE", "teardowns_disagree")


def test_lost_session_events_leave_no_clean_verdict() -> None:
    found = judged(session(lambda host: host.drop("masked_error")))
    assert told(found, "verdict", "directive", "evidence") == ("DEGRADED_SUCCESS", "RE_FETCH_FROM_PRIMARY", "LOSSY")
    assert told(judged(session(lambda host: host.drop("route_attempt"))), "verdict") == ("CLEAN_SUCCESS",)


def test_an_open_directive_of_the_predecessor_is_inherited_and_the_stricter_one_stands() -> None:
    found = judged(session(), inherited=(Directive.RE_FETCH_FROM_PRIMARY,))
    assert told(found, "verdict", "directive") == ("DEGRADED_SUCCESS", "RE_FETCH_FROM_PRIMARY")
    mask = session(lambda host: host.masked(5, "s-1", "op-1"), degraded=1)
    assert told(judged(mask, inherited=(Directive.RE_FETCH_FROM_PRIMARY,)), "directive") == (
        "PROBE_UPSTREAM_BEFORE_ACTION",
    )
    assert told(judged(session(), inherited=(Directive.HALT_AND_ALERT_DEVELOPER,)), "directive") == (
        "HALT_AND_ALERT_DEVELOPER",
    )


def opened_only(closing: bool = False) -> Log:
    host, log = Host("e-1"), Log()
    host.opening(1, "s-1")
    host.masked(2, "s-1", "op-1")
    log.append(3, host.cut(3, closing=closing))
    return log


def test_a_session_whose_emitter_closed_or_fell_silent_without_a_teardown_failed() -> None:
    for log in (opened_only(closing=True), opened_only()):
        found = judged(log, through=100)
        assert told(found, "verdict", "directive", "evidence", "outcome_claimed", "degraded_operations") == (
            "HARD_FAILURE",
            "HALT_AND_ALERT_DEVELOPER",
            "LOSSY",
            None,
            1,
        )


def test_a_session_that_goes_on_is_not_judged() -> None:
    assert judged(opened_only(), through=20) == NotJudged("it has not ended", ended=False)


def test_a_session_that_another_emitter_still_owes_an_account_of_is_not_judged_yet() -> None:
    log, other = session(), Host("e-2")
    other.masked(5, "s-1", "op-9")
    log.append(6, other.cut(6))
    assert judged(log) == NotJudged("an emitter of it has not accounted up to its end yet")
    found = judged(log, through=100)
    assert told(found, "evidence", "degraded_operations") == ("LOSSY", 1)
    log.append(101, other.cut(101))
    assert told(judged(log, through=102), "evidence") == ("COMPLETE",)


def test_a_session_that_began_before_the_oldest_record_is_not_judged() -> None:
    found = judged(session(), p0=1)
    assert found == NotJudged("a part of it lies beyond the log's retained head")


def test_a_session_opened_again_after_its_end_is_not_judged() -> None:
    log, host = session(), Host("e-1", seq=3)
    host.recorded["session_teardown"] = 1
    host.opening(21, "s-1")
    log.append(22, host.cut(22))
    assert judged(log) == NotJudged("it was opened again after it had ended")


def test_what_several_emitters_did_for_a_session_is_added_up() -> None:
    log, other = session(lambda host: host.masked(5, "s-1", "op-1"), operations=10, degraded=1), Host("e-2")
    other.teardown(21, "s-1", operations=30)
    log.append(21, other.cut(21, closing=True))
    assert told(judged(log), "operations", "degraded_operations", "contradictions") == (40, 1, "")


@pytest.mark.parametrize(("lost_until", "evidence"), [(END + 3, "COMPLETE"), (END, "LOSSY")])
def test_a_loss_after_the_cut_that_told_of_a_sessions_end_is_not_the_sessions(lost_until: float, evidence: str) -> None:
    """The host is an hour ahead, so that its session ends at a cut; two cuts at one instant cannot be told apart."""
    host, log = Host("e-1", started=3_600), Log()
    host.opening(3_601, "s-1")
    log.append(1, host.cut(3_601))
    if evidence == "COMPLETE":
        host.teardown(3_600 + END, "s-1")
        log.append(END, host.cut(3_600 + END))
        host.drop("kernel_fallback")
    else:
        log.append(END, host.cut(3_600 + END))
        host.drop("kernel_fallback")
        host.teardown(3_601 + END, "s-1")
    log.append(lost_until, host.cut(3_603 + END, closing=True))
    assert told(judged(log), "evidence") == (evidence,)


def test_lost_selections_spoil_the_sessions_in_which_their_host_told_of_any() -> None:
    silent = session(lambda host: host.drop("route_selection"))
    assert told(judged(silent), "verdict", "evidence") == ("CLEAN_SUCCESS", "COMPLETE")

    def tells(host: Host) -> None:
        host.selection(5, "s-1")
        host.drop("route_selection")

    assert told(judged(session(tells)), "evidence") == ("LOSSY",)

    def works(host: Host) -> None:
        host.call(5, "s-1")
        host.drop("route_selection")

    # It told of delegations alone, of which nothing is lost.
    assert told(judged(session(works)), "evidence") == ("COMPLETE",)


@pytest.mark.parametrize(
    "changes",
    [
        {"sent_at": at(10) + 1},
        {"emitter": {"emitter_id": "e-1", "started_at": at(3), "scope": BLUE._asdict(), "heartbeat_ms": 1, "sdk": "x"}},
    ],
)
def test_a_session_of_an_emitter_that_two_lives_claim_is_not_judged(changes: dict[str, Any]) -> None:
    host, log = Host("e-1"), Log()
    host.opening(1, "s-1")
    log.append(1, host.cut(1))
    batch = host.cut(10)
    log.append(10, batch)
    log.append(11, {**batch, **changes})
    host.teardown(END, "s-1")
    log.append(END, host.cut(END))
    found = judged(log)
    assert isinstance(found, NotJudged)
    assert "two lives" in found.why
