"""The fold: duplicates, gaps, fills, closing, clocks that are ahead, records that cannot be read."""

from itertools import permutations
from typing import Any

import pytest
from tests.unit.streams.ledger.emitting import MINUTE, SCOPE, SECOND, T0, Life, opening_batch
from tests.unit.streams.ledger.folding import Folded

from unmask.streams.ledger.fold import QuarantineFlood, fold_batch, fold_unreadable, skip_to
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.state import PartitionState


def _entry(offset: int, key: str | None = "emitter-a") -> dict[str, Any]:
    return {
        "topic": "t", "partition": 0, "offset": offset, "broker_time": T0, "reason": "BAD_MAGIC", "size": 1,
        "digest": "0" * 64, "fingerprint": None, "key": key,
    }  # fmt: skip


def _minutes(life: Life, n: int, per_batch: int = 2) -> list[dict[str, Any]]:
    """An opening heartbeat, and one batch for each of n minutes, cut ten seconds after it."""
    batches = [opening_batch(life)]
    for minute in range(n):
        life.attempt(T0 + minute * MINUTE + 30 * SECOND, per_batch)
        batches.append(life.cut(T0 + (minute + 1) * MINUTE + 10 * SECOND))
    return batches


def test_batches_in_order_are_counted_once_and_leave_no_flaw() -> None:
    folded = Folded()
    assert [folded.batch(batch) for batch in _minutes(Life(), 3)] == [0, 2, 2, 2]
    assert folded.total("route_attempt") == 6
    assert folded.counts("route_attempt", 60) == {T0: 2, T0 + MINUTE: 2, T0 + 2 * MINUTE: 2}
    assert folded.counts("route_attempt", 3600) == {T0: 6}
    assert folded.flaws == []


def test_a_batch_seen_again_is_counted_as_a_duplicate_in_the_window_of_its_arrival_and_in_nothing_else() -> None:
    folded = Folded()
    batches = _minutes(Life(), 2)
    for batch in batches:
        folded.batch(batch)
    assert folded.batch(batches[1], T0 + 5 * MINUTE) == 0
    assert folded.batch(batches[2], T0 + 5 * MINUTE) == 0
    assert folded.total("route_attempt") == 4
    assert folded.counts("duplicates", 60) == {T0 + 5 * MINUTE: 2}


def test_a_missing_batch_flaws_every_window_between_the_cuts_around_it() -> None:
    folded = Folded()
    batches = _minutes(Life(), 4)
    for batch in (batches[0], batches[1], batches[4]):
        folded.batch(batch)
    assert folded.flawed() == {(T0 + minute * MINUTE, 60, "gap") for minute in (1, 2, 3, 4)}
    assert folded.flawed(3600) == {(T0, 3600, "gap")}
    [losses] = {str(flaw.losses) for flaw in folded.flaws}
    assert losses == str([{"family": "route_attempt", "missing": 4, "dropped": []}])
    assert {(flaw.from_seq, flaw.to_seq) for flaw in folded.flaws} == {(2, 5)}


@pytest.mark.parametrize("order", list(permutations((1, 2, 3, 4))))
def test_a_gap_is_filled_in_any_order_and_heals_completely(order: tuple[int, ...]) -> None:
    folded = Folded()
    batches = _minutes(Life(), 5)
    for number in (0, 5):
        folded.batch(batches[number])
    assert folded.flawed()
    for number in order:
        folded.batch(batches[number], T0 + 7 * MINUTE)
    assert folded.flaws == []
    assert folded.total("route_attempt") == 10
    assert folded.total("duplicates") == 0
    assert folded.state.emitters["emitter-a"].gaps == []


def test_a_gap_that_is_filled_in_part_stays_flawed_where_it_is_not() -> None:
    folded = Folded()
    batches = _minutes(Life(), 5)
    for number in (0, 1, 5, 3):
        folded.batch(batches[number], T0 + 6 * MINUTE)
    # Batch 3 covers the minutes 3 and, up to its cut, 4: what is left are the stretches on both sides of it.
    assert {(flaw.from_seq, flaw.to_seq) for flaw in folded.flaws} == {(2, 4), (4, 6)}
    assert folded.flawed_starts() == {T0 + minute * MINUTE for minute in (1, 2, 3, 4, 5)}
    folded.batch(batches[2], T0 + 6 * MINUTE)
    assert folded.flawed_starts() == {T0 + minute * MINUTE for minute in (3, 4, 5)}


def test_a_filled_batch_that_comes_again_is_a_duplicate() -> None:
    folded = Folded()
    batches = _minutes(Life(), 3)
    for number in (0, 3, 1, 1, 2, 2):
        folded.batch(batches[number], T0 + 4 * MINUTE)
    assert folded.total("route_attempt") == 6
    assert folded.total("duplicates") == 2


