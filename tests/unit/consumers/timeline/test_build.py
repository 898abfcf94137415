"""A session's timelines: in order, each recovery with its life, and never a none that nobody proved."""

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.json_schema_check import violations
from tests.session_parts import delegation, selection
from tests.table_records import at, session_tally, teardown

from unmask.consumers.record_answers import EXIT_CODES, RecordAnswer
from unmask.consumers.testing import clean_verdict
from unmask.consumers.timeline import (
    SessionRecord,
    Timeline,
    Turns,
    build_timeline,
    draw,
    json_schema,
    nothing_to_show,
    parse_turns,
)
from unmask.consumers.timeline.turns import TurnsError
from unmask.schemas.codes import Evidence, Family, Finding, RecoveryState
from unmask.schemas.verdict_digest import seal

USER: dict[str, Any] = {"source": "user", "scope": "session"}
CHOSEN = [
    selection("large", 1, **USER),
    selection("large", 1, **USER, timeline="persisted"),
    selection("mini", 2, reason_code="rate_limited"),
    selection("spare", 4, emergency=True, reason_code="timeout"),
    selection("spare", 4, emergency=True, timeline="persisted", minute=0.41),
    selection("spare", 6, emergency=True, timeline="cleared", cleared_by="watchdog"),
    selection("large", 6, **USER, minute=0.61),
]


def tally(**parts: Any) -> dict[str, Any]:
    chosen = parts.get("selections", [])
    return session_tally(**{"selections_total": len(chosen) if chosen else None, **parts})


def judged(**changes: Any) -> dict[str, Any]:
    """A believed verdict, decoded: with the keys that the codec fills in."""
    later: dict[str, Any] = {"user_profile": None, "recoveries": [], "delegations": []}
    return seal(clean_verdict("s1", ended_at=at(5), **{**later, **changes}))


def record(*tallies: dict[str, Any], witnessed: Any = frozenset(), **parts: Any) -> SessionRecord:
    return SessionRecord("s1", tallies, witnessed=witnessed, **parts)


def shown(found: Timeline) -> str:
    console = Console(width=100)
    with console.capture() as captured:
        console.print(draw(found))
    return captured.get()


def test_the_three_lanes_stand_over_one_another_turn_by_turn() -> None:
    found = build_timeline(record(tally(selections=list(reversed(CHOSEN)))), now=at(9))
    assert found.selections is not None
    assert [(m.turn, m.timeline, m.live, m.persisted, m.recovery) for m in found.selections.moments] == [
        (1, "live", "large", None, None),
        (1, "persisted", "large", "large", None),
        (2, "live", "mini", "large", 1),
        (4, "live", "spare", "large", 2),
        (4, "persisted", "spare", "spare", 2),
        (6, "cleared", None, None, 2),
        (6, "live", "large", None, None),
    ]
    text = shown(found)
    for part in ("● mini", "│ large", "● spare", "(emergency)", "✕ spare", "by watchdog", "rate_limited"):
        assert part in text


def test_each_recovery_has_its_life_and_those_that_hold_are_open() -> None:
    found = build_timeline(record(tally(selections=CHOSEN[:3])), now=at(0.2))
    (mini,) = found.recoveries
    assert (mini.state, mini.reason_code, mini.ended_at, mini.turn) == (RecoveryState.OPEN, "rate_limited", None, 2)
    assert mini.words.endswith("because of rate_limited; it still holds.")
    first, spare = build_timeline(record(tally(selections=CHOSEN)), now=at(9)).recoveries
    assert first.state is RecoveryState.EXPIRED
    assert (spare.state, spare.cleared_by, spare.persisted_at is None) == (RecoveryState.CLEARED, "watchdog", False)
    assert "the watchdog took it back in turn 6" in spare.words
    assert Finding.PREFERENCE_DRIFT in spare.findings


def test_the_user_s_last_choice_is_told_and_not_the_recovery() -> None:
    assert build_timeline(record(tally(selections=CHOSEN)), now=at(9)).user_profile == "large"


