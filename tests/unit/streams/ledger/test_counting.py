"""Counting: windows of every size, late events, corrections, witnesses, labels."""

import pytest
from tests.unit.streams.ledger.emitting import MINUTE, SCOPE, SECOND, T0, Life, opening_batch
from tests.unit.streams.ledger.folding import Folded

from unmask.schemas.scope import Scope
from unmask.streams.ledger.counting import MERGED_LABEL
from unmask.streams.ledger.rules import FoldRules


def test_the_events_of_one_group_are_divided_over_their_windows() -> None:
    folded = Folded()
    life = Life()
    folded.batch(opening_batch(life))
    for second in (0, 59, 60, 119, 120):
        life.attempt(T0 + second * SECOND)
    folded.batch(life.cut(T0 + 121 * SECOND))
    assert folded.counts("route_attempt", 60) == {T0: 2, T0 + MINUTE: 2, T0 + 2 * MINUTE: 1}
    assert folded.counts("route_attempt", 3600) == {T0: 5}
    assert folded.total("route_attempt") == 5


@pytest.mark.parametrize("sizes", [(45, 60), (7, 11, 60), (10, 60, 3600)])
def test_window_sizes_need_not_divide_one_another(sizes: tuple[int, ...]) -> None:
    folded = Folded(FoldRules(window_seconds=sizes))
    life = Life()
    folded.batch(opening_batch(life))
    instants = [T0 + 7 * SECOND * number + number for number in range(40)]
    for instant in instants:
        life.attempt(instant)
    folded.batch(life.cut(instants[-1] + 1))
    for seconds in sizes:
        expected: dict[int, int] = {}
        for instant in instants:
            start = instant - instant % (seconds * SECOND)
            expected[start] = expected.get(start, 0) + 1
        assert folded.counts("route_attempt", seconds) == expected


def test_each_family_is_counted_under_its_labels() -> None:
    folded = Folded()
    life = Life()
    folded.batch(opening_batch(life))
    life.attempt(T0 + 1, capability="index", entry_point="voice")
    life.fallback(T0 + 1, capability="index", reason_code="quota_exhausted")
    life.masked(T0 + 1, upstream="search-api", masked_upstream_signature="TIMEOUT_5000ms")
    life.tear_down(T0 + 1, outcome="failure")
    folded.batch(life.cut(T0 + 2))
    series = {(key[3], key[4], key[5]): cell.count for key, cell in folded.state.cells.items() if key[1] == 0}
    assert series == {
        ("emitters", "-", "-"): 1,
        ("route_attempt", "index", "voice"): 1,
        ("kernel_fallback", "index", "quota_exhausted"): 1,
        ("masked_error", "search-api", "timeout"): 1,
        ("session_teardown", "-", "failure"): 1,
    }


def test_counts_of_two_scopes_are_kept_apart() -> None:
    folded = Folded()
    other = Scope("r2", *SCOPE[1:])
    for life in (Life("emitter-a"), Life("emitter-b", scope=other)):
        folded.batch(opening_batch(life))
        life.attempt(T0 + 1, 2 if life.scope == other else 1)
        folded.batch(life.cut(T0 + 2))
    assert folded.counts("route_attempt", 60, SCOPE) == {T0: 1}
    assert folded.counts("route_attempt", 60, other) == {T0: 2}


def test_an_event_of_a_window_that_is_closed_is_counted_there_and_as_late() -> None:
    folded = Folded()
    life = Life()
    folded.batch(opening_batch(life))
    life.attempt(T0 + SECOND, 2)
    folded.batch(life.cut(T0 + 2 * SECOND), T0 + 64 * SECOND)
    assert folded.counts("late", 60) == {}
    life.attempt(T0 + 3 * SECOND)
    life.fallback(T0 + 3 * SECOND)
    folded.batch(life.cut(T0 + 4 * SECOND), T0 + 65 * SECOND)
    assert folded.counts("route_attempt", 60) == {T0: 3}
    assert folded.counts("late", 60) == {T0: 2}
    # The hour is still open, and all time never closes.
    assert folded.counts("late", 3600) == {}
    assert folded.total("late") == 0