def test_missing_heartbeats_are_no_loss() -> None:
    folded = Folded()
    life = Life()
    folded.batch(opening_batch(life))
    for second in (10, 20, 30):
        life.cut(T0 + second * SECOND)
    folded.batch(life.cut(T0 + 40 * SECOND))
    assert folded.flaws == []
    assert len(folded.state.emitters["emitter-a"].gaps) == 1


def test_an_emitter_first_met_in_the_middle_lacks_all_that_it_recorded_before() -> None:
    folded = Folded()
    folded.batch(_minutes(Life(), 3)[3])
    assert folded.flawed_starts() == {T0 + minute * MINUTE for minute in range(4)}
    assert folded.counts("emitters", 60) == {T0 + minute * MINUTE: 1 for minute in range(4)}


def test_events_that_the_host_dropped_flaw_the_stretch_that_tells_of_them() -> None:
    folded = Folded()
    life = Life()
    folded.batch(opening_batch(life))
    folded.batch(life.cut(T0 + 59 * SECOND))
    life.drop("kernel_fallback", 3)
    folded.batch(life.cut(T0 + 61 * SECOND))
    folded.batch(life.cut(T0 + 200 * SECOND))
    assert folded.flawed() == {(T0, 60, "dropped"), (T0 + MINUTE, 60, "dropped")}
    [losses] = {str(flaw.losses) for flaw in folded.flaws}
    assert "'missing': 0" in losses
    assert "'buffer_full', 'count': 3" in losses


def test_a_host_whose_account_does_not_add_up_is_flawed() -> None:
    folded = Folded()
    life = Life()
    folded.batch(opening_batch(life))
    life.recorded["route_attempt"] += 1
    life.attempt(T0 + 5 * SECOND)
    folded.batch(life.cut(T0 + 10 * SECOND))
    assert folded.flawed() == {(T0, 60, "miscount")}


def test_a_batch_given_up_flaws_its_own_stretch_whether_it_is_told_before_or_after_the_next() -> None:
    told_before, told_after = Folded(), Folded()
    for folded in (told_before, told_after):
        life = Life()
        folded.batch(opening_batch(life))
        life.attempt(T0 + 30 * SECOND, 4)
        lost = life.cut(T0 + 50 * SECOND)
        if folded is told_before:
            life.give_up(lost)
        folded.batch(life.cut(T0 + 110 * SECOND))
        if folded is told_after:
            life.give_up(lost)
        life.attempt(T0 + 200 * SECOND)
        folded.batch(life.cut(T0 + 230 * SECOND))
    assert told_before.flawed() == {(T0, 60, "dropped"), (T0 + MINUTE, 60, "dropped")}
    assert told_after.flawed() == {(T0, 60, "gap"), (T0 + MINUTE, 60, "gap")}


def test_a_batch_that_was_given_up_and_arrived_all_the_same_leaves_no_flaw() -> None:
    folded = Folded()
    life = Life()
    folded.batch(opening_batch(life))
    life.attempt(T0 + 30 * SECOND, 4)
    lost = life.cut(T0 + 50 * SECOND)
    folded.batch(life.cut(T0 + 60 * SECOND))
    life.give_up(lost)
    folded.batch(life.cut(T0 + 70 * SECOND))
    folded.batch(lost, T0 + 80 * SECOND)
    assert folded.flaws == []
    assert folded.total("route_attempt") == 4


def test_a_gap_too_many_gives_up_a_harmless_one_first_and_then_the_oldest_and_never_counts_twice() -> None:
    folded = Folded(FoldRules(gap_limit=2))
    life = Life()
    missing = []
    folded.batch(opening_batch(life))
    for number in range(4):
        if number != 1:
            life.attempt(life.started_at + 2 * number * SECOND + SECOND)
        missing.append(life.cut(T0 + (2 * number + 1) * SECOND))
        folded.batch(life.cut(T0 + (2 * number + 2) * SECOND))
    flawed = folded.flaws
    for batch in missing:
        folded.batch(batch, T0 + 20 * SECOND)
    # The second gap lacked nothing and the first was the oldest: they are given up, the others filled.
    assert folded.total("duplicates") == 2
    assert folded.total("route_attempt") == 2
    assert {flaw.from_seq for flaw in folded.flaws} == {1}
    assert {flaw.from_seq for flaw in flawed} == {1, 5, 7}


def test_a_closing_batch_closes_the_emitter_and_a_gap_before_it_can_still_be_filled() -> None:
    folded = Folded()
    life = Life()
    opening = opening_batch(life)
    life.attempt(T0 + SECOND)
    missing = life.cut(T0 + 2 * SECOND)
    closing = life.cut(T0 + 3 * SECOND, closing=True)
    folded.batch(opening)
    folded.batch(closing)
    assert folded.state.emitters["emitter-a"].closed
    assert "emitter-a" not in folded.state.live
    assert folded.flawed() == {(T0, 60, "gap")}
    folded.batch(missing, T0 + 9 * SECOND)
    assert folded.flaws == []
    assert folded.total("route_attempt") == 1


