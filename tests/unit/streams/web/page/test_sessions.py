"""Sessions on the page: what is open comes first, and what is not to be believed is not shown as a verdict."""

from tests.table_records import at, session_tally, teardown
from tests.table_records import masked as masked_error
from tests.unit.streams.web.page.answering import answers_of, overview_of
from tests.unit.streams.web.page.remembering import memory, put_session, put_verdict, verdict

from unmask.schemas.codec import encode
from unmask.schemas.codes import AdmissionStep, Contradiction, Directive, Evidence, Finding, VerdictKind
from unmask.streams.web.page import words
from unmask.streams.web.page.html.session_page import session_sections
from unmask.streams.web.page.html.sessions import sessions_section
from unmask.streams.web.page.memory import Memory


def admission(step: str, digest: str | None, minute: float = 6) -> bytes:
    return encode(
        "admission",
        {
            "admission_id": "a1", "session_id": "s1", "step": step, "answer": "RECONCILE_FIRST", "mutating": True,
            "occurred_at": at(minute), "verdict_digest": digest, "directive": "PROBE_UPSTREAM_BEFORE_ACTION",
            "successor_session_id": "s2", "by": None, "reason_code": None, "signature": None,
        },
    )  # fmt: skip


def html_of(known: Memory, session_id: str = "s1") -> str:
    answers = answers_of(known)
    facts = answers.remembered(session_id)
    assert facts is not None
    return "".join(session_sections(answers.session(facts)).values())


def test_a_running_session_has_what_is_known_so_far_and_no_verdict() -> None:
    known = memory()
    put_session(known, session_tally(degraded=["op-1"], masked=[masked_error("op-1")]))
    (line,) = overview_of(known).sessions
    assert (line.verdict, line.ended_at, line.degraded_operations, line.evidence) == (None, None, 1, Evidence.PENDING)
    html = html_of(known)
    assert "RUNNING" in html
    assert "1 so far" in html
    assert "HTTP_503" in html


def test_an_ended_session_without_a_verdict_waits_for_accounts() -> None:
    known = memory()
    put_session(known, session_tally(teardowns=[teardown(20)]))
    assert "NOT JUDGED YET" in html_of(known)


def test_a_directive_is_open_until_it_was_carried_out_for_that_very_verdict() -> None:
    known, judged = memory(), verdict()
    put_verdict(known, judged)
    assert overview_of(known).sessions[0].open
    known.admission("s1", admission("RECONCILED", "0" * 64), 5)
    known.admission("s1", admission("RECONCILE_FAILED", judged["digest"]), 5)
    assert overview_of(known).sessions[0].open
    known.admission("s1", admission("RECONCILED", judged["digest"], 7), 6)
    (line,) = overview_of(known).sessions
    assert not line.open
    assert line.discharged_at is not None
    html = html_of(known)
    assert "DONE" in html
    assert "The directive was carried out" in html


def test_a_record_that_was_altered_is_no_verdict() -> None:
    known = memory()
    put_verdict(known, {**verdict(), "verdict": "CLEAN_SUCCESS"})
    (line,) = overview_of(known).sessions
    assert (line.verdict, line.directive, line.flaw is None) == (None, None, False)
    assert "NOT BELIEVED" in html_of(known)


def test_a_verdict_of_another_session_under_this_one_s_key_is_none() -> None:
    known = memory()
    known.verdicts.put("s1", encode("verdict", verdict("s2")), 1)
    assert overview_of(known).sessions[0].verdict is None


def test_a_withdrawn_verdict_is_said_to_be() -> None:
    known = memory()
    put_session(known, session_tally(teardowns=[teardown(20)]))
    known.verdicts.put("s1", None, 2)
    assert overview_of(known).sessions[0].withdrawn
    assert "An operator withdrew the verdict" in html_of(known)


def test_what_is_open_comes_first_then_what_runs_then_the_newest() -> None:
    known = memory()
    clean = {"verdict": "CLEAN_SUCCESS", "directive": "NONE", "findings": [], "above_threshold": False}
    put_verdict(known, verdict("old", **clean, ended_at=at(1)))
    put_verdict(known, verdict("new", **clean, ended_at=at(9)))
    put_verdict(known, verdict("open", ended_at=at(0)))
    put_session(known, session_tally("running", last_seen_at=at(2)))
    assert [line.session_id for line in overview_of(known).sessions] == ["open", "running", "new", "old"]


def test_what_was_left_out_is_said() -> None:
    known = memory(sessions=10)
    for number in range(15):
        put_verdict(known, verdict(f"s{number}", ended_at=at(number)), number)
    answer = overview_of(known, shown=4)
    assert (len(answer.sessions), answer.sessions_cut) == (4, 11)
    assert "11 more sessions of the last day are left out" in sessions_section(answer)


def test_no_session_is_said_in_words() -> None:
    assert "No session was seen within the last day" in sessions_section(overview_of(memory()))


def test_a_line_is_made_again_only_where_something_new_came() -> None:
    known = memory()
    put_verdict(known, verdict("a"))
    put_verdict(known, verdict("b"))
    answers = answers_of(known)
    before = {line.session_id: line for line in answers.overview().sessions}
    put_session(known, session_tally("b"))
    after = {line.session_id: line for line in answers.overview().sessions}
    assert after["a"] is before["a"]
    assert after["b"] is not before["b"]


def test_every_code_has_its_words() -> None:
    assert set(words.VERDICTS) == set(VerdictKind)
    assert set(words.DIRECTIVES) == set(Directive)
    assert set(words.FINDINGS) == set(Finding)
    assert set(words.CONTRADICTIONS) == set(Contradiction)
    assert set(words.STEPS) == set(AdmissionStep)
