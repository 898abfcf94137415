"""What sessions choose and delegate: selections, calls, effects, refusals, and what is kept of them."""

from typing import Any

import pytest
from tests.unit.streams.ledger.emitting import MINUTE, SECOND, T0, Life, opening_batch
from tests.unit.streams.ledger.folding import Folded

from unmask.streams.ledger.delegation import MAX_BLOCKED, MAX_COMMITS, MAX_INVOCATIONS, Delegation
from unmask.streams.ledger.session_evidence import is_lossy
from unmask.streams.ledger.session_work import MAX_DELEGATIONS, MAX_SELECTIONS, MERGED_DELEGATIONS, SessionWork


def _started(*lives: Life) -> Folded:
    folded = Folded()
    for life in lives:
        folded.batch(opening_batch(life))
    return folded


def _work(folded: Folded, session_id: str = "session-1") -> SessionWork:
    work = folded.state.sessions[session_id].work
    assert work is not None
    return work


def _delegation(folded: Folded, name: str = "delegation-1") -> Delegation:
    return _work(folded).delegations[name]


def _lossy(folded: Folded, session_id: str) -> bool:
    return is_lossy(folded.state, folded.state.sessions[session_id])


def _effects(*effects: tuple[str, dict[str, Any]]) -> Delegation:
    """What a delegation comes to that wants these effects, a second apart."""
    life = Life()
    folded = _started(life)
    for number, (step, more) in enumerate(effects, 1):
        life.effect(T0 + number * SECOND, step, **more)
    folded.batch(life.cut(T0 + MINUTE))
    return _delegation(folded)


# Selections.


def test_selections_stand_in_the_order_in_which_they_happened_with_who_told_of_them() -> None:
    one, other = Life(), Life("emitter-b")
    folded = _started(one, other)
    one.select(T0 + 3 * SECOND, profile="late")
    other.select(T0 + 2 * SECOND, profile="early", source="auto", expires_at=T0 + MINUTE)
    for life in (one, other):
        folded.batch(life.cut(T0 + 4 * SECOND))
    work = _work(folded)
    assert [(s["emitter_id"], s["profile"]) for s in work.selections] == [("emitter-b", "early"), ("emitter-a", "late")]
    assert work.selections[0]["expires_at"] == T0 + MINUTE
    assert (work.selections_total, work.selecting) == (2, ["emitter-a", "emitter-b"])
    assert folded.state.sessions["session-1"].open_on == {"emitter-a", "emitter-b"}


def test_the_newest_selections_are_kept_and_all_are_counted() -> None:
    life = Life()
    folded = _started(life)
    for number in range(MAX_SELECTIONS + 20, 0, -1):
        life.select(T0 + number * SECOND, profile=f"profile-{number}")
    folded.batch(life.cut(T0 + 6 * MINUTE))
    work = _work(folded)
    assert work.selections_total == MAX_SELECTIONS + 20
    assert [s["profile"] for s in work.selections] == [f"profile-{n}" for n in range(21, MAX_SELECTIONS + 21)]


def test_a_selection_of_a_host_that_is_ahead_ends_as_long_after_its_beginning() -> None:
    life = Life(started_at=T0 + 90 * MINUTE)
    folded = Folded()
    life.select(T0 + 91 * MINUTE, expires_at=T0 + 93 * MINUTE)
    folded.batch(life.cut(T0 + 92 * MINUTE), T0 + MINUTE)
    [selection] = _work(folded).selections
    assert (selection["occurred_at"], selection["expires_at"]) == (T0 + MINUTE, T0 + 3 * MINUTE)


@pytest.mark.parametrize(("kind", "urgent"), [("select", True), ("effect", True), ("progress", False)])
def test_a_selection_or_an_effect_goes_out_at_once_and_progress_waits(kind: str, urgent: bool) -> None:
    life = Life()
    folded = _started(life)
    told = {"select": life.select, "progress": life.progress, "effect": lambda at: life.effect(at, "granted")}
    told[kind](T0 + SECOND)
    folded.batch(life.cut(T0 + 2 * SECOND))
    assert folded.told[-1].urgent is urgent
    assert folded.told[-1].sessions == {"session-1"}


# Calls.


