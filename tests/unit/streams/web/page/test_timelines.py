"""Selections, recoveries and delegations on a session's page, never without what they prove."""

from typing import Any

from tests.session_parts import delegation, refusal, selection
from tests.table_records import at, session_tally, teardown
from tests.unit.streams.web.page.answering import answers_of
from tests.unit.streams.web.page.remembering import memory, put_session, put_verdict, verdict

from unmask.schemas.codes import Evidence, RecoveryState
from unmask.streams.web.page.html.session_page import session_sections
from unmask.streams.web.page.memory import Memory
from unmask.streams.web.page.values import SessionAnswer
from unmask.streams.web.page.words import RECOVERIES

USER: dict[str, Any] = {"source": "user", "scope": "session"}
CHOSEN = [
    selection("large", 1, **USER),
    selection("mini", 2, reason_code="rate_limited"),
    selection("spare", 4, emergency=True, timeline="persisted", reason_code="timeout"),
    selection("spare", 6, emergency=True, timeline="cleared", cleared_by="watchdog"),
]


def remembered(**parts: Any) -> Memory:
    known, chosen = memory(), parts.get("selections", [])
    put_session(known, session_tally(**{"selections_total": len(chosen) if chosen else None, **parts}))
    return known


def answer_of(known: Memory) -> SessionAnswer:
    answers = answers_of(known)
    facts = answers.remembered("s1")
    assert facts is not None
    return answers.session(facts)


def sections_of(known: Memory) -> dict[str, str]:
    return dict(session_sections(answer_of(known)))


def test_the_lanes_stand_beside_one_another_and_each_recovery_has_its_life() -> None:
    answer = answer_of(remembered(selections=list(reversed(CHOSEN))))
    detail = answer.detail
    assert [(line.turn, line.timeline, line.live, line.persisted, line.recovery) for line in detail.selections] == [
        (1, "live", "large", None, None),
        (2, "live", "mini", None, 1),
        (4, "persisted", "mini", "spare", 2),
        (6, "cleared", "mini", None, 2),
    ]
    assert [(line.state, line.cleared_by) for line in detail.recoveries][1] == (RecoveryState.CLEARED, "watchdog")
    html = session_sections(answer)["timelines"]
    for part in ("now: ", "still: ", "taken back: ", "(for emergencies)", "rate limited", "by watchdog", "CLEARED"):
        assert part in html
    assert "unmask timeline s1" in html


def test_what_nobody_is_known_to_tell_of_is_not_called_none() -> None:
    sections = sections_of(remembered())
    assert "nobody is known to tell of selections here. That is not a &#x27;none&#x27;." in sections["timelines"]
    assert "nobody is known to tell of delegations here" in sections["delegations"]
    assert answer_of(remembered()).detail.selections_evidence is Evidence.ABSENT


def test_the_evidence_is_the_session_s_and_is_always_shown() -> None:
    for evidence, shown in (("COMPLETE", "PENDING"), ("LOSSY", "LOSSY")):
        assert f"<span>{shown}</span>" in sections_of(remembered(selections=CHOSEN, evidence=evidence))["timelines"]
    known = remembered(selections=CHOSEN, teardowns=[teardown(9)])
    put_verdict(known, verdict())
    assert "<span>COMPLETE</span>" in sections_of(known)["timelines"]


def test_selections_that_are_not_kept_are_counted() -> None:
    html = sections_of(remembered(selections=CHOSEN, selections_total=300))["timelines"]
    assert "The newest 4 of 300." in html


def test_what_the_stream_forgot_is_told_from_the_verdict() -> None:
    kept = {
        "profile": "mini", "scope": "turn", "emergency": False, "began_at": at(1), "turn": 2, "reason_code": "timeout",
        "persisted_at": None, "state": "open", "ended_at": None, "cleared_by": None, "findings": ["PREFERENCE_DRIFT"],
    }  # fmt: skip
    known = memory()
    put_verdict(known, verdict(recoveries=[kept], user_profile="large"))
    html = sections_of(known)["timelines"]
    for part in ("The stream has forgotten the selections", "OPEN", "PREFERENCE DRIFT", "outlived its turn or window"):
        assert part in html
    assert answer_of(known).detail.user_profile == "large"


def test_delegations_have_budgets_breaker_effects_and_enforcement() -> None:
    stuck = delegation(
        budget_calls=5, tripped=True, trips=2, false_trips=1, unchanged=54, longest_unchanged=54, committed=3,
        repeated_commits=1, doubts=[{"doubt": "no_signal", "count": 3}], refusals=[refusal("gate", 4, 2, 1)],
        blocked_turns=7, longest_blocked=107,
    )  # fmt: skip
    known = remembered(delegations=[stuck], identity_conflicts=["e9"])
    running = sections_of(known)["delegations"]
    for part in (
        "10 of 5 calls", "over: calls", "TRIPPED", "54 calls unchanged", "tripped 2 times, 1 of them false",
        "3 no signal", "1 committed again", "gate: 4 (2 appealed, 1 wrong)", "7 now, 107 at most", "not judged yet",
        "Two lives claim one identity", "e9",
    ):  # fmt: skip
        assert part in running, part
    put_verdict(known, verdict(delegations=[{"delegation_id": "d1", "findings": ["STALLED_DELEGATION"]}]))
    judged = sections_of(known)["delegations"]
    assert "STALLED DELEGATION" in judged
    assert "not judged yet" not in judged


def test_a_hostile_token_that_slipped_through_is_text_and_nothing_else() -> None:
    html = "".join(
        sections_of(remembered(selections=[selection("<b>x</b>", 1)], delegations=[delegation("<i>")])).values()
    )
    assert "&lt;b&gt;x&lt;/b&gt;" in html
    assert "<b>" not in html
    assert "<i>" not in html


def test_every_state_of_a_recovery_has_its_words() -> None:
    assert set(RECOVERIES) == set(RecoveryState)