def test_turns_leave_out_what_lies_outside_and_keep_what_still_holds() -> None:
    found = build_timeline(record(tally(selections=CHOSEN)), now=at(9), turns=Turns(5, 6))
    assert found.selections is not None
    assert {moment.turn for moment in found.selections.moments} == {6}
    # It began in turn 4, and was taken back within the turns that were asked for.
    assert [part.number for part in found.recoveries] == [2]
    assert found.turns is not None
    assert (found.selections.on_record, found.turns.first, found.turns.last) == (7, 5, 6)


@pytest.mark.parametrize(
    ("text", "turns"), [(None, (None, None)), ("7", (7, 7)), ("3-9", (3, 9)), ("3-", (3, None)), ("-9", (None, 9))]
)
def test_turns_are_one_or_a_range(text: str | None, turns: tuple[int | None, int | None]) -> None:
    assert parse_turns(text) == turns


@pytest.mark.parametrize("text", ["", "-", "a", "9-3", "1-2-3", "1 2"])
def test_what_is_no_turn_is_refused(text: str) -> None:
    with pytest.raises(TurnsError):
        parse_turns(text)


def test_nobody_who_tells_is_never_called_none() -> None:
    found = build_timeline(record(tally()), now=at(9))
    assert found.selections is not None
    assert found.delegations is not None
    for part, what in ((found.selections, "selections"), (found.delegations, "delegations")):
        assert part.evidence is Evidence.ABSENT
        assert part.evidence_words.startswith(f"nobody tells of {what} here")
    text = shown(found)
    assert "nobody tells of selections here" in text
    # What nobody tells of has no findings and no user's choice, not even the lack of them.
    assert "no finding" not in text
    assert "The user chose last" not in text


@pytest.mark.parametrize(
    ("evidence", "words"),
    [("COMPLETE", "The user chose last: large"), ("LOSSY", "on record the user chose last: large")],
)
def test_what_the_user_chose_last_is_said_with_what_it_rests_on(evidence: str, words: str) -> None:
    ended = tally(selections=CHOSEN, evidence=evidence, teardowns=[teardown(9)])
    judgement = judged() if evidence == "COMPLETE" else judged(evidence=evidence)
    assert words in shown(build_timeline(record(ended, verdict=judgement), now=at(9)))


def test_an_emitter_that_two_partitions_know_is_two_lives_with_one_name() -> None:
    found = build_timeline(record(tally(), tally(partition=1)), now=at(9))
    assert found.session is not None
    assert found.session.identity_conflicts == ["e1"]
    assert "Two lives claim one identity: e1" in shown(found)
    apart = build_timeline(record(tally(), tally(partition=1, emitters=["e2"])), now=at(9))
    assert apart.session is not None
    assert apart.session.identity_conflicts == []


def test_a_none_is_said_where_somebody_would_have_told() -> None:
    told = frozenset((Family.ROUTE_SELECTION, Family.DELEGATION_EFFECT))
    found = build_timeline(record(tally(), witnessed=told, verdict=judged()), now=at(9))
    assert found.selections is not None
    assert found.delegations is not None
    assert found.selections.evidence is found.delegations.evidence is Evidence.COMPLETE
    assert "hosts of its release line and composition told of selections" in found.selections.evidence_words


def test_what_could_not_be_found_out_is_said_to_be_that() -> None:
    found = build_timeline(record(tally(), witnessed=None), now=at(9))
    assert found.selections is not None
    assert (found.selections.evidence, "could not be found out" in found.selections.evidence_words) == ("ABSENT", True)


def test_lossy_evidence_is_said_and_nothing_is_concluded_from_what_is_not_there() -> None:
    gone = [selection("large", 1, **USER), selection("mini", 2, timeline="persisted", reason_code="timeout")]
    gone.append(selection("large", 3, **USER))
    sure = build_timeline(record(tally(selections=gone, teardowns=[teardown(9)]), verdict=judged()), now=at(9))
    lossy = build_timeline(record(tally(selections=gone, evidence="LOSSY")), now=at(9))
    assert Finding.CLEANUP_UNSEEN in sure.findings
    assert Finding.CLEANUP_UNSEEN not in lossy.findings
    assert lossy.selections is not None
    assert lossy.selections.evidence is Evidence.LOSSY
    assert "LOSSY (events of it are missing, or may be)" in shown(lossy)


