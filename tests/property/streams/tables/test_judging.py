"""Verdicts over any division of a session's events among emitters and partitions, in any order."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.table_records import masked, session_tally, teardown

from unmask.schemas.codec import decode, encode
from unmask.streams.verdict import adjudicate

OPERATIONS = [f"op{n}" for n in range(8)]


@st.composite
def tallies(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Snapshots of one session by some source partitions, at least one of which saw its end."""
    found = []
    for partition in range(draw(st.integers(1, 3))):
        degraded = sorted(draw(st.sets(st.sampled_from(OPERATIONS), max_size=5)))
        teardowns = draw(
            st.lists(
                st.builds(
                    teardown, st.integers(0, 12), st.integers(0, 6),
                    outcome=st.sampled_from(("success", "failure")), minute=st.integers(1, 9),
                    emitter=st.just(f"e{partition}"),
                ),
                min_size=1 if partition == 0 else 0, max_size=2,
            )
        )  # fmt: skip
        found.append(
            session_tally(
                partition=partition, offset=draw(st.integers(1, 99)), emitters=[f"e{partition}"],
                degraded=degraded, masked=[masked(name) for name in degraded], unreachable=len(degraded),
                teardowns=teardowns, evidence=draw(st.sampled_from(("COMPLETE", "COMPLETE", "LOSSY"))),
            )
        )  # fmt: skip
    return found


@given(tallies(), st.randoms(use_true_random=False))
def test_the_order_of_snapshots_decides_nothing_and_older_ones_are_passed_over(found: list[Any], random: Any) -> None:
    older = [{**tally, "offset": tally["offset"] - 1, "teardowns": [], "evidence": "LOSSY"} for tally in found]
    shuffled = [*older, *found]
    random.shuffle(shuffled)
    assert adjudicate(shuffled, threshold=0.05) == adjudicate(found, threshold=0.05)


@given(tallies(), st.floats(0, 1))
def test_the_ratio_lies_between_zero_and_one_and_decides_strictly(found: list[Any], threshold: float) -> None:
    verdict = adjudicate(found, threshold=threshold)
    assert verdict is not None
    ratio = verdict["degraded_operation_ratio"]
    assert ratio is None or 0.0 <= ratio <= 1.0
    assert verdict["above_threshold"] is (ratio is not None and ratio > threshold)
    assert decode("verdict", encode("verdict", verdict)) == verdict


@given(tallies())
def test_clean_means_nothing_degraded_nothing_lossy_nothing_contradicted_nothing_failed(found: list[Any]) -> None:
    verdict = adjudicate(found, threshold=0.05)
    assert verdict is not None
    nothing = (
        not verdict["degraded_operations"]
        and verdict["evidence"] == "COMPLETE"
        and not verdict["contradictions"]
        and verdict["outcome_claimed"] == "success"
    )
    assert (verdict["verdict"] == "CLEAN_SUCCESS") is nothing
    assert (verdict["directive"] == "NONE") is nothing


@given(tallies())
def test_a_degraded_operation_that_any_partition_saw_is_never_lost(found: list[Any]) -> None:
    verdict = adjudicate(found, threshold=0.05)
    assert verdict is not None
    seen = {operation for tally in found for operation in tally["degraded_operations"]}
    assert verdict["degraded_operations"] >= len(seen)