def test_calls_are_added_up_and_a_refused_one_was_not_made() -> None:
    life = Life()
    folded = _started(life)
    for outcome, attempt, tokens in (
        ("succeeded", 1, 10),
        ("failed", 3, 5),
        ("refused", 9, 100),
        ("unknown_call", 1, 1),
    ):
        life.progress(T0 + SECOND, outcome=outcome, attempt=attempt, tokens=tokens, budget_calls=attempt + 4)
    folded.batch(life.cut(T0 + 2 * SECOND))
    known = _delegation(folded)
    assert (known.calls, known.succeeded, known.failed, known.refused) == (3, 1, 1, 1)
    assert (known.tokens, known.highest_attempt, known.budget_calls, known.budget_tokens) == (16, 3, 5, None)


def test_calls_that_succeed_and_change_nothing_trip_the_breaker_over_all_invocations() -> None:
    life = Life()
    folded = _started(life)
    for number in range(54):
        moved = 1 if number == 0 else 2
        life.progress(T0 + SECOND, invocation_id=f"run-{number // 9}", state_digest=f"state-{moved}")
        folded.batch(life.cut(T0 + 2 * SECOND + number))
    known = _delegation(folded)
    assert known.invocations_total == 6
    assert known.breaker.tripped
    assert (known.breaker.trips, known.breaker.first_trip_call) == (1, 10)
    assert known.breaker.unchanged == known.breaker.longest_unchanged == 52


def test_a_signal_that_moved_in_one_delegation_may_decide_in_another_of_the_same_emitter() -> None:
    one, other = Life(), Life("emitter-b")
    folded = _started(one, other)
    for digest in ("before", "after"):
        one.progress(T0 + SECOND, delegation_id="calibration.tests", conditions=digest, state_digest=digest)
    for _ in range(12):
        for life, session in ((one, "session-1"), (other, "session-2")):
            life.progress(T0 + SECOND, session, delegation_id="delegation-9")
    for life in (one, other):
        folded.batch(life.cut(T0 + 2 * SECOND))
    assert _delegation(folded, "delegation-9").breaker.tripped
    stranger = _work(folded, "session-2").delegations["delegation-9"].breaker
    assert not stranger.tripped
    assert dict(stranger.doubts) == {"never_seen_to_move": 12}


def test_an_invocation_that_two_emitters_claim_is_a_conflict_once() -> None:
    one, other = Life(), Life("emitter-b")
    folded = _started(one, other)
    for number, life in enumerate((one, other, one, other)):
        life.progress(T0 + SECOND)
        life.effect(T0 + SECOND, "granted", invocation_id=f"run-of-{life.emitter_id}")
        folded.batch(life.cut(T0 + 2 * SECOND + number))
    known = _delegation(folded)
    assert (known.identity_conflicts, known.invocations_total) == (1, 3)
    assert known.invocations["run-1"] == "emitter-a"


def test_whoever_appeals_or_finds_out_who_was_right_claims_no_invocation() -> None:
    one, other = Life(), Life("emitter-b")
    folded = _started(one, other)
    one.effect(T0 + SECOND, "refused", enforcer="gate")
    other.effect(T0 + SECOND, "appealed", enforcer="gate", by="somebody")
    other.effect(T0 + SECOND, "vindicated", enforcer="gate", by="somebody")
    for life in (one, other):
        folded.batch(life.cut(T0 + 2 * SECOND))
    known = _delegation(folded)
    assert (known.identity_conflicts, known.invocations_total) == (0, 1)
    assert known.refusals == {"gate": [1, 1, 1]}


def test_delegations_beyond_those_that_are_kept_apart_are_counted_together_and_not_judged() -> None:
    life = Life()
    folded = _started(life)
    for number in range(MAX_DELEGATIONS + 5):
        for _ in range(12):
            life.progress(T0 + SECOND, delegation_id=f"delegation-{number}", budget_calls=1)
            life.effect(T0 + SECOND, "refused", delegation_id=f"delegation-{number}")
    folded.batch(life.cut(T0 + 2 * SECOND))
    work = _work(folded)
    assert len(work.delegations) == MAX_DELEGATIONS + 1
    merged = work.delegations[MERGED_DELEGATIONS]
    assert (merged.calls, merged.refusals) == (60, {"unknown_enforcer": [60, 0, 0]})
    assert (merged.breaker.doubts, merged.budget_calls, merged.longest_blocked) == ((), None, 0)


