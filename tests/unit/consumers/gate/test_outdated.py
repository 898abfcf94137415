"""A verdict from before what the stream has seen since."""

from typing import Any

import pytest

from unmask.consumers.gate.outdated import outdated
from unmask.consumers.gate.verdict_facts import read_facts
from unmask.consumers.testing import ENDED_AT, clean_verdict, degraded_verdict
from unmask.schemas.testing import sample

SESSION = "session-1"


def snapshot(**changes: Any) -> dict[str, Any]:
    """What the ledger knows of a clean session that ended as its verdict says."""
    teardown = {
        **sample("session_tally")["teardowns"][0], "occurred_at": ENDED_AT, "outcome": "success",
        "degraded_operations": 0,
    }  # fmt: skip
    fields = {
        "last_seen_at": ENDED_AT, "fallbacks": 0, "masked_errors": 0, "teardowns": [teardown], "abandoned_at": None,
        "emitters": ["emitter-1"], "degraded_operations": [], "degraded_operations_total": 0,
    }  # fmt: skip
    return sample("session_tally", session_id=SESSION, **{**fields, **changes})


def missing(*snapshots: dict[str, Any], verdict: dict[str, Any] | None = None) -> str | None:
    return outdated(read_facts(clean_verdict(SESSION) if verdict is None else verdict), snapshots)


def later(by: int = 1) -> list[dict[str, Any]]:
    return [{**snapshot()["teardowns"][0], "occurred_at": ENDED_AT + by}]


def test_a_verdict_that_knows_all_of_it_is_the_last_word() -> None:
    assert missing() is None
    assert missing(snapshot()) is None
    assert missing(snapshot(), snapshot(partition=2, last_seen_at=ENDED_AT - 5, teardowns=[])) is None
    degraded = degraded_verdict(SESSION, degraded=5)
    assert missing(snapshot(masked_errors=3, fallbacks=9), snapshot(masked_errors=2), verdict=degraded) is None


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"teardowns": later()}, "ended again"),
        ({"teardowns": [], "last_seen_at": ENDED_AT + 1}, "goes on"),
        ({"masked_errors": 1}, "masked"),
        ({"fallbacks": 1}, "fallback"),
        ({"evidence": "LOSSY"}, "missing"),
        ({"emitters": ["emitter-1", "emitter-2"]}, "another host"),
        ({"degraded_operations_total": 1}, "degraded"),
    ],
)
def test_whatever_the_stream_has_seen_since_is_named(changes: dict[str, Any], what: str) -> None:
    found = missing(snapshot(), snapshot(partition=2, **changes))
    assert found is not None
    assert what in found


def test_what_a_host_said_with_a_clock_that_is_behind_is_news_all_the_same() -> None:
    """Its later word bears an earlier time than the end that the verdict knows."""
    before = {**snapshot()["teardowns"][0], "occurred_at": ENDED_AT - 60_000_000}
    assert missing(snapshot(), snapshot(partition=2, teardowns=[before])) is None
    failed = snapshot(partition=2, teardowns=[{**before, "outcome": "failure"}])
    assert missing(snapshot(), failed) == "a host says that it failed"
    worse = snapshot(partition=2, teardowns=[{**before, "degraded_operations": 1}])
    assert missing(snapshot(), worse) == "more of its operations were degraded"


def test_of_hosts_that_a_verdict_does_not_list_all_none_is_news() -> None:
    many = [f"emitter-{number}" for number in range(70)]
    verdict = clean_verdict(SESSION, emitters=many[:64], emitters_cut=6)
    assert missing(snapshot(emitters=many), verdict=verdict) is None


def test_a_session_that_was_left_open_after_its_end_does_not_go_on() -> None:
    left = snapshot(teardowns=[], last_seen_at=ENDED_AT + 1, abandoned_at=ENDED_AT + 2)
    assert missing(snapshot(), left) is None


def test_more_masked_errors_than_a_degraded_verdict_counts_are_news_too() -> None:
    degraded = degraded_verdict(SESSION, degraded=5, masked_cut=2)
    assert missing(snapshot(masked_errors=7), verdict=degraded) is None
    assert missing(snapshot(masked_errors=8), verdict=degraded) is not None