def test_the_heartbeat_of_the_newest_batch_counts() -> None:
    folded = Folded()
    life = Life()
    folded.batch(opening_batch(life))
    life.heartbeat_ms = 60_000
    folded.batch(life.cut(T0 + SECOND))
    assert folded.state.emitters["emitter-a"].heartbeat_us == 60 * SECOND


def test_events_of_a_clock_that_is_minutes_ahead_count_where_they_say() -> None:
    folded = Folded()
    life = Life(started_at=T0 + 4 * MINUTE)
    folded.batch(opening_batch(life), T0)
    life.attempt(T0 + 4 * MINUTE + SECOND, 3)
    folded.batch(life.cut(T0 + 4 * MINUTE + 2 * SECOND), T0 + SECOND)
    assert folded.counts("route_attempt", 60) == {T0 + 4 * MINUTE: 3}
    assert folded.total("skewed") == 0


def test_events_of_a_clock_that_is_further_ahead_count_in_the_brokers_window_and_as_skewed() -> None:
    folded = Folded()
    day = 24 * 60 * MINUTE
    life = Life(started_at=T0 + day)
    folded.batch(opening_batch(life), T0)
    life.attempt(T0 + day + SECOND, 3)
    life.fallback(T0 + day + SECOND)
    folded.batch(life.cut(T0 + day + 2 * SECOND), T0 + 61 * SECOND)
    assert folded.counts("route_attempt", 60) == {T0 + MINUTE: 3}
    assert folded.counts("kernel_fallback", 60) == {T0 + MINUTE: 1}
    assert folded.counts("skewed", 60) == {T0 + MINUTE: 4}
    # It is not taken to have accounted for a day that has not come yet.
    assert folded.state.emitters["emitter-a"].last_cut == T0 + 61 * SECOND
    assert folded.counts("emitters", 60) == {T0: 1, T0 + MINUTE: 1}


def test_one_event_from_the_future_in_an_honest_batch_is_flagged_and_delays_nothing() -> None:
    folded = Folded()
    life = Life()
    folded.batch(opening_batch(life))
    life.attempt(T0 + 24 * 60 * MINUTE)
    life.attempt(T0 + SECOND, 10)
    folded.batch(life.cut(T0 + 2 * SECOND))
    assert folded.counts("route_attempt", 60) == {T0: 11}
    assert folded.total("skewed") == 1
    assert folded.state.emitters["emitter-a"].last_cut == T0 + 2 * SECOND


def test_a_batch_lost_by_a_clock_that_is_ahead_flaws_the_windows_in_which_it_would_have_counted() -> None:
    folded = Folded()
    ahead = 60 * MINUTE
    life = Life(started_at=T0 + ahead)
    folded.batch(opening_batch(life), T0)
    life.attempt(T0 + ahead + 30 * SECOND)
    lost = life.cut(T0 + ahead + 40 * SECOND)
    life.attempt(T0 + ahead + 70 * SECOND)
    folded.batch(life.cut(T0 + ahead + 80 * SECOND), T0 + 80 * SECOND)
    assert folded.flawed_starts() == {T0, T0 + MINUTE}
    # Long after, its own clock's time is in the past; it counts where the flaw was all the same.
    folded.batch(lost, T0 + 3 * ahead)
    assert folded.flaws == []
    assert folded.counts("route_attempt", 60) == {T0 + MINUTE: 2}


def test_a_clock_at_the_epoch_touches_no_more_windows_than_are_kept() -> None:
    folded = Folded()
    life = Life(started_at=0)
    life.attempt(5)
    lost = life.cut(10)
    assert lost["batch_seq"] == 1
    folded.batch(life.cut(T0))
    weeks = {flaw.start for flaw in folded.flaws if flaw.seconds == 60}
    assert len(weeks) == 7 * 24 * 60 + 1
    assert min(weeks) == T0 - 7 * 24 * 60 * MINUTE
    folded.batch(lost, T0 + SECOND)
    assert folded.flaws == []
    assert folded.counts("route_attempt", 60) == {0: 1}


def test_an_unreadable_record_flaws_the_time_since_its_emitters_last_cut_for_every_scope() -> None:
    state, rules = PartitionState(0), FoldRules()
    life = Life()
    fold_batch(state, rules, 0, T0, opening_batch(life))
    fold_unreadable(state, rules, 1, T0 + 130 * SECOND, _entry(1))
    flaws = [flaw for flaw in state.touched.flaws if flaw.seconds == 60]
    assert {flaw.start for flaw in flaws} == {T0, T0 + MINUTE, T0 + 2 * MINUTE}
    assert {(flaw.scope, flaw.emitter_id, flaw.cause, str(flaw.losses)) for flaw in flaws} == {
        (None, None, "quarantined", "[]")
    }
    assert [(flaw.from_seq, flaw.to_seq) for flaw in flaws] == [(1, 2)] * 3
    assert state.touched.quarantined == [_entry(1)]


