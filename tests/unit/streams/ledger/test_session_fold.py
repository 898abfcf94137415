"""Sessions: openings, degraded operations, teardowns, abandonment, and what may be missing of them."""

from tests.unit.streams.ledger.emitting import MINUTE, SECOND, T0, Life, opening_batch
from tests.unit.streams.ledger.folding import Folded

from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.session_evidence import is_lossy
from unmask.streams.ledger.session_fold import MAX_DEGRADED
from unmask.streams.ledger.state import Session

HOUR = 60 * MINUTE
DAY = 24 * HOUR


def _session(folded: Folded, session_id: str = "session-1") -> Session:
    return folded.state.sessions[session_id]


def _lossy(folded: Folded, session_id: str = "session-1") -> bool:
    return is_lossy(folded.state, _session(folded, session_id))


def _started(*lives: Life) -> Folded:
    folded = Folded()
    for life in lives:
        folded.batch(opening_batch(life))
    return folded


def test_a_session_gathers_what_its_batches_say_of_it() -> None:
    life = Life()
    folded = _started(life)
    life.open(T0 + 1 * SECOND, predecessor="session-0")
    life.masked(T0 + 2 * SECOND, operation_id="op-1", masked_upstream_signature="HTTP_503")
    life.masked(T0 + 3 * SECOND, operation_id="op-1", masked_upstream_signature="RATE_LIMITED")
    folded.batch(life.cut(T0 + 4 * SECOND))
    life.masked(T0 + 5 * SECOND, operation_id="op-2", masked_upstream_signature="HTTP_404", equivalence="bit_for_bit")
    life.fallback(T0 + 5 * SECOND, session_id="session-1", operation_id="op-2")
    life.fallback(T0 + 6 * SECOND, session_id="session-1")
    life.fallback(T0 + 6 * SECOND)
    life.tear_down(T0 + 7 * SECOND, operations=9)
    folded.batch(life.cut(T0 + 8 * SECOND))
    session = _session(folded)
    assert (session.opened_at, session.last_seen_at) == (T0 + 1 * SECOND, T0 + 7 * SECOND)
    assert session.predecessor == "session-0"
    assert (session.masked_errors, session.fallbacks, session.anonymous_fallbacks) == (3, 2, 1)
    assert session.degraded == {"op-1", "op-2"}
    assert session.proven == {"op-1": False, "op-2": True}
    assert (session.unreachable, session.exhausted) == (2, 1)
    assert [masked["operation_id"] for masked in session.masked] == ["op-1", "op-1", "op-2"]
    [teardown] = session.teardowns
    assert (teardown["operations"], teardown["emitter_id"]) == (9, "emitter-a")
    assert session.open_on == set()
    assert session.ended_arrival == T0 + 8 * SECOND


def test_an_operation_is_proven_only_while_every_answer_was() -> None:
    life = Life()
    folded = _started(life)
    for equivalence in ("bit_for_bit", "different", "bit_for_bit"):
        life.masked(T0 + SECOND, equivalence=equivalence)
    folded.batch(life.cut(T0 + 2 * SECOND))
    assert _session(folded).proven == {"op-1": False}


def test_a_substitute_of_another_shape_is_a_drift() -> None:
    life = Life()
    folded = _started(life)
    shapes = ((None, None), ("a", "a"), ("a", "b"), (None, "b"))
    for primary, fallback in shapes:
        life.masked(T0 + SECOND, primary_shape=primary, fallback_shape=fallback)
    folded.batch(life.cut(T0 + 2 * SECOND))
    assert _session(folded).shape_drifts == 1


def test_degraded_operations_beyond_the_named_ones_are_counted_once_each() -> None:
    life = Life()
    folded = _started(life)
    for number in range(MAX_DEGRADED + 500):
        life.masked(T0 + SECOND, operation_id=f"op-{number}", equivalence="bit_for_bit")
        life.masked(T0 + SECOND, operation_id=f"op-{number}", equivalence="bit_for_bit")
        life.fallback(T0 + SECOND, session_id="session-1", operation_id=f"op-{number}")
    folded.batch(life.cut(T0 + 2 * SECOND))
    session = _session(folded)
    assert len(session.degraded) == MAX_DEGRADED
    assert session.degraded_further == 500
    assert len(session.proven) == MAX_DEGRADED
    assert len(session.masked) == 64


