"""What hosts say against what is on record: every difference with its reason."""

from typing import Any

import pytest

from unmask.consumers.report.hosts.cells import CellId, LedgerCells, LogCells, Placed
from unmask.consumers.report.hosts.compare import compare
from unmask.consumers.report.hosts.emitter import EmitterRecord
from unmask.consumers.report.hosts.explain import (
    Difference,
    EmitterState,
    Kind,
    ScopeCounts,
    emitter_differences,
    scope_differences,
    state_of,
)
from unmask.consumers.report.hosts.read import HostRecords
from unmask.consumers.report.hosts.render import to_document
from unmask.consumers.report.pipeline import Mark, PipelineFacts
from unmask.consumers.testing import SCOPE
from unmask.schemas.windowing import MICROS

NOW = 1_767_268_800 * MICROS
ATTEMPT = "route_attempt"


def batch(seq: int, recorded: int, events: int, *, dropped: dict[str, int] | None = None, closing: bool = False) -> Any:
    """A batch with `events` attempts, whose account says `recorded` since the start."""
    return {
        "emitter": {"emitter_id": "e-1", "heartbeat_ms": 1_000},
        "batch_seq": seq,
        "sent_at": NOW + seq * MICROS,
        "closing": closing,
        "accounts": [
            {
                "family": ATTEMPT,
                "recorded": recorded,
                "dropped": [{"cause": cause, "count": n} for cause, n in (dropped or {}).items()],
            }
        ],
        "route_attempts": [{"capability": "search", "entry_point": "chat", "occurred_at": [NOW] * events}],
        "kernel_fallbacks": [],
        "masked_errors": [],
        "session_teardowns": [],
        "route_selections": [],
        "delegation_progress": [],
        "delegation_effects": [],
    }


def emitter(*batches: Any, unreadable: int = 0) -> EmitterRecord:
    record = EmitterRecord("e-1", SCOPE, 0, 1_000_000, unreadable=unreadable)
    for one in batches:
        record.take(one, one["sent_at"])
    return record


def why(
    record: EmitterRecord, state: EmitterState = EmitterState.CLOSED, *, trimmed: bool = False
) -> list[tuple[str, int | None]]:
    found = emitter_differences(record, state, trimmed=trimmed)
    return [(str(difference.kind), difference.count) for difference in found]


def test_a_host_whose_every_event_arrived_has_no_difference() -> None:
    assert why(emitter(batch(1, 3, 3), batch(2, 5, 2, closing=True))) == []


def test_what_the_host_dropped_is_told_by_cause() -> None:
    record = emitter(batch(1, 3, 3), batch(2, 10, 2, dropped={"buffer_full": 5}, closing=True))
    assert why(record) == [("dropped", 5)]


@pytest.mark.parametrize(
    ("state", "kind"),
    [(EmitterState.LIVE, "pending"), (EmitterState.SILENT, "killed_host"), (EmitterState.CLOSED, "lost")],
)
def test_batches_that_have_not_come_are_explained_by_what_became_of_the_host(state: EmitterState, kind: str) -> None:
    record = emitter(batch(1, 3, 3), batch(4, 12, 2))
    assert (kind, 7) in why(record, state)
    words = [difference.words for difference in emitter_differences(record, state, trimmed=False)]
    assert any("batches 2–3 have not come" in text for text in words)


def test_a_gap_that_comes_later_is_no_difference_whatever_the_order() -> None:
    assert why(emitter(batch(3, 9, 3), batch(1, 3, 3), batch(2, 6, 3))) == []


def test_what_was_given_up_after_it_was_cut_is_dropped_and_not_missing_too() -> None:
    record = emitter(batch(1, 3, 3), batch(3, 10, 2, dropped={"outbox_full": 5}))
    assert why(record) == [("dropped", 5)]


def test_a_killed_host_says_what_died_with_it_or_that_nobody_knows() -> None:
    adopted = emitter(batch(1, 3, 3), batch(2, 7, 0, dropped={"host_died": 4}, closing=True))
    assert why(adopted) == [("killed_host", 4)]
    assert why(emitter(batch(1, 3, 3)), EmitterState.SILENT) == [("killed_host", None)]


def test_batches_that_came_again_are_told_and_counted_once() -> None:
    record = emitter(batch(1, 3, 3), batch(1, 3, 3), batch(2, 5, 2))
    assert record.received[ATTEMPT] == 5
    assert why(record) == [("duplicates", 1)]


def test_a_record_that_cannot_be_read_explains_the_batch_that_is_missing() -> None:
    assert why(emitter(batch(1, 3, 3), batch(3, 9, 3), unreadable=1)) == [("quarantined", 3)]


def test_a_log_without_its_head_explains_exactly_what_was_shipped_before() -> None:
    record = emitter(batch(5, 23, 3), batch(6, 25, 2))
    assert why(record, trimmed=True) == [("trimmed", 20)]
    assert why(record, trimmed=False) == [("lost", 20)]


def test_books_that_do_not_add_up_are_not_explained() -> None:
    assert why(emitter(batch(1, 4, 3))) == [("unexplained", 1)]
    assert why(emitter(batch(1, 3, 4))) == [("unexplained", -1)]