def test_runs_that_were_not_heard_of_for_longest_are_forgotten_and_all_are_counted() -> None:
    life = Life()
    folded = _started(life)
    for number in range(MAX_INVOCATIONS + 5):
        life.progress(T0 + SECOND, invocation_id=f"run-{number}")
        life.progress(T0 + SECOND, invocation_id="run-0")
    folded.batch(life.cut(T0 + 2 * SECOND))
    known = _delegation(folded)
    assert known.invocations_total == MAX_INVOCATIONS + 5
    assert len(known.invocations) == MAX_INVOCATIONS
    assert {"run-0", f"run-{MAX_INVOCATIONS + 4}"} <= known.invocations.keys()
    assert "run-1" not in known.invocations


# Effects.

_KEY: dict[str, Any] = {"effect_key": "key-1"}
COMMITS: dict[str, tuple[list[tuple[int | None, str | None]], int, int]] = {
    "once": ([(1, "r1")], 1, 0),
    "told twice": ([(1, "r1"), (1, "r1")], 1, 0),
    "told twice, the second time with its receipt": ([(1, None), (1, "r1"), (1, "r1")], 1, 0),
    "under another token": ([(1, "r1"), (2, "r1")], 2, 1),
    "under another receipt": ([(1, "r1"), (1, "r2")], 2, 1),
    "under another receipt than the one that came later": ([(1, None), (1, "r1"), (1, "r2")], 2, 1),
    "where nothing tells one from the other": ([(None, None), (None, None)], 2, 0),
}


@pytest.mark.parametrize("case", COMMITS)
def test_a_second_commit_of_an_effect_is_told_from_one_that_is_told_twice(case: str) -> None:
    commits, committed, repeated = COMMITS[case]
    known = _effects(*(("committed", _KEY | {"fencing_token": token, "receipt": r}) for token, r in commits))
    assert (known.committed, known.repeated_commits) == (committed, repeated)


def test_effects_of_other_keys_and_of_none_are_no_repetition() -> None:
    known = _effects(
        ("granted", {}), ("committed", {"receipt": "r1"}), ("committed", {"receipt": "r2"}),
        ("committed", _KEY | {"receipt": "r3"}), ("committed", {"effect_key": "key-2", "receipt": "r4"}),
        ("released", {}), ("unknown_effect", {}),
    )  # fmt: skip
    assert (known.granted, known.committed, known.released, known.repeated_commits) == (1, 4, 1, 0)
    assert known.commits == [("key-1", 0, "r3"), ("key-2", 0, "r4")]


def test_an_effect_that_two_delegations_of_a_session_commit_is_a_repetition() -> None:
    life = Life()
    folded = _started(life)
    for number in (1, 2):
        life.effect(T0 + SECOND, "committed", delegation_id=f"delegation-{number}", fencing_token=number, **_KEY)
    folded.batch(life.cut(T0 + 2 * SECOND))
    assert [d.repeated_commits for d in _work(folded).delegations.values()] == [0, 1]


def test_the_newest_commits_are_kept() -> None:
    known = _effects(
        *(("committed", {"effect_key": f"key-{n}", "fencing_token": n}) for n in range(1, MAX_COMMITS + 9))
    )
    assert known.committed == MAX_COMMITS + 8
    assert [key for key, _, _ in known.commits] == [f"key-{n}" for n in range(9, MAX_COMMITS + 9)]


def test_a_sessions_delegations_together_keep_a_thousand_commits() -> None:
    life = Life()
    folded = _started(life)
    for number in range(20 * MAX_COMMITS):
        life.effect(T0, "committed", delegation_id=f"delegation-{number % 20}", effect_key=f"key-{number}")
    folded.batch(life.cut(T0 + 2 * SECOND))
    delegations = _work(folded).delegations.values()
    assert sum(len(each.commits) for each in delegations) == 1024
    assert sum(each.committed for each in delegations) == 20 * MAX_COMMITS


# Enforcement.


def _refused(turn: int) -> tuple[str, dict[str, Any]]:
    return "refused", {"turn": turn, "enforcer": "gate"}


