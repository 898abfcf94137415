"""Time: silence, being behind, eviction, forgetting."""

from tests.unit.streams.ledger.emitting import MINUTE, SCOPE, SECOND, T0, Life, opening_batch
from tests.unit.streams.ledger.folding import Folded

from unmask.schemas.scope import Scope
from unmask.streams.ledger.advance import scope_marks
from unmask.streams.ledger.rules import FoldRules

HOUR = 60 * MINUTE
DAY = 24 * HOUR


def _started(rules: FoldRules | None = None, **life_settings: int) -> tuple[Folded, Life]:
    folded, life = Folded(rules), Life(**life_settings)  # type: ignore[arg-type]
    folded.batch(opening_batch(life))
    return folded, life


def test_an_emitter_within_its_heartbeats_owes_nothing() -> None:
    folded, _ = _started()
    folded.through(T0 + 30 * SECOND)
    assert folded.flaws == []
    assert scope_marks(folded.state) == {SCOPE: (T0 + 1, 1)}


def test_a_silent_emitter_flaws_the_windows_from_its_last_cut_to_the_end_of_its_silence() -> None:
    folded, life = _started()
    folded.batch(life.cut(T0 + 50 * SECOND))
    folded.through(T0 + 81 * SECOND)
    assert folded.flawed() == {(T0, 60, "silent"), (T0 + MINUTE, 60, "silent")}
    assert {(flaw.from_seq, flaw.to_seq, str(flaw.losses)) for flaw in folded.flaws} == {(-1, -1, "[]")}
    assert scope_marks(folded.state) == {}
    # Time goes on, and no more windows are flawed by it.
    folded.through(T0 + 10 * MINUTE)
    assert folded.flawed_starts() == {T0, T0 + MINUTE}


def test_hosts_that_may_be_cut_off_for_long_flaw_more_windows() -> None:
    folded, _ = _started(FoldRules(write_off_us=5 * MINUTE))
    folded.through(T0 + 3 * MINUTE)
    assert folded.flawed_starts() == {T0 + minute * MINUTE for minute in range(4)}
    folded.through(T0 + HOUR)
    assert folded.flawed_starts() == {T0 + minute * MINUTE for minute in range(6)}


def test_an_emitter_that_closed_is_never_silent() -> None:
    folded, life = _started()
    folded.batch(life.cut(T0 + SECOND, closing=True))
    folded.through(T0 + HOUR)
    assert folded.flaws == []


def test_an_emitter_that_comes_back_with_all_batches_heals_its_silence() -> None:
    folded, life = _started()
    folded.through(T0 + 2 * MINUTE)
    assert folded.flaws
    for second in range(10, 130, 10):
        folded.batch(life.cut(T0 + second * SECOND), T0 + 130 * SECOND)
    folded.through(T0 + 131 * SECOND)
    assert folded.flaws == []
    assert scope_marks(folded.state) == {SCOPE: (T0 + 120 * SECOND, 1)}


def test_an_emitter_that_comes_back_slowly_is_behind_until_it_has_caught_up() -> None:
    folded, life = _started()
    folded.through(T0 + 2 * MINUTE)
    folded.batch(life.cut(T0 + 10 * SECOND), T0 + 5 * MINUTE)
    folded.through(T0 + 5 * MINUTE)
    assert folded.flawed() == {(T0 + minute * MINUTE, 60, "behind") for minute in range(6)}
    folded.batch(life.cut(T0 + 2 * MINUTE), T0 + 5 * MINUTE)
    folded.through(T0 + 5 * MINUTE + SECOND)
    assert folded.flawed_starts() == {T0 + minute * MINUTE for minute in range(2, 6)}
    folded.batch(life.cut(T0 + 5 * MINUTE), T0 + 5 * MINUTE)
    folded.through(T0 + 5 * MINUTE + 2 * SECOND)
    assert folded.flaws == []


