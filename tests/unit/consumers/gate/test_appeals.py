"""Which refusal an appeal or a vindication is about, where nobody says which; and that none of them discharges."""

from typing import Any

import pytest

from unmask.consumers.gate.appeals import refusal_of
from unmask.consumers.gate.discharges import may_discharge
from unmask.schemas.codec import encode
from unmask.schemas.codes import AdmissionStep

APPEALED, VINDICATED = AdmissionStep.APPEALED, AdmissionStep.VINDICATED


def record(step: str, question: str, answer: str = "HALTED") -> dict[str, Any]:
    return {"step": step, "admission_id": question, "answer": answer}


LOG = [
    record("ASKED", "q1"),
    record("ASKED", "q2", "UNPROVEN"),
    record("APPEALED", "q1"),
    record("ASKED", "q3", "RECONCILE_FIRST"),
    record("ASKED", "q4", "ADMITTED"),
]


@pytest.mark.parametrize(
    ("step", "asked", "found"),
    [
        (APPEALED, None, "q3"),
        (APPEALED, "q2", "q2"),
        (APPEALED, "q4", None),
        (APPEALED, "q9", None),
        # Of several refusals the one that somebody held to be wrong.
        (VINDICATED, None, "q1"),
        (VINDICATED, "q3", "q3"),
    ],
)
def test_it_is_the_newest_refusal_or_the_one_that_is_named(step: AdmissionStep, asked: str | None, found: str) -> None:
    refused = refusal_of(LOG, step, asked)
    assert (refused and refused["admission_id"]) == found


def test_without_an_appeal_a_vindication_is_of_the_newest_refusal() -> None:
    refused = refusal_of([entry for entry in LOG if entry["step"] == "ASKED"], VINDICATED, None)
    assert refused is not None
    assert refused["admission_id"] == "q3"


@pytest.mark.parametrize("step", [APPEALED, VINDICATED])
def test_its_bytes_are_told_from_what_discharges_without_being_read(step: AdmissionStep) -> None:
    written = encode(
        "admission",
        {
            "admission_id": "q1", "session_id": "s1", "step": str(step), "answer": "HALTED", "mutating": True,
            "occurred_at": 1, "verdict_digest": "0" * 64, "directive": None, "successor_session_id": None,
            "by": "ana", "reason_code": "wrong", "signature": None,
        },
    )  # fmt: skip
    assert not may_discharge(written)