def test_an_event_of_a_window_whose_cells_are_gone_becomes_a_correction_of_its_batch() -> None:
    folded = Folded(FoldRules(horizon_us=10 * MINUTE))
    life = Life()
    folded.batch(opening_batch(life))
    for number in (2, 3):
        life.attempt(T0 + number * SECOND, number)
        folded.batch(life.cut(T0 + number * SECOND), T0 + 30 * MINUTE)
    corrected = {
        (correction, key[0], key[1]): n
        for touched in folded.told
        for (key, correction), n in touched.corrections.items()
        if key[3] == "route_attempt"
    }
    assert corrected == {(("emitter-a", 2), T0, 60): 2, (("emitter-a", 3), T0, 60): 3}
    assert folded.counts("route_attempt", 60) == {T0: 5}
    # The hour is not over for as long: it has cells.
    assert {cell.count for key, cell in folded.state.cells.items() if key[1] == 3600 and key[3] == "route_attempt"} == {
        5
    }
    assert folded.total("route_attempt") == 5


def test_a_cell_that_was_evicted_never_begins_anew_even_if_the_brokers_clock_goes_back() -> None:
    folded = Folded(FoldRules(horizon_us=10 * MINUTE))
    life = Life()
    folded.batch(opening_batch(life))
    life.attempt(T0 + SECOND, 5)
    folded.batch(life.cut(T0 + 2 * SECOND))
    folded.state.unpublished.clear()
    folded.through(T0 + 30 * MINUTE)
    assert (T0, 60) not in folded.state.windows
    life.attempt(T0 + 3 * SECOND, 2)
    folded.batch(life.cut(T0 + 4 * SECOND), T0 + 5 * SECOND)
    assert (T0, 60) not in folded.state.windows
    assert folded.counts("route_attempt", 60) == {T0: 2}


def test_an_emitter_is_a_witness_of_each_window_that_it_reaches_once() -> None:
    folded = Folded()
    life = Life(started_at=T0 + 50 * SECOND)
    for second in (51, 55, 70, 80, 200):
        folded.batch(life.cut(T0 + second * SECOND))
    assert folded.counts("emitters", 60) == {T0 + minute * MINUTE: 1 for minute in range(4)}
    assert folded.counts("emitters", 3600) == {T0: 1}
    assert folded.total("emitters") == 1


def test_a_cut_at_a_windows_very_start_reaches_that_window() -> None:
    folded = Folded()
    life = Life()
    folded.batch(life.cut(T0))
    folded.batch(life.cut(T0 + MINUTE))
    folded.batch(life.cut(T0 + MINUTE + 1))
    assert folded.counts("emitters", 60) == {T0: 1, T0 + MINUTE: 1}


def test_a_filled_gap_witnesses_nothing_a_second_time() -> None:
    folded = Folded()
    life = Life()
    batches = [life.cut(T0 + minute * MINUTE + 1) for minute in range(4)]
    for number in (0, 3, 1, 2):
        folded.batch(batches[number], T0 + 4 * MINUTE)
    assert folded.counts("emitters", 60) == {T0 + minute * MINUTE: 1 for minute in range(4)}


def test_sessions_that_met_an_unreachable_upstream_are_kept_with_it() -> None:
    folded = Folded()
    life = Life()
    folded.batch(opening_batch(life))
    for number in range(20):
        life.masked(T0 + SECOND, session_id=f"session-{number}", masked_upstream_signature="HTTP_503")
    life.masked(T0 + SECOND, session_id="session-0", masked_upstream_signature="TIMEOUT")
    life.masked(T0 + SECOND, session_id="session-99", masked_upstream_signature="HTTP_404")
    folded.batch(life.cut(T0 + 2 * SECOND))
    [(key, cell)] = [(key, cell) for key, cell in folded.state.cells.items() if key[3] == "upstream"]
    assert (key[0], key[1], key[4]) == (T0, 60, "search-api")
    assert cell.count == 21
    assert cell.sessions == [f"session-{number}" for number in range(16)]


def test_upstreams_are_kept_in_windows_of_the_size_that_drives_alerts() -> None:
    folded = Folded(FoldRules(window_seconds=(10, 60, 3600), outage_seconds=60))
    life = Life()
    folded.batch(opening_batch(life))
    life.masked(T0 + 30 * SECOND)
    folded.batch(life.cut(T0 + 31 * SECOND))
    assert {key[:2] for key in folded.state.cells if key[3] == "upstream"} == {(T0, 60)}