def test_a_degraded_operation_beyond_the_named_ones_counts_once_however_many_batches_tell_of_it() -> None:
    life = Life()
    folded = _started(life)
    for number in range(MAX_DEGRADED):
        life.masked(T0 + SECOND, operation_id=f"op-{number}")
    folded.batch(life.cut(T0 + 2 * SECOND))
    for hop in range(3):
        for number in range(100):
            life.masked(T0 + (3 + hop) * SECOND, operation_id=f"further-{number}")
        folded.batch(life.cut(T0 + (4 + hop) * SECOND))
    assert _session(folded).degraded_further == 100


def test_a_session_open_when_its_emitter_closes_is_abandoned_at_once() -> None:
    life = Life()
    folded = _started(life)
    life.open(T0 + SECOND)
    folded.batch(life.cut(T0 + 2 * SECOND, closing=True))
    session = _session(folded)
    assert (session.abandoned_at, session.open_on) == (T0 + 2 * SECOND, set())
    assert folded.told[-1].urgent


def test_a_session_that_was_torn_down_is_not_abandoned_when_its_emitter_closes() -> None:
    life = Life()
    folded = _started(life)
    life.open(T0 + SECOND)
    life.tear_down(T0 + 2 * SECOND)
    folded.batch(life.cut(T0 + 3 * SECOND, closing=True))
    assert _session(folded).abandoned_at is None


def test_a_session_that_another_emitter_has_open_is_not_abandoned_until_that_closes_too() -> None:
    first, second = Life("emitter-a"), Life("emitter-b")
    folded = _started(first, second)
    for life in (first, second):
        life.open(T0 + SECOND)
        folded.batch(life.cut(T0 + 2 * SECOND))
    folded.batch(first.cut(T0 + 3 * SECOND, closing=True))
    assert _session(folded).abandoned_at is None
    folded.batch(second.cut(T0 + 4 * SECOND, closing=True))
    assert _session(folded).abandoned_at == T0 + 4 * SECOND


def test_a_session_whose_opening_was_never_seen_is_abandoned_like_any_other() -> None:
    life = Life()
    folded = _started(life)
    life.fallback(T0 + SECOND, session_id="session-1")
    folded.batch(life.cut(T0 + 2 * SECOND, closing=True))
    assert _session(folded).abandoned_at == T0 + 2 * SECOND


def test_a_teardown_that_arrives_late_takes_the_abandonment_back() -> None:
    life = Life()
    folded = _started(life)
    life.open(T0 + SECOND)
    folded.batch(life.cut(T0 + 2 * SECOND))
    life.tear_down(T0 + 3 * SECOND)
    late = life.cut(T0 + 4 * SECOND)
    folded.batch(life.cut(T0 + 5 * SECOND, closing=True))
    assert _session(folded).abandoned_at == T0 + 5 * SECOND
    folded.batch(late, T0 + 9 * SECOND)
    assert _session(folded).abandoned_at is None
    assert len(_session(folded).teardowns) == 1


def test_a_session_of_a_silent_emitter_is_abandoned_and_goes_on_when_the_emitter_comes_back() -> None:
    life = Life()
    folded = _started(life)
    life.open(T0 + SECOND)
    folded.batch(life.cut(T0 + 2 * SECOND))
    folded.through(T0 + 40 * SECOND)
    assert _session(folded).abandoned_at == T0 + 32 * SECOND
    assert folded.told[-1].urgent
    folded.batch(life.cut(T0 + 50 * SECOND))
    folded.through(T0 + 51 * SECOND)
    session = _session(folded)
    assert (session.abandoned_at, session.ended_arrival, session.open_on) == (None, None, {"emitter-a"})
    folded.through(T0 + 100 * SECOND)
    assert _session(folded).abandoned_at == T0 + 80 * SECOND