def test_turns_with_a_refusal_count_until_a_write_is_accepted() -> None:
    refusals = [_refused(turn) for turn in (1, 1, 2, 3, 0, 0)]
    assert _effects(*refusals).blocked_turns == 5
    known = _effects(*refusals, ("committed", _KEY), _refused(4))
    assert (known.blocked_turns, known.longest_blocked) == (1, 5)
    assert known.refusals == {"gate": [7, 0, 0]}


def test_a_repair_that_is_refused_for_107_turns_is_known_to_be() -> None:
    known = _effects(*(_refused(turn) for turn in range(1, 108)))
    assert (known.blocked_turns, known.longest_blocked, known.committed) == (107, 107, 0)


def test_more_blocked_turns_than_are_known_one_by_one_are_counted() -> None:
    turns = range(1, MAX_BLOCKED + 51)
    known = _effects(*(_refused(turn) for turn in turns))
    assert (known.blocked_turns, len(known.blocked)) == (len(turns), MAX_BLOCKED)
    known = _effects(*(_refused(turn) for turn in turns), ("committed", _KEY))
    assert (known.blocked_turns, known.longest_blocked) == (0, len(turns))


def test_a_refusal_that_is_told_of_late_is_not_after_the_write() -> None:
    life = Life()
    folded = _started(life)
    life.effect(T0 + 2 * SECOND, "refused", turn=7)
    late = life.cut(T0 + 3 * SECOND)
    life.effect(T0 + 4 * SECOND, "committed")
    life.effect(T0 + 5 * SECOND, "refused", turn=8)
    folded.batch(life.cut(T0 + 6 * SECOND))
    folded.batch(late, T0 + 7 * SECOND)
    assert _delegation(folded).blocked_turns == 1


# Evidence.


@pytest.mark.parametrize(
    ("lost", "spoilt"),
    [
        ("route_selection", {"selecting"}),
        ("delegation_progress", {"delegating"}),
        ("delegation_effect", {"delegating"}),
        ("kernel_fallback", {"selecting", "delegating", "neither", "of-another"}),
    ],
)
def test_what_is_lost_of_selections_and_delegations_spoils_the_sessions_that_have_them(
    lost: str, spoilt: set[str]
) -> None:
    life, other = Life(), Life("emitter-b")
    folded = _started(life, other)
    names = ("selecting", "delegating", "neither", "of-another")
    for name in names:
        life.open(T0 + SECOND, name)
    life.select(T0 + 2 * SECOND, "selecting")
    life.progress(T0 + 2 * SECOND, "delegating")
    folded.batch(life.cut(T0 + 3 * SECOND))
    other.select(T0 + 2 * SECOND, "of-another")
    other.progress(T0 + 2 * SECOND, "of-another")
    folded.batch(other.cut(T0 + 3 * SECOND))
    life.drop(lost)
    folded.batch(life.cut(T0 + 4 * SECOND))
    assert {name for name in names if _lossy(folded, name)} == spoilt
    assert folded.told[-1].sessions >= spoilt


def test_progress_that_was_missing_makes_sessions_lossy_until_it_arrives() -> None:
    life = Life()
    folded = _started(life)
    life.open(T0 + SECOND)
    life.progress(T0 + SECOND)
    folded.batch(life.cut(T0 + 2 * SECOND))
    life.progress(T0 + 3 * SECOND)
    missing = life.cut(T0 + 4 * SECOND)
    folded.batch(life.cut(T0 + 5 * SECOND))
    assert _lossy(folded, "session-1")
    assert [loss["family"] for flaw in folded.flaws for loss in flaw.losses or ()] == ["delegation_progress"] * 2
    folded.batch(missing, T0 + 6 * SECOND)
    assert not _lossy(folded, "session-1")
    assert not folded.flaws


def test_more_lossy_stretches_than_are_remembered_are_merged_and_never_forgotten() -> None:
    life = Life()
    folded = _started(life)
    life.select(T0 + SECOND, "first")
    for number in range(300):
        life.drop("route_selection")
        folded.batch(life.cut(T0 + (number + 2) * SECOND))
    beyond = folded.state.emitters["emitter-a"].beyond
    assert beyond is not None
    assert len(beyond.losses) <= 256
    assert _lossy(folded, "first")
