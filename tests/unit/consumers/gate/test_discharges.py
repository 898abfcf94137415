"""What was done about a verdict lifts its refusal: for that very verdict, and for nothing more than was done."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.consumers.gate import AdmissionAnswer, AdmissionStep, Discharge, Recorded, decide, discharged
from unmask.consumers.gate.discharges import DischargesView, may_discharge
from unmask.consumers.testing import clean_verdict, degraded_verdict, failed_verdict
from unmask.consumers.topic_reader import Row
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.codec import encode
from unmask.schemas.partitioner import partition_for
from unmask.schemas.signing import sign_admission
from unmask.schemas.signing_keys import generate_key
from unmask.schemas.testing import sample

SESSION = "session-1"
DIGEST = degraded_verdict(SESSION)["digest"]


def discharge(step: AdmissionStep = AdmissionStep.RECONCILED, digest: str = DIGEST, **parts: Any) -> Discharge:
    return Discharge(step, digest, "question-1", 1_767_225_600_000_000, **{"mutating": True, "by": "ana", **parts})


def answer(verdict: dict[str, Any], done: Discharge | None, *, mutating: bool = True) -> AdmissionAnswer:
    return discharged(decide(Recorded(SESSION, SESSION, verdict), mutating=mutating), done).answer


def test_a_directive_that_was_carried_out_admits_whoever_asks_next() -> None:
    admission = discharged(decide(Recorded(SESSION, SESSION, degraded_verdict(SESSION))), discharge())
    assert admission.answer is AdmissionAnswer.ADMITTED
    assert "carried out at 2026-01-01T00:00:00" in admission.reason
    assert admission.obligation is None


def test_it_raises_an_admission_for_reads_to_one_for_changes() -> None:
    verdict = degraded_verdict(SESSION, operations=100, degraded=5, equivalent=True)
    done = discharge(digest=verdict["digest"])
    assert answer(verdict, done, mutating=False) is AdmissionAnswer.ADMITTED


@pytest.mark.parametrize("step", [AdmissionStep.RECONCILED, AdmissionStep.OVERRIDDEN])
def test_what_was_done_about_another_verdict_does_not_help(step: AdmissionStep) -> None:
    assert answer(degraded_verdict(SESSION, operations=21), discharge(step)) is AdmissionAnswer.RECONCILE_FIRST


@pytest.mark.parametrize("step", sorted(set(AdmissionStep) - {AdmissionStep.RECONCILED, AdmissionStep.OVERRIDDEN}))
def test_no_other_step_helps(step: AdmissionStep) -> None:
    assert answer(degraded_verdict(SESSION), discharge(step)) is AdmissionAnswer.RECONCILE_FIRST


def test_a_probe_does_not_lift_what_no_probe_can() -> None:
    failed, lossy = failed_verdict(SESSION), degraded_verdict(SESSION, evidence="LOSSY")
    assert answer(failed, discharge(digest=failed["digest"])) is AdmissionAnswer.HALTED
    assert answer(lossy, discharge(digest=lossy["digest"])) is AdmissionAnswer.UNPROVEN


def test_an_override_lifts_that_and_names_who_gave_it() -> None:
    failed = failed_verdict(SESSION)
    done = discharge(AdmissionStep.OVERRIDDEN, failed["digest"], reason_code="drill")
    admission = discharged(decide(Recorded(SESSION, SESSION, failed)), done)
    assert admission.answer is AdmissionAnswer.ADMITTED
    assert "ana let successors pass" in admission.reason


def test_an_override_that_was_given_to_a_reader_is_for_readers() -> None:
    failed = failed_verdict(SESSION)
    done = discharge(AdmissionStep.OVERRIDDEN, failed["digest"], mutating=False)
    assert answer(failed, done, mutating=False) is AdmissionAnswer.ADMITTED
    assert answer(failed, done, mutating=True) is AdmissionAnswer.HALTED


def test_a_record_that_cannot_be_verified_is_not_lifted_by_anything() -> None:
    broken = {**degraded_verdict(SESSION), "operations": 99}
    for step in AdmissionStep:
        assert answer(broken, discharge(step, broken["digest"])) is AdmissionAnswer.UNVERIFIABLE


def record(**changes: Any) -> dict[str, Any]:
    fields = {"session_id": SESSION, "step": "RECONCILED", "verdict_digest": DIGEST, "mutating": True}
    return sample("admission", signature=None, **{**fields, **changes})


def view(*rows: tuple[str, bytes | None], trust: Any = None, misplaced: bool = False) -> DischargesView:
    made = DischargesView(TopicSource("unmask.admissions", "127.0.0.1:1", compacted=False), trust=trust)
    made._partition_count = 3
    for offset, (key, value) in enumerate(rows):
        partition = (partition_for(key, 3) + misplaced) % 3
        made._keep(Row(partition, offset, key.encode(), value, 0))
    return made


def found(made: DischargesView, *, mutating: bool = True) -> Discharge | None:
    return made.of(SESSION, DIGEST, mutating=mutating)


def test_outcomes_are_found_among_questions_and_rubbish() -> None:
    rows = [
        (SESSION, encode("admission", record(step="ASKED"))),
        (SESSION, b"rubbish"),
        (SESSION, None),
        (SESSION, encode("admission", record(step="RECONCILE_FAILED"))),
    ]
    assert found(view(*rows)) is None
    done = found(view(*rows, (SESSION, encode("admission", record()))))
    assert done is not None
    assert done.step is AdmissionStep.RECONCILED


def test_an_outcome_of_another_session_or_verdict_or_in_the_wrong_place_is_none() -> None:
    assert found(view((SESSION, encode("admission", record(session_id="session-2"))))) is None
    assert found(view((SESSION, encode("admission", record(verdict_digest="0" * 64))))) is None
    assert found(view((SESSION, encode("admission", record(verdict_digest=None))))) is None
    assert found(view((SESSION, encode("admission", record())), misplaced=True)) is None


def test_a_reader_s_override_is_found_by_readers_only() -> None:
    made = view((SESSION, encode("admission", record(step="OVERRIDDEN", mutating=False))))
    assert found(made, mutating=False) is not None
    assert found(made) is None


def test_with_trusted_keys_an_outcome_that_nobody_signed_admits_nobody(tmp_path: Path) -> None:
    key, stranger = generate_key(tmp_path / "key"), generate_key(tmp_path / "stranger")
    trust = key.trust()
    good = sign_admission(record(), "unmask.admissions", key)
    for forged in (record(), sign_admission(record(), "unmask.admissions", stranger), {**good, "occurred_at": 1}):
        assert found(view((SESSION, encode("admission", forged)), trust=trust)) is None
    assert found(view((SESSION, encode("admission", good)), trust=trust)) is not None


@given(
    st.sampled_from(list(AdmissionStep)), st.text("ab", min_size=1, max_size=64), st.text("cd", min_size=1, max_size=64)
)
def test_the_step_is_known_from_its_bytes(step: AdmissionStep, admission_id: str, session_id: str) -> None:
    value = encode("admission", record(step=str(step), admission_id=admission_id, session_id=session_id))
    assert may_discharge(value) is (step in (AdmissionStep.RECONCILED, AdmissionStep.OVERRIDDEN))


@given(st.binary(max_size=60))
def test_bytes_that_are_no_admission_are_looked_at_without_a_crash(value: bytes) -> None:
    assert isinstance(may_discharge(encode("admission", record())[:10] + value), bool)
    assert isinstance(may_discharge(value), bool)


def test_a_clean_verdict_needs_nothing() -> None:
    assert answer(clean_verdict(SESSION), None) is AdmissionAnswer.ADMITTED