def test_what_another_host_may_still_tell_is_waited_for() -> None:
    gone = [selection("large", 1, **USER), selection("mini", 2, timeline="persisted", reason_code="timeout")]
    gone.append(selection("large", 3, **USER))
    alone = build_timeline(record(tally(selections=gone)), now=at(9))
    shared = build_timeline(record(tally(selections=gone, emitters=["e1", "e2"])), now=at(9))
    assert (alone.findings, shared.findings) == ([Finding.CLEANUP_UNSEEN], [])


def test_a_list_that_was_cut_says_how_many_there_were() -> None:
    found = build_timeline(record(tally(selections=CHOSEN, selections_total=900)), now=at(9))
    assert found.selections is not None
    assert (found.selections.on_record, found.selections.total) == (7, 900)
    assert "of 900 selections the newest 7 are kept" in found.selections.evidence_words


def test_what_the_stream_forgot_is_told_as_the_verdict_keeps_it() -> None:
    kept = {
        "profile": "mini", "scope": "turn", "emergency": False, "began_at": at(1), "turn": 2, "reason_code": "timeout",
        "persisted_at": None, "state": "open", "ended_at": None, "cleared_by": None, "findings": ["PREFERENCE_DRIFT"],
    }  # fmt: skip
    stalled = [{"delegation_id": "d1", "findings": ["STALLED_DELEGATION"]}]
    verdict = judged(recoveries=[kept], user_profile="large", delegations=stalled, findings=["PREFERENCE_DRIFT"])
    found = build_timeline(record(verdict=verdict), now=at(9))
    assert found.session is not None
    assert found.selections is not None
    assert found.verdict is not None
    assert found.session.state == "FORGOTTEN"
    assert (found.selections.evidence, found.selections.moments) == (Evidence.ABSENT, [])
    assert "no longer kept" in found.selections.evidence_words
    assert [(part.profile, part.source) for part in found.recoveries] == [("mini", None)]
    assert found.verdict.user_profile == "large"
    assert found.delegations is not None
    (line,) = found.delegations.delegations
    assert (line.findings, line.last_step_at) == ([Finding.STALLED_DELEGATION], None)


def test_delegations_of_the_session_are_among_it_with_what_the_verdict_finds() -> None:
    verdict = judged(delegations=[{"delegation_id": "d1", "findings": ["BUDGET_EXCEEDED"]}])
    work = [delegation(budget_calls=5), delegation("d2", last_step_at=at(1))]
    found = build_timeline(record(tally(delegations=work), verdict=verdict), now=at(9))
    assert found.delegations is not None
    assert [(line.delegation_id, line.findings) for line in found.delegations.delegations] == [
        ("d1", [Finding.BUDGET_EXCEEDED]),
        ("d2", []),
    ]
    assert found.delegations.delegations[0].budgets.over == ["calls"]
    assert "10 of 5 calls" in shown(found).replace("\n", " ")


def test_a_verdict_that_is_not_believed_tells_nothing() -> None:
    found = build_timeline(record(tally(), flaw="The session's verdict cannot be verified."), now=at(9))
    assert found.verdict is not None
    assert (found.verdict.believed, found.verdict.verdict) == (False, None)
    assert "not believed" in shown(found)


def test_the_published_schema_is_the_code_s_own_and_every_answer_keeps_it() -> None:
    published = Path(__file__).parents[4] / "docs" / "timeline.schema.json"
    assert json.loads(published.read_text()) == json_schema(), "unmask timeline --schema > docs/timeline.schema.json"
    answers = [
        build_timeline(record(tally(selections=CHOSEN, delegations=[delegation()]), verdict=judged()), now=at(9)),
        build_timeline(record(tally(), withdrawn=True), now=at(9), turns=Turns(1, None)),
        *(nothing_to_show("s1", answer, "Because.", now=at(9)) for answer in RecordAnswer),
    ]
    for found in answers:
        assert violations(json.loads(found.model_dump_json()), json_schema()) == []
    spoilt = json.loads(answers[0].model_dump_json())
    spoilt["selections"]["moments"][0]["timeline"] = "sideways"
    assert violations(spoilt, json_schema())


def test_every_answer_has_an_exit_code_of_its_own() -> None:
    assert len(set(EXIT_CODES.values())) == len(RecordAnswer)
    assert EXIT_CODES[RecordAnswer.SHOWN] == 0