def test_a_session_opened_by_an_emitter_that_is_silent_again_before_anybody_looked_is_abandoned() -> None:
    life = Life()
    folded = _started(life)
    folded.through(T0 + 60 * SECOND)
    life.open(T0 + 61 * SECOND)
    folded.batch(life.cut(T0 + 62 * SECOND))
    folded.through(T0 + 10 * MINUTE)
    assert _session(folded).abandoned_at == T0 + 92 * SECOND


def test_an_event_before_the_abandonment_on_another_emitter_shows_that_the_session_is_open_there() -> None:
    first, second = Life("emitter-a"), Life("emitter-b")
    folded = _started(first, second)
    first.open(T0 + SECOND)
    second.masked(T0 + 2 * SECOND)
    late = second.cut(T0 + 3 * SECOND)
    folded.batch(first.cut(T0 + 5 * SECOND, closing=True))
    assert _session(folded).abandoned_at == T0 + 5 * SECOND
    folded.batch(late, T0 + 6 * SECOND)
    assert _session(folded).abandoned_at is None
    folded.batch(second.cut(T0 + 7 * SECOND, closing=True))
    assert _session(folded).abandoned_at == T0 + 7 * SECOND


def test_an_event_after_the_abandonment_revives_a_session_on_another_emitter() -> None:
    first, second = Life("emitter-a"), Life("emitter-b")
    folded = _started(first, second)
    first.open(T0 + SECOND)
    folded.batch(first.cut(T0 + 2 * SECOND, closing=True))
    second.masked(T0 + 3 * SECOND)
    folded.batch(second.cut(T0 + 4 * SECOND))
    session = _session(folded)
    assert (session.abandoned_at, session.open_on) == (None, {"emitter-b"})
    folded.batch(second.cut(T0 + 5 * SECOND, closing=True))
    assert _session(folded).abandoned_at == T0 + 5 * SECOND


def test_a_session_taken_up_again_after_its_teardown_can_be_abandoned() -> None:
    life = Life()
    folded = _started(life)
    life.open(T0 + SECOND)
    life.tear_down(T0 + 2 * SECOND)
    folded.batch(life.cut(T0 + 3 * SECOND))
    life.open(T0 + 4 * SECOND)
    folded.batch(life.cut(T0 + 5 * SECOND))
    session = _session(folded)
    assert (session.opened_at, session.ended_arrival, session.open_on) == (T0 + SECOND, None, {"emitter-a"})
    folded.batch(life.cut(T0 + 6 * SECOND, closing=True))
    assert _session(folded).abandoned_at == T0 + 6 * SECOND


def test_an_opening_that_arrives_after_the_teardown_does_not_open_it_again() -> None:
    life = Life()
    folded = _started(life)
    life.open(T0 + SECOND)
    opening = life.cut(T0 + 2 * SECOND)
    life.tear_down(T0 + 3 * SECOND)
    folded.batch(life.cut(T0 + 4 * SECOND))
    folded.batch(opening, T0 + 5 * SECOND)
    session = _session(folded)
    assert (session.opened_at, session.open_on) == (T0 + SECOND, set())
    assert session.ended_arrival == T0 + 4 * SECOND


def test_the_newest_eight_teardowns_are_kept_and_equal_ones_once() -> None:
    life = Life()
    folded = _started(life)
    for second in (*range(1, 11), 10):
        life.tear_down(T0 + second * SECOND)
    folded.batch(life.cut(T0 + 12 * SECOND))
    assert [t["occurred_at"] for t in _session(folded).teardowns] == [T0 + second * SECOND for second in range(3, 11)]


def test_an_ended_session_is_forgotten_after_a_day_and_its_late_events_are_left_alone() -> None:
    life = Life()
    folded = _started(life)
    life.open(T0 + SECOND)
    life.masked(T0 + SECOND)
    late = life.cut(T0 + 2 * SECOND)
    life.tear_down(T0 + 3 * SECOND)
    folded.batch(life.cut(T0 + 4 * SECOND))
    folded.through(T0 + DAY)
    assert "session-1" in folded.state.sessions
    folded.through(T0 + DAY + MINUTE)
    assert folded.state.sessions == {}
    assert folded.told[-1].removed_sessions == ["session-1"]
    assert folded.state.emitters["emitter-a"].sessions == set()
    folded.batch(late, T0 + DAY + 2 * MINUTE)
    assert folded.state.sessions == {}


