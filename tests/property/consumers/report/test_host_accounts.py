"""Whatever is lost, held back or repeated on the way: what a host recorded is accounted for to the last event."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.consumers.report.hosts.emitter import EmitterRecord
from unmask.consumers.report.hosts.explain import EmitterState, Kind, emitter_differences
from unmask.consumers.testing import SCOPE

ATTEMPT = "route_attempt"
IN_COUNTS = {Kind.DUPLICATES}


def batch(seq: int, recorded: int, events: int, dropped: int) -> dict[str, Any]:
    lost = [{"cause": "buffer_full", "count": dropped}]
    return {
        "emitter": {"emitter_id": "e-1", "heartbeat_ms": 1_000},
        "batch_seq": seq, "sent_at": seq, "closing": False,
        "accounts": [{"family": ATTEMPT, "recorded": recorded, "dropped": lost}],
        "route_attempts": [{"capability": "search", "entry_point": "chat", "occurred_at": [0] * events}],
        "kernel_fallbacks": [], "masked_errors": [], "session_teardowns": [], "route_selections": [],
        "delegation_progress": [], "delegation_effects": [],
    }  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.booleans()), min_size=1, max_size=9),
    order=st.randoms(use_true_random=False),
    trimmed=st.integers(0, 3),
    state=st.sampled_from(EmitterState),
)
def test_recorded_is_received_and_what_the_differences_say(
    sizes: list[tuple[int, int, bool]], order: Any, trimmed: int, state: EmitterState
) -> None:
    record = EmitterRecord("e-1", SCOPE, 0, 1_000_000)
    recorded = dropped = 0
    batches = []
    for seq, (events, lost, arrives) in enumerate(sizes, 1):
        recorded += events + lost
        dropped += lost
        if arrives and seq > trimmed:
            batches.append(batch(seq, recorded, events, dropped))
    batches += batches[: order.randint(0, len(batches))]
    order.shuffle(batches)
    for one in batches:
        record.take(one, one["sent_at"])
    found = list(emitter_differences(record, state, trimmed=trimmed > 0))
    assert all(difference.explained for difference in found)
    explained = sum(d.count or 0 for d in found if d.family == ATTEMPT)
    account = record.accounts.get(ATTEMPT)
    assert (0 if account is None else account.recorded) == record.received[ATTEMPT] + explained


@settings(max_examples=60, deadline=None)
@given(events=st.integers(0, 5), wrong=st.integers(-5, 5).filter(bool))
def test_books_that_do_not_add_up_are_never_explained_away(events: int, wrong: int) -> None:
    record = EmitterRecord("e-1", SCOPE, 0, 1_000_000)
    record.take(batch(1, max(0, events + wrong), events, 0), 1)
    found = list(emitter_differences(record, EmitterState.LIVE, trimmed=False))
    honest = max(0, events + wrong) == events
    assert any(not difference.explained for difference in found) is not honest
