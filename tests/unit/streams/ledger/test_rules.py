"""The fold's parameters."""

from tests.unit.streams.ledger.emitting import MINUTE, SECOND, T0

from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.service import rules_from
from unmask.streams.settings import StreamSettings


def test_the_rules_are_the_settings_in_microseconds() -> None:
    settings = StreamSettings(
        window_seconds=(10, 60), grace_ms=1500, open_horizon_s=7, silence_factor=4, write_off_s=9, quarantine_limit=5
    )
    assert rules_from(settings) == FoldRules(
        window_seconds=(10, 60), outage_seconds=60, grace_us=1_500_000, horizon_us=7 * SECOND, silence_factor=4,
        write_off_us=9 * SECOND, quarantine_limit=5,
    )  # fmt: skip


def test_a_window_is_evicted_an_horizon_after_its_end_and_all_time_never_is() -> None:
    rules = FoldRules(horizon_us=10 * MINUTE)
    assert not rules.evicted(T0, 60, T0 + 11 * MINUTE - 1)
    assert rules.evicted(T0, 60, T0 + 11 * MINUTE)
    assert not rules.evicted(0, 0, 2**62)


def test_windows_that_a_stretch_overlaps_include_those_of_both_ends() -> None:
    starts = FoldRules().starts
    assert list(starts(T0 + 1, T0 + 1, 60)) == [T0]
    assert list(starts(T0 + 59 * SECOND, T0 + MINUTE, 60)) == [T0, T0 + MINUTE]
    assert list(starts(T0, T0 + 2 * MINUTE - 1, 60)) == [T0, T0 + MINUTE]


def test_no_stretch_reaches_further_back_than_windows_are_kept() -> None:
    rules = FoldRules(emitter_horizon_us=10 * MINUTE)
    assert list(rules.starts(0, T0, 60)) == [T0 - minute * MINUTE for minute in range(10, -1, -1)]
    assert len(FoldRules(emitter_horizon_us=2**60).starts(0, T0, 1)) == 100_001


def test_the_grain_divides_all_sizes() -> None:
    assert FoldRules(window_seconds=(45, 60)).grain_us == 15 * SECOND
    assert FoldRules(window_seconds=(60, 3600)).grain_us == MINUTE