def test_a_host_that_was_cut_off_for_days_still_gets_its_sessions_judged() -> None:
    life = Life()
    folded = _started(life)
    life.open(T0 + MINUTE)
    life.masked(T0 + 2 * MINUTE)
    life.tear_down(T0 + 3 * MINUTE)
    folded.batch(life.cut(T0 + 4 * MINUTE), T0 + 3 * DAY)
    session = _session(folded)
    assert (session.masked_errors, len(session.teardowns)) == (1, 1)


def test_a_gap_that_lacks_session_events_makes_the_sessions_around_it_lossy_until_it_is_filled() -> None:
    life = Life()
    folded = _started(life)
    life.open(T0 + SECOND, "before")
    life.tear_down(T0 + 2 * SECOND, "before")
    life.open(T0 + 3 * SECOND, "within")
    folded.batch(life.cut(T0 + 4 * SECOND))
    life.masked(T0 + 5 * SECOND, session_id="within")
    lost = life.cut(T0 + 6 * SECOND)
    life.tear_down(T0 + 7 * SECOND, "within")
    folded.batch(life.cut(T0 + 8 * SECOND))
    life.open(T0 + 9 * SECOND, "after")
    folded.batch(life.cut(T0 + 10 * SECOND))
    assert not _lossy(folded, "before")
    assert _lossy(folded, "within")
    assert not _lossy(folded, "after")
    folded.batch(lost, T0 + 11 * SECOND)
    assert not _lossy(folded, "within")
    assert "within" in folded.told[-1].sessions


def test_missing_route_attempts_are_no_fault_of_a_session() -> None:
    life = Life()
    folded = _started(life)
    life.open(T0 + SECOND)
    folded.batch(life.cut(T0 + 2 * SECOND))
    life.attempt(T0 + 3 * SECOND)
    life.cut(T0 + 4 * SECOND)
    folded.batch(life.cut(T0 + 5 * SECOND))
    assert folded.flaws
    assert not _lossy(folded)


def test_a_session_seen_only_after_a_gap_may_have_lost_events_in_it_unless_it_opened_later() -> None:
    life = Life()
    folded = _started(life)
    life.masked(T0 + SECOND, session_id="unseen")
    life.cut(T0 + 2 * SECOND)
    folded.batch(life.cut(T0 + 3 * SECOND))
    life.masked(T0 + 4 * SECOND, session_id="unseen")
    life.open(T0 + 4 * SECOND, "opened")
    life.masked(T0 + 4 * SECOND, session_id="opened")
    folded.batch(life.cut(T0 + 5 * SECOND))
    assert _lossy(folded, "unseen")
    assert not _lossy(folded, "opened")


def test_a_session_that_ended_elsewhere_while_one_of_its_emitters_is_silent_is_lossy_until_that_accounts() -> None:
    first, second = Life("emitter-a"), Life("emitter-b", heartbeat_ms=600_000)
    folded = _started(first, second)
    for life in (first, second):
        life.open(T0 + SECOND)
        folded.batch(life.cut(T0 + 2 * SECOND))
    second.tear_down(T0 + 30 * SECOND)
    folded.batch(second.cut(T0 + 31 * SECOND))
    folded.through(T0 + 40 * SECOND)
    assert _lossy(folded)
    folded.batch(first.cut(T0 + 41 * SECOND))
    folded.through(T0 + 42 * SECOND)
    assert not _lossy(folded)


def test_a_session_is_told_anew_when_an_emitter_that_is_still_behind_has_accounted_for_it() -> None:
    first, second = Life("emitter-a"), Life("emitter-b", heartbeat_ms=3_600_000)
    folded = _started(first, second)
    for life in (first, second):
        life.open(T0 + SECOND)
        folded.batch(life.cut(T0 + 2 * SECOND))
    second.tear_down(T0 + 30 * SECOND)
    folded.batch(second.cut(T0 + 31 * SECOND))
    folded.through(T0 + 10 * MINUTE)
    assert _lossy(folded)
    folded.batch(first.cut(T0 + 30 * SECOND), T0 + 11 * MINUTE)
    folded.through(T0 + 11 * MINUTE)
    assert folded.state.emitters["emitter-a"].unaccounted == "behind"
    assert not _lossy(folded)
    assert any("session-1" in touched.sessions for touched in folded.told[-2:])


