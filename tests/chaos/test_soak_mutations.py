"""One thing is changed in what a soak compares, and the comparison must find it: else agreement would prove nothing.

Everything begins with a run that agrees to the last value; each test spoils one input of it.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.chaos.small_soak import SIZES, T, a_batch, a_claim, a_log, killed, standing_for
from tests.chaos.soak.checks import Checks
from tests.chaos.soak.compare import Heard, check_claims, check_verdicts, check_windows
from tests.chaos.soak.journal import Journal, Kind, LifeJournal, count_entries, read_journals
from tests.chaos.soak.lives import Life, Stretch, read_lives
from tests.chaos.soak.log import Log
from tests.chaos.soak.plan import FULL, make_plan
from tests.chaos.soak.truth import Truth, expected_verdicts

from unmask.schemas.codes import Directive, Evidence, Family, VerdictKind
from unmask.schemas.windowing import MICROS


def _differences(checks: Checks, journal: LifeJournal, log: Log, standing: list[dict[str, Any]]) -> Checks:
    check_windows(checks, Truth.of(SIZES, read_lives(checks, [journal], log), log), standing)
    return checks


def test_an_entry_that_is_dropped_from_the_journal_is_missed(tmp_path: Path) -> None:
    _, lives, log = killed(tmp_path)
    journal, standing = lives[0].journal, standing_for(Truth.of(SIZES, lives, log))
    assert _differences(Checks(), journal, log, standing).good
    for dropped in range(len(journal.entries)):
        less = replace(journal, entries=journal.entries[:dropped] + journal.entries[dropped + 1 :])
        assert not _differences(Checks(), less, log, standing).good, dropped


def test_a_batch_that_is_counted_twice_shows_in_every_window_size(tmp_path: Path) -> None:
    _, lives, log = killed(tmp_path)
    truth = Truth.of(SIZES, lives, log)
    twice = standing_for(truth)
    for record in twice:
        if record["attempts"]:
            record["attempts"] += 2
            record["attempts_by_entry_point"]["http"] += 2
    checks = Checks()
    check_windows(checks, truth, twice)
    assert {size for size in ("5 s window", "whole run") if any(size in text for text in checks.differences)} == {
        "5 s window", "whole run",
    }  # fmt: skip


def test_a_batch_that_is_told_again_and_not_known_as_the_same_is_found(tmp_path: Path) -> None:
    """What a second count of a batch would look like where its first is forgotten: its events come twice."""
    _, (life,), _ = killed(tmp_path)
    again = a_log(
        a_batch(1, T, [], 0),
        a_batch(2, T + 4 * MICROS, [T + 1, T + 2], 2),
        a_batch(3, T + 4 * MICROS, [T + 1, T + 2], 2),
        a_batch(4, T + 7 * MICROS, [], 3, dropped=1, closing=True),
    )
    checks = Checks()
    read_lives(checks, [life.journal], again)
    assert checks.failed["accounts"]


def test_a_batch_that_never_arrived_is_named_and_breaks_nothing(tmp_path: Path) -> None:
    """Its host was not given the time to deliver it; the comparison goes on and says so."""
    journal = _session_journal(tmp_path)
    bodies = _session_batches(journal)
    del bodies[1]
    checks = Checks()
    (life,) = read_lives(checks, [journal], a_log(*bodies))
    assert "accounts: h-1: batches that never arrived: expected [], found [2]" in checks.differences
    verdicts = expected_verdicts([life])
    # The log has the beginning of the session and not its end, whatever the journal says.
    assert (verdicts["h-1-1"].verdict, verdicts["h-1-1"].abandoned) == (VerdictKind.HARD_FAILURE, True)
    check_windows(checks, Truth.of(SIZES, [life], a_log(*bodies)), [])
    assert not checks.good


@pytest.mark.parametrize(("recorded", "dropped", "found"), [
    pytest.param(1, 1, "recorded, against its journal: expected 3, found 4", id="one-more-than-there-was"),
    pytest.param(0, -1, "recorded - dropped, against what arrived: expected 3, found 2", id="one-not-told-of"),
    # Of the last entry alone it is not known whether its call was made.
    pytest.param(-2, -1, "recorded, against its journal: expected 3, found 1", id="two-less-than-there-were"),
])  # fmt: skip
def test_a_loss_that_is_accounted_wrongly_is_found(tmp_path: Path, recorded: int, dropped: int, found: str) -> None:
    _, lives, log = killed(tmp_path)
    account = log.chains["e1"].last.body["accounts"][0]
    account["recorded"] += recorded
    account["dropped"][0]["count"] += dropped
    checks = Checks()
    read_lives(checks, [lives[0].journal], log)
    assert f"accounts: h-1 route_attempt: {found}" in checks.differences


def test_an_event_that_is_told_an_instant_too_early_is_found(tmp_path: Path) -> None:
    _, lives, log = killed(tmp_path)
    log.chains["e1"].batches[2].body["route_attempts"][0]["occurred_at"][0] -= 1
    checks = Checks()
    read_lives(checks, [lives[0].journal], log)
    assert checks.failed["events"] == 1


@pytest.mark.parametrize("size", [5, 0])
def test_a_window_of_which_nothing_is_published_is_no_zero(tmp_path: Path, size: int) -> None:
    _, lives, log = killed(tmp_path)
    truth = Truth.of(SIZES, lives, log)
    silent = [record for record in standing_for(truth) if record["window_seconds"] != size]
    checks = Checks()
    check_windows(checks, truth, silent)
    assert any("no record of the window as a whole" in text for text in checks.differences)


def test_a_window_between_two_others_in_which_nobody_was_there_must_be_told_of(tmp_path: Path) -> None:
    _, lives, log = killed(tmp_path)
    truth = Truth.of(SIZES, lives, log)
    truth.witnessed.add((5, T + 20 * MICROS, "main"))
    checks = Checks()
    check_windows(checks, truth, standing_for(truth))
    # 10 and 15 s after the beginning nobody was open, and nothing says so.
    assert checks.failed["windows"] == 2


def test_a_window_with_an_unreadable_record_must_be_lossy_for_every_family(tmp_path: Path) -> None:
    _, lives, log = killed(tmp_path)
    standing = standing_for(Truth.of(SIZES, lives, log))
    log.unreadable.append((T + 1, T + 2))
    checks = Checks()
    check_windows(checks, Truth.of(SIZES, lives, log), standing)
    # Of the window as a whole, of its line, of its capability: all families but attempts, which are lossy by the host's
    # death already; and how many such records there were.
    assert checks.failed["evidence"] == 3 * 3 + 1


def test_a_claim_that_was_wrong_for_one_moment_is_found_although_what_stands_is_right(tmp_path: Path) -> None:
    _, lives, log = killed(tmp_path)
    truth = Truth.of(SIZES, lives, log)
    heard = {"e1": Heard(T, T)}
    checks = Checks()
    check_claims(checks, truth, [a_claim(1, T + 9 * MICROS), a_claim(2, T + 10 * MICROS)], heard, 3 * MICROS)
    assert checks.failed["claims"] == 1


_SPOILED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "verdict": lambda record: record.update(verdict=VerdictKind.CLEAN_SUCCESS.value),
    "directive": lambda record: record.update(directive=Directive.NONE.value),
    "evidence": lambda record: record.update(evidence=Evidence.LOSSY.value),
    "operations": lambda record: record.update(operations=1),
    "degraded operations": lambda record: record.update(degraded_operations=0),
    "abandoned": lambda record: record.update(findings=["ABANDONED"]),
    "contradictions": lambda record: record.update(contradictions=["kernel_fallback"]),
}


@pytest.mark.parametrize("what", _SPOILED)
def test_a_verdict_that_is_wrong_in_one_thing_is_found(tmp_path: Path, what: str) -> None:
    journal = _session_journal(tmp_path)
    checks = Checks()
    lives = read_lives(checks, [journal], a_log(*_session_batches(journal)))
    right = {
        "verdict": VerdictKind.DEGRADED_SUCCESS.value, "directive": Directive.PROBE_UPSTREAM_BEFORE_ACTION.value,
        "evidence": Evidence.COMPLETE.value, "operations": 2, "degraded_operations": 1, "findings": [],
        "contradictions": [],
    }  # fmt: skip
    check_verdicts(checks, expected_verdicts(lives), {"h-1-1": right})
    assert checks.good, checks.differences
    _SPOILED[what](right)
    check_verdicts(checks, expected_verdicts(lives), {"h-1-1": right})
    (difference,) = checks.differences
    assert f"h-1-1: {what}: expected" in difference


@pytest.mark.parametrize("stands", [{}, {"h-1-1": {}, "h-1-2": {}}])
def test_a_verdict_that_is_missing_or_one_too_many_is_found(tmp_path: Path, stands: dict[str, Any]) -> None:
    journal = _session_journal(tmp_path)
    expected = expected_verdicts(read_lives(Checks(), [journal], a_log(*_session_batches(journal))))
    checks = Checks()
    check_verdicts(checks, {} if stands else expected, stands)
    assert checks.failed["verdicts"] == max(1, len(stands))


def test_an_event_that_is_told_of_another_session_is_found(tmp_path: Path) -> None:
    journal = _session_journal(tmp_path)
    bodies = _session_batches(journal)
    bodies[1]["kernel_fallbacks"][0]["operation_id"] = "h-1-1-1"
    checks = Checks()
    read_lives(checks, [journal], a_log(*bodies))
    assert checks.failed["events"] == 1
    assert "whose: expected h-1-1-2, found h-1-1-1" in checks.differences[0]


def test_entries_are_counted_while_they_are_written(tmp_path: Path) -> None:
    for name, entries in (("a-1", 0), ("a-2", 1), ("b-1", 1_000)):
        journal = Journal(tmp_path / f"{name}.journal")
        for _ in range(entries):
            journal.write(Kind.ATTEMPT, 0, 0, 0, 0, T)
    assert count_entries(tmp_path) == 1_001


def test_a_short_run_says_what_it_does_not_aim_at_and_the_full_one_leaves_nothing_out() -> None:
    assert make_plan(600, 1).minimums == FULL
    assert make_plan(600, 1).minimums.less_than(FULL) == {}
    short = make_plan(120, 1).minimums.less_than(FULL)
    assert short["events"] == (200_000, 1_000_000)
    assert set(short) == {
        "events", "worker_kills", "worker_stops", "host_kills", "broker_kills", "replays", "unreadable",
    }  # fmt: skip
    assert all(0 < aimed < full for aimed, full in short.values())


def _session_journal(folder: Path) -> LifeJournal:
    """A session of two operations, of which the second was degraded by a timeout."""
    journal = Journal(folder / "h-1.journal")
    journal.describe(host="h", emitter_id="e1", release_line="main", skew_s=0.0)
    for at, (kind, operation) in enumerate(
        ((Kind.OPEN, 0), (Kind.ATTEMPT, 1), (Kind.ATTEMPT, 2), (Kind.MASKED, 2), (Kind.FALLBACK, 2), (Kind.CLOSE, 0))
    ):
        journal.write(kind, 0, 0, 1, operation, T + at)
    journal.write(Kind.CLOSING, 0, 0, 0, 0, T + 10)
    (read,) = read_journals(folder)
    return read


def _session_batches(journal: LifeJournal) -> list[dict[str, Any]]:
    """What its host sends of it: the beginning, then all the rest, then its own end."""
    at = [entry.micros for entry in journal.entries]
    accounts: list[dict[str, Any]] = [{"family": family.value, "recorded": n, "dropped": []} for family, n in (
        (Family.ROUTE_ATTEMPT, 2), (Family.MASKED_ERROR, 1), (Family.KERNEL_FALLBACK, 1), (Family.SESSION_TEARDOWN, 1),
    )]  # fmt: skip
    first = a_batch(1, T, [], 0)
    first["session_openings"] = [{"session_id": "h-1-1", "occurred_at": at[0]}]
    second = a_batch(2, T + MICROS, at[1:3], 2) | {"accounts": accounts}
    second["masked_errors"] = [
        {"masked_upstream_signature": "TIMEOUT", "occurred_at": at[3], "operation_id": "h-1-1-2"}
    ]
    second["kernel_fallbacks"] = [
        {"capability": "retrieval", "reason_code": "timeout", "occurred_at": at[4], "operation_id": "h-1-1-2"}
    ]
    second["session_teardowns"] = [{"session_id": "h-1-1", "outcome": "success", "occurred_at": at[5]}]
    return [first, second, a_batch(3, T + 2 * MICROS, [], 2, closing=True) | {"accounts": accounts}]


def test_the_session_that_the_other_tests_spoil_is_in_order(tmp_path: Path) -> None:
    journal = _session_journal(tmp_path)
    checks = Checks()
    lives: list[Life] = read_lives(checks, [journal], a_log(*_session_batches(journal)))
    assert checks.good, checks.differences
    assert len(lives[0].counted) == 5


def test_a_session_that_ends_at_a_cut_lacks_nothing_that_is_lost_after_it(tmp_path: Path) -> None:
    journal = _session_journal(tmp_path)
    (life,) = read_lives(Checks(), [journal], a_log(*_session_batches(journal)))
    end = journal.entries[5].micros
    for after, evidence in ((end, Evidence.COMPLETE), (end - 1, Evidence.LOSSY)):
        lost = frozenset({Family.KERNEL_FALLBACK.value})
        life.stretches = [Stretch(after, end + MICROS, lost, after, end + MICROS)]
        assert expected_verdicts([life])["h-1-1"].evidence is evidence
