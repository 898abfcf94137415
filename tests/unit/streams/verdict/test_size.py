"""A verdict always fits into a record, and what is cut from its lists is counted, exactly."""

from typing import Any

from tests.session_parts import delegation, selection
from tests.unit.streams.ledger.emitting import SECOND, T0, Life, opening_batch

from unmask.consumers.gate import AdmissionAnswer, Recorded, decide
from unmask.schemas.codec import decode, encode
from unmask.schemas.codes import Directive
from unmask.schemas.keys import session_key
from unmask.schemas.topics import Topics
from unmask.streams.ledger.fold import fold_batch
from unmask.streams.ledger.outputs import Outputs
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.state import PartitionState
from unmask.streams.verdict import Obligation, adjudicate

# What Kafka lets a record be unless its topic says otherwise, less a frame's overhead.
_LIMIT = 1_048_588 - 1_000
_LONG = "x" * 48
TOPICS = Topics("ns", events_partitions=4, table_partitions=3)


def tally_of(errors: int, hops: int, operations: int) -> dict[str, Any]:
    """The ledger's snapshot of a session, after batches of at most 500 masked errors and a teardown."""
    state, rules = PartitionState(2), FoldRules()
    life = Life(f"emitter-{_LONG}")
    batches = [opening_batch(life)]
    life.open(T0 + SECOND)
    for hop in range(hops):
        for number in range(errors // hops):
            life.masked(
                T0 + 2 * SECOND,
                operation_id=f"op-{number}-{_LONG}",
                upstream=f"upstream-{hop}-{_LONG}",
                fallback_execution_receipt=f"receipt-{hop}-{_LONG}",
                primary_shape=f"p-{_LONG}",
                fallback_shape=f"f-{_LONG}",
            )
            if len(life.pending) == 500:
                batches.append(life.cut(T0 + (3 + len(batches)) * SECOND))
    end = T0 + (4 + len(batches)) * SECOND
    claims = [{"family": "masked_error", "count": errors}]
    life.tear_down(end, operations=operations, degraded_operations=errors // hops, claims=claims)
    batches.append(life.cut(end))
    for batch in batches:
        fold_batch(state, rules, state.next_offset, batch["sent_at"], batch)
    records = Outputs(TOPICS, rules, "writer-1").records(state, state.take_touched(), mark=True)
    (value,) = [
        record.value
        for record in records
        if record.topic == TOPICS.sessions.name and record.key == session_key("session-1", 2).encode()
    ]
    assert value is not None
    assert len(value) < _LIMIT
    return decode("session_tally", value)


def chosen(partition: int, number: int) -> dict[str, Any]:
    """An automatic choice that was written down."""
    return selection(
        f"p{partition}-{number}-{_LONG}", number, timeline="persisted", reason_code="timeout", emergency=True
    )


def in_trouble(partition: int, number: int) -> dict[str, Any]:
    """A delegation of which all is found that leaves the evidence alone."""
    return delegation(
        f"d{partition}-{number}-{_LONG}", tripped=True, trips=1, budget_calls=1, repeated_commits=1,
        doubts=[{"doubt": "unstable_signal", "count": 1}], longest_blocked=107,
    )  # fmt: skip


def test_ten_thousand_masked_errors_fit_and_their_ratio_is_exact() -> None:
    """5,000 operations of 20,000, each through two substitutes, in batches of their own: operations, not hops."""
    verdict = adjudicate([tally_of(10_000, hops=2, operations=20_000)], threshold=0.05)
    assert verdict is not None
    assert (verdict["operations"], verdict["degraded_operations"]) == (20_000, 5_000)
    assert verdict["degraded_operation_ratio"] == 0.25
    assert verdict["contradictions"] == []
    assert (len(verdict["masked"]), verdict["masked_cut"]) == (64, 9_936)
    assert len(encode("verdict", verdict)) < _LIMIT


def test_exactly_five_per_cent_of_two_hundred_thousand_operations_is_not_above() -> None:
    verdict = adjudicate([tally_of(10_000, hops=1, operations=200_000)], threshold=0.05)
    assert verdict is not None
    assert (verdict["degraded_operations"], verdict["above_threshold"]) == (10_000, False)


def test_the_largest_verdict_there_can_be_fits_and_can_be_read_by_the_gate() -> None:
    """Every list at its bound, every name as long as a name may be, and all of it cut."""
    tally = tally_of(10_000, hops=1, operations=20_000)
    parts = [
        {
            **tally,
            "partition": partition,
            "emitters": [f"e{partition}-{number}-{_LONG}" for number in range(1_000)],
            "abandoned_at": tally["last_seen_at"],
            "selections": [chosen(partition, number) for number in range(256)] if partition < 2 else [],
            "delegations": [in_trouble(partition, number) for number in range(64)] if partition < 2 else [],
        }
        for partition in range(200)
    ]
    left = Obligation("s-0", Directive.PROBE_UPSTREAM_BEFORE_ACTION, tuple(f"s-{n}-{_LONG}" for n in range(100)))
    verdict = adjudicate(parts, threshold=0.05, obligations=[left] * 10)
    assert verdict is not None
    value = encode("verdict", verdict)
    assert len(value) < _LIMIT / 4
    assert (len(verdict["emitters"]), verdict["emitters_cut"]) == (64, 200 * 1_000 - 64)
    assert (len(verdict["recoveries"]), len(verdict["delegations"])) == (64, 64)
    answer = decide(Recorded("session-1", "session-1", decode("verdict", value)))
    assert answer.answer is AdmissionAnswer.RECONCILE_FIRST
    assert answer.verdict is not None
    assert answer.verdict.unlisted > 0
