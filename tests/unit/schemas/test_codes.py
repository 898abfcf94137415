"""Codes are their own text, and say what they mean."""

import enum
import json

import pytest

from unmask.schemas import codes
from unmask.schemas.codes import Family, ReasonCode
from unmask.schemas.describe.codes_page import code_sets

SETS: list[type[enum.StrEnum]] = [getattr(codes, name) for name in codes.__all__]


def test_a_code_is_its_text_everywhere() -> None:
    assert str(Family.MASKED_ERROR) == f"{Family.MASKED_ERROR}" == "masked_error"
    assert json.dumps({Family.MASKED_ERROR: ReasonCode.TIMEOUT}) == '{"masked_error": "timeout"}'


@pytest.mark.parametrize("codes_of", SETS, ids=lambda s: str(s.__name__))
def test_every_code_is_described(codes_of: type[enum.StrEnum]) -> None:
    page = code_sets()
    section = page.split(f"**{codes_of.__name__}**")[1].split("\n\n**")[0]
    for code in codes_of:
        (row,) = [line for line in section.splitlines() if line.startswith(f"| `{code}` |")]
        assert len(row.split("|")[2].strip()) > 5