def test_an_emitter_is_silent_after_as_many_heartbeats_as_workers_allow() -> None:
    record = emitter(batch(1, 3, 3))
    assert state_of(record, record.last_arrival + 3 * MICROS, 3) is EmitterState.LIVE
    assert state_of(record, record.last_arrival + 3 * MICROS + 1, 3) is EmitterState.SILENT
    assert state_of(emitter(batch(1, 3, 3, closing=True)), NOW + 900 * MICROS, 3) is EmitterState.CLOSED


def scope_why(counts: ScopeCounts, *, trimmed: bool = False, tables_wait: bool = False) -> list[Difference]:
    return list(scope_differences(ATTEMPT, counts, trimmed=trimmed, tables_wait=tables_wait))


@pytest.mark.parametrize(
    ("counts", "trimmed", "tables_wait", "kinds"),
    [
        (ScopeCounts(10, 0, 10, 10, 10), False, False, []),
        (ScopeCounts(10, 5, 10, 10, 10), False, False, [Kind.PENDING]),
        (ScopeCounts(10, 0, 14, 14, 14), True, False, [Kind.TRIMMED]),
        (ScopeCounts(10, 0, 14, 14, 14), False, False, [Kind.UNEXPLAINED]),
        (ScopeCounts(10, 0, 8, 8, 8), True, False, [Kind.UNEXPLAINED]),
        (ScopeCounts(10, 0, 10, 10, 7), False, True, [Kind.PENDING]),
        (ScopeCounts(10, 0, 10, 10, 7), False, False, [Kind.UNEXPLAINED]),
        (ScopeCounts(10, 0, 10, 12, 11), False, False, []),
        (ScopeCounts(10, 0, 10, 12, 13), False, False, [Kind.UNEXPLAINED]),
    ],
)
def test_log_counts_and_windows_agree_or_the_difference_has_a_reason(
    counts: ScopeCounts, trimmed: bool, tables_wait: bool, kinds: list[Kind]
) -> None:
    assert [difference.kind for difference in scope_why(counts, trimmed=trimmed, tables_wait=tables_wait)] == kinds


def test_the_log_is_counted_up_to_where_each_cell_is_true() -> None:
    ledger = LedgerCells(marks={0: 10})
    ahead = CellId(0, SCOPE, ATTEMPT, "search", "chat")
    ledger.known[ahead] = Placed(6, 12)
    log = LogCells(ledger)
    for offset in (9, 11, 12):
        log.take(0, offset, SCOPE, batch(1, 3, 3))
    assert log.below[SCOPE, ATTEMPT] == 6
    assert log.waiting[SCOPE, ATTEMPT] == 3


def test_a_comparison_is_explained_as_a_whole_only_if_all_of_it_is() -> None:
    facts = PipelineFacts(ends={0: 1}, starts={0: 0}, marks={0: Mark(1, NOW, 0)}, members=1, windows=1, broker_time=NOW)
    records = HostRecords(facts)
    records.emitters["e-1"] = emitter(batch(1, 3, 3, closing=True))
    records.ledger.marks[0] = 1
    records.log.take(0, 0, SCOPE, batch(1, 3, 3))
    records.counted = {(SCOPE, ATTEMPT): 3}
    records.ledger.known[CellId(0, SCOPE, ATTEMPT, "search", "chat")] = Placed(3, 1)
    records.published = {(SCOPE, ATTEMPT): 3}
    assert compare(records, 3, now=NOW).unexplained == []
    records.counted = {(SCOPE, ATTEMPT): 4}
    broken = compare(records, 3, now=NOW)
    assert [difference.count for _, difference in broken.unexplained] == [1, 1]
    document = to_document(broken, generated_at=NOW)
    assert document["explained"] is False
    assert document["emitters"][0]["families"][ATTEMPT] == {"recorded": 3, "dropped": {}, "received": 3}


def test_without_a_worker_this_machines_clock_tells_who_is_silent() -> None:
    for members, state in ((1, EmitterState.LIVE), (0, EmitterState.SILENT)):
        facts = PipelineFacts(ends={0: 1}, starts={0: 0}, marks={0: Mark(1, NOW, 0)}, members=members, broker_time=NOW)
        records = HostRecords(facts)
        records.emitters["e-1"] = emitter(batch(1, 3, 3))
        assert compare(records, 3, now=NOW + 900 * MICROS).emitters[0].state is state


def test_families_that_only_some_tell_of_are_compared_where_somebody_did() -> None:
    told = batch(1, 2, 2, closing=True)
    told["route_selections"] = [{"source": "auto", "timeline": "live"}] * 2
    told["delegation_effects"] = [{"enforcer": None, "step": "granted"}]
    told["accounts"] += [
        {"family": "route_selection", "recorded": 3, "dropped": []},
        {"family": "delegation_effect", "recorded": 1, "dropped": []},
    ]
    record = emitter(told)
    assert why(record) == [("unexplained", 1)]
    records = HostRecords(PipelineFacts(), {"e-1": record})
    records.log.take(0, 0, SCOPE, told)
    (line,) = compare(records, 3, now=NOW).emitters
    assert "delegation_progress" not in line.families
    assert line.families["route_selection"].received == 2
    (scope,) = compare(records, 3, now=NOW).scopes
    assert scope.families["route_selection"].waiting == 2
    assert "delegation_progress" not in scope.families
