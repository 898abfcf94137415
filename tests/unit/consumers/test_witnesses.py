"""Whether anybody tells of a family: what windows prove of it, and what they do not."""

from typing import Any

import pytest

from unmask.consumers.testing import window_record
from unmask.consumers.witnesses import witnessed
from unmask.schemas.codes import Family
from unmask.schemas.models import Window, from_avro
from unmask.schemas.windowing import MICROS

START = 1_767_268_800 * MICROS


def window(state: str | None, *, missing: int = 0, **counts: Any) -> Window:
    record = window_record(START, **counts)
    if state is not None:
        entry = {"family": "route_selection", "state": state, "causes": [], "missing": missing, "dropped": []}
        record["evidence"].append(entry)
    return from_avro(Window, record)


@pytest.mark.parametrize(
    ("state", "more", "told"),
    [
        (None, {}, False),
        ("ABSENT", {}, False),
        ("COMPLETE", {}, True),
        ("PENDING", {}, True),
        # What is lost may be of any family, also of one that nobody tells of.
        ("LOSSY", {}, False),
        ("LOSSY", {"missing": 2}, True),
        ("LOSSY", {"selections": {"auto.live": 1}}, True),
    ],
)
def test_a_family_is_told_of_where_a_window_proves_it(state: str | None, more: dict[str, Any], told: bool) -> None:
    assert witnessed([window(state, **more)]) == ({Family.ROUTE_SELECTION} if told else set())


def test_the_first_four_families_are_told_of_by_everybody_and_not_asked_about() -> None:
    assert witnessed([window(None, attempts=3)]) == set()