def test_an_unreadable_record_of_an_emitter_cut_off_for_days_flaws_an_hour_for_everybody_else() -> None:
    state, rules = PartitionState(0), FoldRules()
    fold_batch(state, rules, 0, T0, opening_batch(Life()))
    days = 3 * 24 * 60 * MINUTE
    fold_unreadable(state, rules, 1, T0 + days, _entry(1))
    assert {flaw.start for flaw in state.touched.flaws if flaw.seconds == 60} == {
        T0 + days - minute * MINUTE for minute in range(61)
    }


def test_an_unreadable_record_of_nobody_known_flaws_the_usual_time_before_its_arrival() -> None:
    state = PartitionState(0)
    fold_unreadable(state, FoldRules(), 0, T0 + 5 * SECOND, _entry(0, key=None))
    assert {flaw.start for flaw in state.touched.flaws if flaw.seconds == 60} == {T0 - MINUTE, T0}


def test_too_many_unreadable_records_in_a_row_stop_the_fold_and_change_nothing() -> None:
    state, rules = PartitionState(0), FoldRules(quarantine_limit=3)
    for offset in range(2):
        fold_unreadable(state, rules, offset, T0, _entry(offset))
    before = (state.next_offset, state.quarantine_run, len(state.touched.quarantined))
    for _ in range(2):
        with pytest.raises(QuarantineFlood, match=r"3 records in a row .* offset 2 of partition 0.*BAD_MAGIC"):
            fold_unreadable(state, rules, 2, T0, _entry(2))
    assert (state.next_offset, state.quarantine_run, len(state.touched.quarantined)) == before == (2, 2, 2)


def test_one_readable_record_between_them_starts_the_row_anew() -> None:
    state, rules = PartitionState(0), FoldRules(quarantine_limit=3)
    life = Life()
    for offset in range(0, 30, 3):
        fold_unreadable(state, rules, offset, T0, _entry(offset))
        fold_unreadable(state, rules, offset + 1, T0, _entry(offset + 1))
        fold_batch(state, rules, offset + 2, T0, life.cut(T0 + offset))
    assert len(state.touched.quarantined) == 20


def test_records_that_are_gone_flaw_the_time_since_the_last_one_read() -> None:
    state, rules = PartitionState(0), FoldRules()
    fold_batch(state, rules, 0, T0 + 10 * SECOND, opening_batch(Life()))
    skip_to(state, rules, 7, T0 + 70 * SECOND)
    flaws = {(flaw.start, flaw.scope, flaw.from_seq, flaw.to_seq, flaw.cause) for flaw in state.touched.flaws}
    assert flaws == {
        (T0, None, 1, 7, "skipped"),
        (T0 + MINUTE, None, 1, 7, "skipped"),
    }
    assert state.next_offset == 7


def test_a_log_whose_head_is_gone_before_anything_was_read_proves_nothing_up_to_then() -> None:
    state, rules = PartitionState(0), FoldRules(emitter_horizon_us=10 * MINUTE)
    skip_to(state, rules, 7, T0)
    assert {flaw.start for flaw in state.touched.flaws if flaw.seconds == 60} == {
        T0 - minute * MINUTE for minute in range(11)
    }


def test_a_fallback_is_told_to_other_tools_once_with_its_place_in_the_batch() -> None:
    folded = Folded()
    life = Life()
    folded.batch(opening_batch(life))
    life.fallback(T0 + SECOND, capability="search")
    life.fallback(T0 + SECOND, capability="index")
    batch = life.cut(T0 + 2 * SECOND)
    folded.batch(batch)
    folded.batch(batch)
    told = [fallback for touched in folded.told for fallback in touched.fallbacks]
    assert [(f["emitter_id"], f["batch_seq"], f["index"], f["capability"]) for f in told] == [
        ("emitter-a", 2, 0, "search"),
        ("emitter-a", 2, 1, "index"),
    ]
    assert told[0]["scope"] == SCOPE._asdict()


@pytest.mark.parametrize("kind", ["fallback", "masked", "tear_down"])
def test_what_a_successor_waits_for_goes_out_at_once(kind: str) -> None:
    folded = Folded()
    life = Life()
    folded.batch(opening_batch(life))
    assert not folded.told[-1].urgent
    getattr(life, kind)(T0 + SECOND)
    folded.batch(life.cut(T0 + 2 * SECOND))
    assert folded.told[-1].urgent
