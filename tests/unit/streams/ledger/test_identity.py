"""Identity: two lives of one id, and a number that comes again with other content."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.streams.ledger.emitting import MINUTE, SCOPE, SECOND, T0, Life, opening_batch
from tests.unit.streams.ledger.folding import Folded

from unmask.schemas.scope import Scope
from unmask.streams.ledger.flaws import clear_stretch
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.session_evidence import is_lossy

OTHER = Scope("r2", *SCOPE[1:])
LIVES = {
    "another start": Life(started_at=T0 + SECOND),
    "an earlier start": Life(started_at=T0 - SECOND),
    "another scope": Life(scope=OTHER),
}


def _identity(folded: Folded) -> set[tuple[int, Scope | None]]:
    """The minutes that are flawed for it, with their scopes."""
    flaws = [flaw for flaw in folded.flaws if flaw.cause == "identity"]
    assert all((flaw.losses, flaw.emitter_id) == ([], "emitter-a") for flaw in flaws)
    return {(flaw.start, flaw.scope) for flaw in flaws if flaw.seconds == 60}


def _met(**session: Any) -> tuple[Folded, Life]:
    folded, life = Folded(), Life()
    life.open(T0 + 1, **session)
    folded.batch(opening_batch(life))
    return folded, life


@pytest.mark.parametrize("kind", LIVES)
def test_a_batch_of_another_life_is_not_counted_and_what_it_tells_of_proves_nothing(kind: str) -> None:
    folded, life = _met()
    life.attempt(T0 + 2 * SECOND, 3)
    folded.batch(life.cut(T0 + 3 * SECOND))
    twin = replace(LIVES[kind], pending=[])
    twin.seq = 2
    twin.attempt(T0 + 70 * SECOND, 5)
    twin.fallback(T0 + 70 * SECOND, session_id="session-1")
    assert folded.batch(twin.cut(T0 + 71 * SECOND)) == 0
    assert folded.counts("route_attempt", 60) == {T0: 3}
    assert (folded.total("kernel_fallback"), folded.total("duplicates")) == (0, 0)
    scopes = {SCOPE, twin.scope}
    assert _identity(folded) == {(start, scope) for start in (T0, T0 + MINUTE) for scope in scopes}
    session = folded.state.sessions["session-1"]
    assert session.work is not None
    assert (session.work.identity_conflicts, session.fallbacks) == (["emitter-a"], 0)
    assert is_lossy(folded.state, session)
    # The first one goes on as if nothing had been.
    life.attempt(T0 + 80 * SECOND, 2)
    assert folded.batch(life.cut(T0 + 81 * SECOND)) == 2


@pytest.mark.parametrize("again", [True, False])
def test_a_number_that_comes_again_is_a_redelivery_only_with_the_same_content(again: bool) -> None:
    folded, life = _met()
    life.attempt(T0 + 2 * SECOND, 3)
    copy = replace(life, pending=list(life.pending), recorded=life.recorded.copy())
    folded.batch(life.cut(T0 + 3 * SECOND))
    if not again:
        copy.attempt(T0 + 2 * SECOND, 1)
    folded.batch(copy.cut(T0 + 3 * SECOND), T0 + 4 * SECOND)
    assert folded.total("route_attempt") == 3
    assert folded.total("duplicates") == again
    assert _identity(folded) == (set() if again else {(T0, SCOPE)})
    assert is_lossy(folded.state, folded.state.sessions["session-1"]) is not again


def test_the_content_of_the_last_eight_batches_is_known() -> None:
    folded, life = Folded(), Life()
    numbers = range(1, 13)
    for number in numbers:
        folded.batch(life.cut(T0 + number * SECOND))
    told = []
    for number in numbers:
        before = folded.total("duplicates")
        life.seq = number - 1
        folded.batch(life.cut(T0 + number * SECOND + 1), T0 + 13 * SECOND)
        if folded.total("duplicates") == before:
            told.append(number)
    # Of older ones nobody can tell, and they count as redeliveries.
    assert told == [5, 6, 7, 8, 9, 10, 11, 12]


def test_the_content_of_a_batch_that_filled_a_gap_is_known_too() -> None:
    folded, life = Folded(), Life()
    batches = [life.cut(T0 + number * SECOND) for number in range(1, 5)]
    for number in (0, 3, 1):
        folded.batch(batches[number], T0 + 5 * SECOND)
    folded.batch(batches[1] | {"sent_at": T0 + 2 * SECOND + 7}, T0 + 5 * SECOND)
    assert _identity(folded)
    assert folded.total("duplicates") == 0


def test_a_batch_in_a_gap_that_was_given_up_is_compared_with_no_other() -> None:
    folded, life = Folded(FoldRules(gap_limit=1)), Life()
    batches = [life.cut(T0 + number * SECOND) for number in range(1, 13)]
    # The first gap is given up for the second one; number 10 stands where number 2 stood.
    for number in (0, 1, 7, 8, 10):
        folded.batch(batches[number], T0 + 13 * SECOND)
    for number in (2, 3, 4, 5, 6, 9):
        folded.batch(batches[number], T0 + 13 * SECOND)
    assert not _identity(folded)


def test_a_life_that_sends_under_anothers_name_is_told_of_window_by_window() -> None:
    folded, _ = _met()
    twin = Life(started_at=T0 + 5)
    for number in range(1, 20):
        twin.attempt(T0 + number * 20 * SECOND)
        folded.batch(twin.cut(T0 + number * 20 * SECOND + 1))
    told = [flaw for touched in folded.told for flaw in touched.flaws if flaw.seconds == 60]
    assert len(told) == len({flaw.start for flaw in told}) == 7
    [stretch] = folded.state.emitters["emitter-a"].flaws.values()
    assert stretch == [T0 + 1, T0 + 380 * SECOND + 1]


def test_another_life_is_no_sign_of_life() -> None:
    folded, _ = _met()
    twin = Life(started_at=T0 + 5)
    folded.batch(twin.cut(T0 + 50 * SECOND))
    folded.through(T0 + 50 * SECOND)
    assert folded.state.emitters["emitter-a"].unaccounted == "silent"
    assert folded.state.sessions["session-1"].abandoned_at is not None


def test_a_conflict_does_not_heal_with_what_arrives_later() -> None:
    folded, life = _met()
    missing = life.cut(T0 + 2 * SECOND)
    late = life.cut(T0 + 3 * SECOND)
    folded.batch(late)
    folded.batch(late | {"sent_at": T0 + 3 * SECOND + 1}, T0 + 4 * SECOND)
    folded.batch(missing, T0 + 5 * SECOND)
    clear_stretch(folded.state, "emitter-a", folded.state.emitters["emitter-a"], 1, 3, T0, T0 + 9, "gap")
    folded.take()
    assert _identity(folded) == {(T0, SCOPE)}


def test_events_before_the_last_cut_flaw_their_windows_too() -> None:
    folded, life = _met()
    folded.batch(life.cut(T0 + 5 * MINUTE))
    twin = Life(started_at=T0 + 5)
    twin.attempt(T0 + 2 * MINUTE)
    folded.batch(twin.cut(T0 + 5 * MINUTE + SECOND))
    assert {start for start, _ in _identity(folded)} == {T0 + minute * MINUTE for minute in range(2, 6)}


def test_only_sessions_that_are_open_or_named_have_a_conflict() -> None:
    folded, life = _met(session_id="ended")
    life.tear_down(T0 + 2, "ended")
    life.open(T0 + 2, "open")
    folded.batch(life.cut(T0 + MINUTE))
    other = Life("emitter-b")
    for name in ("named", "beside"):
        other.open(T0 + 3, name)
    folded.batch(other.cut(T0 + MINUTE))
    twin = Life(started_at=T0 + 5)
    twin.masked(T0 + MINUTE + 1, "named")
    twin.masked(T0 + MINUTE + 1, "unknown")
    folded.batch(twin.cut(T0 + MINUTE + 2))
    sessions = folded.state.sessions
    assert {name for name, session in sessions.items() if session.work is not None} == {"open", "named"}
    assert {name for name, session in sessions.items() if is_lossy(folded.state, session)} == {"open", "named"}


def test_a_host_whose_clock_is_ahead_is_known_by_the_start_that_it_says() -> None:
    folded, life = Folded(), Life(started_at=T0 + 90 * MINUTE)
    folded.batch(opening_batch(life), T0)
    emitter = folded.state.emitters["emitter-a"]
    assert emitter.started_at == T0
    folded.batch(life.cut(T0 + 91 * MINUTE), T0 + MINUTE)
    assert not _identity(folded)
    folded.batch(replace(life, started_at=T0).cut(T0 + 92 * MINUTE), T0 + 2 * MINUTE)
    assert _identity(folded)


def test_of_an_emitter_as_older_workers_left_it_a_later_start_is_taken_once() -> None:
    """They kept the broker's time of a host that was ahead, and not what it had said."""
    folded, life = Folded(), Life(started_at=T0 + 90 * MINUTE)
    folded.batch(opening_batch(life), T0)
    emitter = folded.state.emitters["emitter-a"]
    emitter.beyond, emitter.recent, emitter.said = None, [None] * 8, None
    folded.batch(life.cut(T0 + 91 * MINUTE), T0 + MINUTE)
    assert not _identity(folded)
    folded.batch(replace(life, started_at=T0 + 91 * MINUTE).cut(T0 + 92 * MINUTE), T0 + 2 * MINUTE)
    assert _identity(folded)
