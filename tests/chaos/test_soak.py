"""The soak's own parts: its checks must find what is wrong, or a soak that passes proves nothing."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.chaos.small_soak import SIZES, T, a_batch, a_claim, a_journal, a_log, killed, standing_for
from tests.chaos.soak.checks import Checks
from tests.chaos.soak.compare import Heard, check_claims, check_windows
from tests.chaos.soak.journal import read_journals
from tests.chaos.soak.lives import read_lives
from tests.chaos.soak.marks import Marks
from tests.chaos.soak.plan import Action, make_plan
from tests.chaos.soak.report import as_markdown
from tests.chaos.soak.sampler import Claim
from tests.chaos.soak.soak import Result
from tests.chaos.soak.truth import Truth, expected_verdicts

from unmask.schemas.codes import Evidence, VerdictKind
from unmask.schemas.windowing import MICROS


def test_a_journal_survives_the_death_of_its_host_and_ends_where_it_was_torn(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path; from tests.chaos.soak.journal import Journal, Kind\n"
        "j = Journal(Path(sys.argv[1]) / 'h-1.journal')\n"
        "j.describe(host='h', emitter_id='e1', release_line='main', skew_s=0.0)\n"
        "for n in range(5000): j.write(Kind.ATTEMPT, 1, 2, 0, 0, n)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = Path(__file__).resolve().parents[2]
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=root, env=dict(os.environ), check=False)
    assert ended.returncode < 0
    (journal,) = read_journals(tmp_path)
    assert [entry.micros for entry in journal.entries] == list(range(5000))
    assert journal.killed


def test_a_killed_host_whose_account_tells_its_loss_is_in_order(tmp_path: Path) -> None:
    checks, (life,), _ = killed(tmp_path)
    assert checks.good
    assert (len(life.counted), len(life.lost)) == (2, 1)


def test_an_event_that_neither_arrived_nor_is_accounted_for_is_found(tmp_path: Path) -> None:
    journal = a_journal(tmp_path, [T + 1, T + 2, T + 3], closed=True)
    checks = Checks()
    read_lives(checks, [journal], a_log(a_batch(1, T + 4 * MICROS, [T + 1, T + 2], 2, closing=True)))
    assert checks.failed["accounts"] == 1
    assert any("against its journal" in difference for difference in checks.differences)


def test_an_event_that_was_counted_and_never_recorded_is_found(tmp_path: Path) -> None:
    journal = a_journal(tmp_path, [T + 1], closed=True)
    checks = Checks()
    read_lives(checks, [journal], a_log(a_batch(1, T + 4 * MICROS, [T + 1, T + 1], 2, closing=True)))
    assert checks.failed["accounts"]
    assert checks.failed["events"] == 1


def test_a_host_that_was_not_killed_may_lose_nothing(tmp_path: Path) -> None:
    journal = a_journal(tmp_path, [T + 1, T + 2], closed=True)
    checks = Checks()
    read_lives(checks, [journal], a_log(a_batch(1, T + 4 * MICROS, [T + 1], 2, dropped=1, closing=True)))
    assert any("dropped" in difference for difference in checks.differences)


def test_an_emitter_that_was_never_closed_is_found(tmp_path: Path) -> None:
    journal = a_journal(tmp_path, [T + 1])
    checks = Checks()
    read_lives(checks, [journal], a_log(a_batch(1, T + 4 * MICROS, [T + 1], 1)))
    assert any("never closed" in difference for difference in checks.differences)


@pytest.mark.parametrize(
    ("claim", "good"),
    [
        pytest.param(a_claim(2, T + 9 * MICROS), True, id="exact"),
        pytest.param(a_claim(1, T + 9 * MICROS), False, id="one-short"),
        pytest.param(a_claim(3, T + 9 * MICROS), False, id="one-too-many"),
        pytest.param(a_claim(0, T + 12 * MICROS, T + 5 * MICROS), False, id="over-a-lost-event"),
    ],
)
def test_a_claim_of_complete_is_held_against_all_that_was_recorded(tmp_path: Path, claim: Claim, good: bool) -> None:
    _, lives, log = killed(tmp_path)
    checks = Checks()
    check_claims(checks, Truth.of(SIZES, lives, log), [claim], {"e1": Heard(T, T)}, 3 * MICROS)
    assert checks.good is good


@pytest.mark.parametrize(
    ("published_after_s", "good"),
    [pytest.param(0, True, id="unknown-then"), pytest.param(21, False, id="known-by-then")],
)
def test_a_claim_is_excused_only_before_a_late_host_was_known(
    tmp_path: Path, published_after_s: int, good: bool
) -> None:
    _, lives, log = killed(tmp_path)
    heard = T + 100 * MICROS
    checks = Checks()
    # The ledger was a while behind: what nobody had read was not known.
    known = heard + 50 * MICROS
    claim = a_claim(0, known + published_after_s * MICROS)
    check_claims(checks, Truth.of(SIZES, lives, log), [claim], {"e1": Heard(heard, known)}, 3 * MICROS)
    assert checks.good is good


def test_a_late_host_is_excused_as_a_whole_and_never_in_part(tmp_path: Path) -> None:
    _, lives, log = killed(tmp_path)
    heard = T + 100 * MICROS
    for events, good in ((0, True), (1, False), (2, True)):
        checks = Checks()
        truth = Truth.of(SIZES, lives, log)
        check_claims(checks, truth, [a_claim(events, heard)], {"e1": Heard(heard, heard)}, 3 * MICROS)
        assert checks.good is good, events


def test_windows_that_are_as_they_must_be_are_found_so(tmp_path: Path) -> None:
    _, lives, log = killed(tmp_path)
    truth = Truth.of(SIZES, lives, log)
    checks = Checks()
    check_windows(checks, truth, standing_for(truth))
    assert checks.good, checks.differences
    assert checks.compared["windows"] > 10


@pytest.mark.parametrize("spoil", ["count", "code", "evidence", "no-record", "too-lossy"])
def test_a_window_that_is_wrong_in_one_thing_is_found(tmp_path: Path, spoil: str) -> None:
    _, lives, log = killed(tmp_path)
    truth = Truth.of(SIZES, lives, log)
    standing = standing_for(truth)
    first = next(record for record in standing if record["window_seconds"] and record["scope"])
    lossy = next(r for r in standing if r["window_start"] == T + 5 * MICROS)
    if spoil == "count":
        first["attempts"] -= 1
    elif spoil == "code":
        first["attempts_by_entry_point"] = {"agent": 2}
    elif spoil == "evidence":
        lossy["evidence"][0]["state"] = Evidence.COMPLETE
    elif spoil == "too-lossy":
        first["evidence"][1]["state"] = Evidence.LOSSY
    else:
        standing.remove(first)
    checks = Checks()
    check_windows(checks, truth, standing)
    assert not checks.good


def test_a_session_without_its_teardown_must_fail(tmp_path: Path) -> None:
    _, (life,), _ = killed(tmp_path)
    life.chain.batches[1].body["session_openings"].append({"session_id": "h-1-1", "occurred_at": T})
    (verdict,) = expected_verdicts([life]).values()
    assert (verdict.verdict, verdict.evidence, verdict.abandoned) == (VerdictKind.HARD_FAILURE, Evidence.LOSSY, True)


def test_a_plan_follows_from_its_length_and_seed_alone() -> None:
    assert make_plan(600, 7) == make_plan(600, 7)
    assert make_plan(600, 7).steps != make_plan(600, 8).steps


@pytest.mark.parametrize("seed", range(5))
def test_the_default_plan_does_at_least_what_is_promised(seed: int) -> None:
    plan = make_plan(600, seed)
    done = Counter(step.action for step in plan.steps)
    assert (plan.minimums.events, plan.minimums.replays) == (1_000_000, 1_000)
    assert done[Action.KILL_WORKER] >= plan.minimums.worker_kills == 20
    assert done[Action.KILL_HOST] >= plan.minimums.host_kills == 20
    assert done[Action.STOP_WORKER] >= plan.minimums.worker_stops == 2
    assert done[Action.KILL_BROKER] >= plan.minimums.broker_kills == 3
    assert plan.stop_s * 1_000 > plan.session_timeout_ms
    assert plan.open_horizon_s < plan.away_s < plan.write_off_s


def test_the_report_of_a_run_is_a_table_that_a_document_can_hold() -> None:
    said = as_markdown(Result(make_plan(120, 5))).splitlines()
    assert said[0] == "`make chaos SECONDS=120 SEED=5`:"
    assert all(line.count("|") == 4 for line in said[2:])
    assert "200,000" in said[-1]
    assert not any("not aimed at" in line for line in as_markdown(Result(make_plan(600, 5))).splitlines())


def test_marks_tell_when_a_record_had_been_read_and_how_long_a_partition_stood_still() -> None:
    marks = Marks()
    for partition, offset, at in ((0, 10, 100), (1, 0, 100), (0, 10, 200), (0, 12, 300), (0, 4, 350), (1, 3, 900)):
        marks.take(partition, offset, at)
    assert marks.partitions == 2
    # The record at offset 10 is read once a mark stands behind it; one that goes back tells nothing.
    assert [marks.known_at(0, offset) for offset in (9, 10, 11, 12)] == [100, 300, 300, None]
    assert marks.known_at(2, 0) is None
    assert marks.standstill(950) == 800
    assert marks.standstill(1_500) == 1_200