def test_labels_beyond_the_limit_are_merged_and_every_total_stays() -> None:
    folded = Folded(FoldRules(label_limit=5))
    life = Life()
    folded.batch(opening_batch(life))
    for number in range(50):
        life.attempt(T0 + SECOND, capability=f"capability-{number}")
        life.fallback(T0 + SECOND, capability=f"capability-{number}", reason_code="timeout")
    for _ in range(2):
        life.tear_down(T0 + SECOND)
    folded.batch(life.cut(T0 + 2 * SECOND))
    life.attempt(T0 + SECOND, capability="capability-0")
    folded.batch(life.cut(T0 + 3 * SECOND))
    assert folded.total("route_attempt") == 51
    assert folded.total("kernel_fallback") == 50
    assert folded.total("session_teardown") == 2
    assert folded.counts("route_attempt", 60) == {T0: 51}
    series = {(key[3], key[4], key[5]): cell.count for key, cell in folded.state.cells.items() if key[1] == 60}
    assert series["route_attempt", "capability-0", "chat"] == 2
    assert series["route_attempt", MERGED_LABEL, MERGED_LABEL] == 46
    assert series["kernel_fallback", MERGED_LABEL, "timeout"] == 50
    assert series["session_teardown", "-", "success"] == 2
    assert len(folded.state.cells) < 30


def test_selections_calls_and_effects_are_counted_under_their_labels() -> None:
    folded = Folded(FoldRules(label_limit=1))
    life = Life()
    folded.batch(opening_batch(life))
    for source, timeline in (("user", "persisted"), ("auto", "live"), ("auto", "live")):
        life.select(T0 + 1, source=source, timeline=timeline)
    for outcome in ("succeeded", "succeeded", "refused"):
        life.progress(T0 + 1, outcome=outcome)
    life.effect(T0 + 1, "refused", enforcer="breaker")
    life.effect(T0 + 1, "committed")
    assert folded.batch(life.cut(T0 + 2)) == 8
    for seconds in (0, 60, 3600):
        assert folded.series("route_selection", seconds) == {("user", "persisted"): 1, ("auto", "live"): 2}
        assert folded.series("delegation_progress", seconds) == {("-", "succeeded"): 2, ("-", "refused"): 1}
        assert folded.series("delegation_effect", seconds) == {("breaker", "refused"): 1, ("-", "committed"): 1}


def test_selections_calls_and_effects_may_be_late_and_ahead_as_all_events() -> None:
    folded = Folded()
    life = Life()
    folded.batch(opening_batch(life))
    life.select(T0 + SECOND)
    life.progress(T0 + SECOND)
    life.effect(T0 + SECOND, "granted")
    life.effect(T0 + 30 * MINUTE, "released")
    folded.batch(life.cut(T0 + 2 * SECOND), T0 + 65 * SECOND)
    assert folded.counts("late", 60) == {T0: 3}
    assert folded.counts("skewed", 60) == {T0 + MINUTE: 1}
    assert folded.counts("delegation_effect", 60) == {T0: 1, T0 + MINUTE: 1}


def test_an_emitter_is_a_witness_of_a_family_from_the_batch_on_that_first_says_so() -> None:
    folded = Folded()
    life = Life(started_at=T0)
    folded.batch(life.cut(T0 + 30 * SECOND))
    folded.batch(life.cut(T0 + 70 * SECOND))
    life.witnesses = ("route_selection",)
    # The stretch since the last cut, and each window that is reached from then on, once.
    for second in (80, 100, 130, 140, 200):
        folded.batch(life.cut(T0 + second * SECOND))
    minutes = {T0 + minute * MINUTE: 1 for minute in range(4)}
    assert folded.counts("emitters", 60) == minutes
    assert folded.counts("witnesses", 60) == {start: 1 for start in minutes if start > T0}
    assert folded.series("witnesses") == {("route_selection", "-"): 1}


def test_a_family_that_is_witnessed_later_covers_the_whole_stretch_of_the_batch_that_says_so() -> None:
    folded = Folded()
    life = Life(started_at=T0)
    life.witnesses = ("delegation_effect",)
    folded.batch(life.cut(T0 + 30 * SECOND))
    life.witnesses += ("route_selection",)
    folded.batch(life.cut(T0 + 150 * SECOND))
    assert folded.series("witnesses", 60) == {("delegation_effect", "-"): 3, ("route_selection", "-"): 3}
    assert folded.series("witnesses", 3600) == {("delegation_effect", "-"): 1, ("route_selection", "-"): 1}


def test_what_an_emitter_said_once_that_it_can_tell_of_it_goes_on_to_witness() -> None:
    folded = Folded()
    life = Life(started_at=T0)
    life.witnesses = ("delegation_progress",)
    folded.batch(life.cut(T0 + 30 * SECOND))
    life.witnesses = ()
    folded.batch(life.cut(T0 + 70 * SECOND))
    assert folded.counts("witnesses", 60) == {T0: 1, T0 + MINUTE: 1}


def test_the_first_four_families_and_unknown_ones_need_no_witness() -> None:
    folded = Folded()
    life = Life(witnesses=("route_attempt", "unknown_family"))
    folded.batch(life.cut(T0 + 30 * SECOND))
    assert folded.total("witnesses") == 0
