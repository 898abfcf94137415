"""Refusals and admissions that later records show to have been right or wrong."""

from typing import Any

import pytest

from unmask.consumers.gate import Enforcement, Outcome, Report

PROBE, REFETCH = "PROBE_UPSTREAM_BEFORE_ACTION", "RE_FETCH_FROM_PRIMARY"


def asked(question: str, answer: str, *, session: str = "s1", digest: str | None = "d1", directive: str | None = None):  # type: ignore[no-untyped-def]
    return step("ASKED", question, answer, session=session, digest=digest, directive=directive)


def step(
    name: str, question: str, answer: str = "ADMITTED", *, session: str = "s1", digest: str | None = "d1",
    directive: str | None = None, by: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    return {
        "step": name, "admission_id": question, "session_id": session, "answer": answer, "verdict_digest": digest,
        "directive": directive, "by": by,
    }  # fmt: skip


def report(*records: dict[str, Any]) -> Report:
    enforcement = Enforcement()
    for record in records:
        enforcement.take(record)
    return enforcement.report()


def outcomes(*records: dict[str, Any]) -> dict[str, int]:
    return {str(outcome): count for outcome, count in report(*records).outcomes.items()}


def test_a_probe_that_succeeds_at_once_shows_that_the_refusal_was_not_needed() -> None:
    refused = asked("q1", "RECONCILE_FIRST", directive=PROBE)
    found = report(refused, step("RECONCILED", "q1", directive=PROBE))
    assert found.outcomes == {Outcome.REFUSED_LATER_CLEAR: 1}
    assert found.refusals_upheld == 0.0


def test_a_probe_that_failed_first_upholds_it_whatever_comes_later() -> None:
    refused = asked("q1", "RECONCILE_FIRST", directive=PROBE)
    found = report(refused, step("RECONCILE_FAILED", "q1", "RECONCILE_FIRST"), step("RECONCILED", "q1"))
    assert found.outcomes == {Outcome.UPHELD: 1}
    assert found.refusals_upheld == 1.0


def test_a_re_fetch_did_what_the_refusal_asked_for() -> None:
    refused = asked("q1", "RECONCILE_FIRST", directive=REFETCH)
    assert outcomes(refused, step("RECONCILED", "q1", directive=REFETCH)) == {"reconciled": 1}


def test_an_override_says_nothing_about_who_was_right_and_is_counted_by_name() -> None:
    found = report(
        asked("q1", "HALTED"), step("OVERRIDDEN", "q1", by="ana"), asked("q2", "HALTED"),
        step("OVERRIDDEN", "q2", by="ana"), asked("q3", "WITHDRAWN"), step("OVERRIDDEN", "q3", by="bo"),
    )  # fmt: skip
    assert found.outcomes == {Outcome.OVERRIDDEN: 3}
    assert found.overrides == {"ana": 2, "bo": 1}
    assert found.refusals_upheld is None


@pytest.mark.parametrize("answer", ["NOT_READY", "UNPROVEN"])
def test_a_refusal_for_lack_of_knowledge_was_wrong_if_the_session_proves_clean(answer: str) -> None:
    refused = asked("q1", answer, digest=None)
    clean = asked("q2", "ADMITTED", digest="d2", directive="NONE")
    assert outcomes(refused, clean) == {"refused_later_clear": 1, "admitted": 1}
    # That somebody carried its directive out meanwhile does not make it clean.
    repaired = asked("q2", "ADMITTED", digest="d2", directive=PROBE)
    assert outcomes(refused, repaired) == {"open": 1, "admitted": 1}


@pytest.mark.parametrize("answer", ["NOT_READY", "UNPROVEN"])
def test_and_right_if_the_session_proves_degraded_or_failed(answer: str) -> None:
    for later in ("RECONCILE_FIRST", "HALTED"):
        assert outcomes(asked("q1", answer), asked("q2", later, digest="d2")) == {"upheld": 1, "open": 1}


@pytest.mark.parametrize("answer", ["NO_VERDICT", "WITHDRAWN", "UNVERIFIABLE", "HALTED", "RECONCILE_FIRST"])
def test_other_refusals_were_right_when_they_were_given(answer: str) -> None:
    clean = asked("q2", "ADMITTED", digest="d2", directive="NONE")
    assert outcomes(asked("q1", answer), clean) == {"open": 1, "admitted": 1}


def test_an_admission_is_shown_wrong_by_a_later_verdict_that_refuses() -> None:
    admitted = asked("q1", "ADMITTED", directive="NONE")
    assert outcomes(admitted, asked("q2", "RECONCILE_FIRST", digest="d2")) == {"admitted_later_refused": 1, "open": 1}
    assert outcomes(admitted, asked("q2", "NOT_READY", digest=None)) == {"admitted": 1, "open": 1}


def test_sessions_do_not_speak_for_one_another() -> None:
    clean = asked("q2", "ADMITTED", session="s2", digest="d2", directive="NONE")
    assert outcomes(asked("q1", "NOT_READY"), clean) == {"open": 1, "admitted": 1}


def test_withdrawals_are_counted_apart_and_everything_is_json() -> None:
    found = report(asked("q1", "ADMITTED"), step("WITHDRAWN", "w1", "WITHDRAWN", by="ana"))
    told = found.as_dict()
    assert (told["questions"], told["withdrawals"], told["answers"]["ADMITTED"]) == (1, 1, 1)
    assert set(told["outcomes"]) == {str(outcome) for outcome in Outcome}
    assert told["overrides"] == {}


def test_a_step_of_a_question_that_was_never_seen_counts_only_as_what_it_is() -> None:
    found = report(step("OVERRIDDEN", "lost", by="ana"), step("RECONCILED", "lost"))
    assert found.questions == 0
    assert found.overrides == {"ana": 1}


def test_an_appeal_settles_nothing_and_is_counted() -> None:
    found = report(asked("q1", "HALTED"), step("APPEALED", "q1", "HALTED", by="ana"), step("APPEALED", "q1", "HALTED"))
    assert (found.appealed, found.vindicated, found.outcomes) == (1, 0, {Outcome.OPEN: 1})


def test_a_vindication_shows_that_a_refusal_was_wrong() -> None:
    found = report(asked("q1", "HALTED"), step("VINDICATED", "q1", "HALTED", by="ana"))
    assert (found.vindicated, found.outcomes, found.refusals_upheld) == (1, {Outcome.REFUSED_LATER_CLEAR: 1}, 0.0)


def test_an_override_that_turned_out_right_is_a_wrong_refusal_and_what_a_probe_upheld_stays_so() -> None:
    overridden = report(
        asked("q1", "HALTED"), step("OVERRIDDEN", "q1", by="ana"), step("VINDICATED", "q1", "HALTED", by="bo")
    )
    assert overridden.outcomes == {Outcome.REFUSED_LATER_CLEAR: 1}
    upheld = report(
        asked("q1", "RECONCILE_FIRST", directive=PROBE), step("RECONCILE_FAILED", "q1", "RECONCILE_FIRST"),
        step("VINDICATED", "q1", "RECONCILE_FIRST", by="bo"),
    )  # fmt: skip
    assert (upheld.outcomes, upheld.vindicated) == ({Outcome.UPHELD: 1}, 1)