def test_a_final_account_heals_the_silence_before_it() -> None:
    folded, life = _started()
    folded.through(T0 + HOUR)
    folded.batch(life.cut(T0 + 10 * SECOND, closing=True), T0 + 2 * HOUR)
    folded.through(T0 + 2 * HOUR)
    assert folded.flaws == []
    assert folded.state.live == set()


def test_the_slowest_emitter_of_a_scope_decides_up_to_when_it_has_accounted() -> None:
    folded = Folded()
    other = Scope("r2", *SCOPE[1:])
    for name, scope, cut in (("a", SCOPE, 5), ("b", SCOPE, 3), ("c", other, 9)):
        life = Life(name, scope=scope)
        folded.batch(life.cut(T0 + cut * SECOND))
    assert scope_marks(folded.state) == {SCOPE: (T0 + 3 * SECOND, 2), other: (T0 + 9 * SECOND, 1)}


def test_time_never_goes_back() -> None:
    folded, _ = _started()
    folded.through(T0 + HOUR)
    folded.through(T0 + MINUTE)
    assert folded.state.read_through == T0 + HOUR


def test_cells_leave_when_their_window_is_long_over_and_their_last_count_is_out() -> None:
    folded, life = _started(FoldRules(horizon_us=10 * MINUTE))
    life.attempt(T0 + SECOND)
    folded.batch(life.cut(T0 + 2 * SECOND))
    folded.through(T0 + 13 * MINUTE)
    assert (T0, 60) in folded.state.windows
    folded.state.unpublished.clear()
    folded.through(T0 + 13 * MINUTE + 1)
    assert set(folded.state.windows) == {(T0, 3600), (0, 0)}
    assert {key[3] for key in folded.told[-1].removed_cells} == {"route_attempt", "emitters"}
    assert not {key for key in folded.state.cells if key[:2] == (T0, 60)}
    folded.through(T0 + 30 * DAY)
    assert set(folded.state.windows) == {(0, 0)}


def test_counts_of_all_time_are_told_again_every_day() -> None:
    folded, life = _started()
    life.attempt(T0 + SECOND)
    folded.batch(life.cut(T0 + 2 * SECOND))
    folded.through(T0 + 3 * SECOND)
    folded.state.unpublished.clear()
    folded.through(T0 + HOUR)
    assert folded.state.unpublished == set()
    folded.through(T0 + DAY)
    assert {(key[1], key[3]) for key in folded.state.unpublished} == {(0, "route_attempt"), (0, "emitters")}


def test_an_emitter_that_sends_nothing_for_a_week_is_forgotten_and_its_flaws_stay() -> None:
    folded, _ = _started()
    folded.through(T0 + 7 * DAY)
    assert "emitter-a" in folded.state.emitters
    folded.through(T0 + 7 * DAY + MINUTE)
    assert folded.state.emitters == {}
    assert folded.state.live == set()
    assert folded.told[-1].removed_emitters == ["emitter-a"]
    assert folded.flawed_starts() == {T0}


def test_a_silent_emitter_that_stays_silent_is_not_told_again() -> None:
    folded, _ = _started()
    folded.through(T0 + 10 * MINUTE)
    folded.through(T0 + 10 * MINUTE + SECOND)
    assert folded.told[-1].flaws == []
    assert folded.told[-1].emitters == set()


def test_an_emitter_behind_by_days_costs_one_flaw_for_each_new_window() -> None:
    folded, life = _started()
    for day in range(1, 4):
        folded.batch(life.cut(T0 + day * SECOND), T0 + day * DAY)
        folded.through(T0 + day * DAY)
    first = len(folded.told[-1].flaws)
    folded.batch(life.cut(T0 + 9 * SECOND), T0 + 3 * DAY + MINUTE)
    folded.through(T0 + 3 * DAY + MINUTE)
    assert first > 24 * 60
    assert [(flaw.start, flaw.seconds) for flaw in folded.told[-1].flaws] == [(T0 + 3 * DAY + MINUTE, 60)]