def test_a_session_whose_silent_emitter_had_told_of_its_end_is_not_lossy() -> None:
    life = Life()
    folded = _started(life)
    life.open(T0 + SECOND)
    life.tear_down(T0 + 2 * SECOND)
    folded.batch(life.cut(T0 + 2 * SECOND))
    folded.through(T0 + 40 * SECOND)
    assert folded.state.emitters["emitter-a"].unaccounted == "silent"
    assert not _lossy(folded)


def test_more_lossy_stretches_than_are_remembered_are_merged_and_never_forgotten() -> None:
    life = Life()
    folded = _started(life)
    life.masked(T0, session_id="long")
    folded.batch(life.cut(T0 + SECOND))
    for number in range(300):
        life.drop("masked_error")
        folded.batch(life.cut(T0 + (number + 2) * SECOND))
    emitter = folded.state.emitters["emitter-a"]
    assert len(emitter.flaws) == 256
    assert next(iter(emitter.flaws.items())) == ("2-3+", [T0 + SECOND, T0 + 46 * SECOND])
    life.masked(T0 + 400 * SECOND, session_id="unseen")
    folded.batch(life.cut(T0 + 401 * SECOND))
    assert _lossy(folded, "unseen")
    assert _lossy(folded, "long")


def test_of_too_many_open_sessions_the_one_opened_first_counts_as_abandoned() -> None:
    folded = Folded(FoldRules(open_session_limit=3))
    life = Life()
    folded.batch(opening_batch(life))
    for number in range(5):
        life.open(T0 + number * SECOND, f"session-{number}")
    folded.batch(life.cut(T0 + 9 * SECOND))
    abandoned = {name for name, session in folded.state.sessions.items() if session.abandoned_at is not None}
    assert abandoned == {"session-0", "session-1"}
    assert len(folded.state.emitters["emitter-a"].open_sessions) == 3
    life.masked(T0 + 10 * SECOND, session_id="session-0")
    folded.batch(life.cut(T0 + 11 * SECOND))
    assert _session(folded, "session-0").abandoned_at is None
    assert _session(folded, "session-2").abandoned_at is not None


def test_a_session_that_was_told_of_to_its_end_lacks_nothing_that_died_after_that_cut() -> None:
    """Of a host that is ahead by more than five minutes, whose sessions end at the cut that told of their end."""
    life = Life(started_at=T0 + HOUR)
    folded = Folded()
    folded.batch(life.cut(T0 + HOUR), arrival=T0)
    life.open(T0 + HOUR + 1 * SECOND)
    life.tear_down(T0 + HOUR + 2 * SECOND)
    life.open(T0 + HOUR + 2 * SECOND, "open-still")
    folded.batch(life.cut(T0 + HOUR + 3 * SECOND), arrival=T0 + 3 * SECOND)
    life.drop("kernel_fallback")
    life.tear_down(T0 + HOUR + 5 * SECOND, "open-still")
    folded.batch(life.cut(T0 + HOUR + 6 * SECOND, closing=True), arrival=T0 + 6 * SECOND)
    assert not _lossy(folded)
    assert _lossy(folded, "open-still")


def test_where_two_cuts_are_one_instant_a_session_that_ends_there_may_lack_what_is_between_them() -> None:
    life = Life(started_at=T0 + HOUR)
    folded = Folded()
    folded.batch(life.cut(T0 + HOUR), arrival=T0)
    life.open(T0 + HOUR + 1 * SECOND)
    folded.batch(life.cut(T0 + HOUR + 2 * SECOND), arrival=T0 + 2 * SECOND)
    life.drop("kernel_fallback")
    life.tear_down(T0 + HOUR + 3 * SECOND)
    folded.batch(life.cut(T0 + HOUR + 4 * SECOND), arrival=T0 + 2 * SECOND)
    assert _lossy(folded)
