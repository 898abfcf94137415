"""The soak's own parts: its checks must find what is wrong, or a soak that passes proves nothing."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.chaos.soak.checks import Checks
from tests.chaos.soak.compare import check_claims, check_windows
from tests.chaos.soak.journal import Journal, Kind, LifeJournal, read_journals
from tests.chaos.soak.lives import Life, read_lives
from tests.chaos.soak.log import Chain, Log
from tests.chaos.soak.plan import Action, make_plan
from tests.chaos.soak.sampler import Claim
from tests.chaos.soak.truth import Truth, expected_verdicts

from unmask.schemas.codes import Evidence, Family, VerdictKind
from unmask.schemas.windowing import MICROS

_T = 1_800_000_000 * MICROS
_SIZES = (5, 0)


def _batch(seq: int, cut: int, attempts: list[int], recorded: int, *, dropped: int = 0, closing: bool = False) -> Any:
    causes = [{"cause": "host_died", "count": dropped}] if dropped else []
    return {
        "emitter": {"emitter_id": "e1", "started_at": _T, "scope": {"release_line": "main"}},
        "batch_seq": seq, "sent_at": cut, "closing": closing,
        "accounts": [{"family": "route_attempt", "recorded": recorded, "dropped": causes}],
        "route_attempts": [{"capability": "retrieval", "entry_point": "http", "occurred_at": attempts}],
        "kernel_fallbacks": [], "masked_errors": [], "session_openings": [], "session_teardowns": [],
    }  # fmt: skip


def _journal(folder: Path, instants: list[int], *, closed: bool = False) -> LifeJournal:
    journal = Journal(folder / "h-1.journal")
    journal.describe(host="h", emitter_id="e1", release_line="main", skew_s=0.0)
    for instant in instants:
        journal.write(Kind.ATTEMPT, 0, 0, 0, 0, instant)
    if closed:
        journal.write(Kind.CLOSING, 0, 0, 0, 0, instants[-1])
    (read,) = read_journals(folder)
    return read


def _log(*batches: Any) -> Log:
    log = Log(chains={"e1": Chain("e1", "main", 0, _T, _T)})
    for offset, batch in enumerate(batches):
        assert log.chains["e1"].take(offset, batch["sent_at"], batch)
    return log


def _killed(folder: Path) -> tuple[Checks, list[Life], Log]:
    """Three attempts: two arrived, one died with the host, in the window after."""
    journal = _journal(folder, [_T + 1, _T + 2, _T + 6 * MICROS])
    log = _log(
        _batch(1, _T, [], 0),
        _batch(2, _T + 4 * MICROS, [_T + 1, _T + 2], 2),
        _batch(3, _T + 7 * MICROS, [], 3, dropped=1, closing=True),
    )
    checks = Checks()
    return checks, read_lives(checks, [journal], log), log


def _claim(events: int, published: int, start: int = _T) -> Claim:
    return Claim(start, 5, "main", None, Family.ROUTE_ATTEMPT, events, published, published)


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
    checks, (life,), _ = _killed(tmp_path)
    assert checks.good
    assert (len(life.counted), len(life.lost)) == (2, 1)


def test_an_event_that_neither_arrived_nor_is_accounted_for_is_found(tmp_path: Path) -> None:
    journal = _journal(tmp_path, [_T + 1, _T + 2, _T + 3], closed=True)
    checks = Checks()
    read_lives(checks, [journal], _log(_batch(1, _T + 4 * MICROS, [_T + 1, _T + 2], 2, closing=True)))
    assert checks.failed["accounts"] == 1
    assert any("against its journal" in difference for difference in checks.differences)


def test_an_event_that_was_counted_and_never_recorded_is_found(tmp_path: Path) -> None:
    journal = _journal(tmp_path, [_T + 1], closed=True)
    checks = Checks()
    read_lives(checks, [journal], _log(_batch(1, _T + 4 * MICROS, [_T + 1, _T + 1], 2, closing=True)))
    assert checks.failed["accounts"]
    assert checks.failed["events"] == 1


def test_a_host_that_was_not_killed_may_lose_nothing(tmp_path: Path) -> None:
    journal = _journal(tmp_path, [_T + 1, _T + 2], closed=True)
    checks = Checks()
    read_lives(checks, [journal], _log(_batch(1, _T + 4 * MICROS, [_T + 1], 2, dropped=1, closing=True)))
    assert any("dropped" in difference for difference in checks.differences)


def test_an_emitter_that_was_never_closed_is_found(tmp_path: Path) -> None:
    journal = _journal(tmp_path, [_T + 1])
    checks = Checks()
    read_lives(checks, [journal], _log(_batch(1, _T + 4 * MICROS, [_T + 1], 1)))
    assert any("never closed" in difference for difference in checks.differences)


@pytest.mark.parametrize(
    ("claim", "good"),
    [
        pytest.param(_claim(2, _T + 9 * MICROS), True, id="exact"),
        pytest.param(_claim(1, _T + 9 * MICROS), False, id="one-short"),
        pytest.param(_claim(3, _T + 9 * MICROS), False, id="one-too-many"),
        pytest.param(_claim(0, _T + 12 * MICROS, _T + 5 * MICROS), False, id="over-a-lost-event"),
    ],
)
def test_a_claim_of_complete_is_held_against_all_that_was_recorded(tmp_path: Path, claim: Claim, good: bool) -> None:
    _, lives, log = _killed(tmp_path)
    checks = Checks()
    check_claims(checks, Truth.of(_SIZES, lives, log), [claim], {"e1": _T}, 3 * MICROS)
    assert checks.good is good


@pytest.mark.parametrize(
    ("published_after_s", "good"),
    [pytest.param(0, True, id="unknown-then"), pytest.param(21, False, id="known-by-then")],
)
def test_a_claim_is_excused_only_before_a_late_host_was_known(
    tmp_path: Path, published_after_s: int, good: bool
) -> None:
    _, lives, log = _killed(tmp_path)
    heard = _T + 100 * MICROS
    checks = Checks()
    claim = _claim(0, heard + published_after_s * MICROS)
    check_claims(checks, Truth.of(_SIZES, lives, log), [claim], {"e1": heard}, 3 * MICROS)
    assert checks.good is good


def test_a_late_host_is_excused_as_a_whole_and_never_in_part(tmp_path: Path) -> None:
    _, lives, log = _killed(tmp_path)
    heard = _T + 100 * MICROS
    for events, good in ((0, True), (1, False), (2, True)):
        checks = Checks()
        check_claims(checks, Truth.of(_SIZES, lives, log), [_claim(events, heard)], {"e1": heard}, 3 * MICROS)
        assert checks.good is good, events


def _standing(truth: Truth) -> list[dict[str, Any]]:
    """What would have to stand."""
    records = []
    for size, start in sorted({(size, start) for size, start, _ in {*truth.counts, *truth.witnessed}}):
        counts: Counter[str] = Counter()
        for (_, _, code), n in truth.counts.get((size, start, "main"), Counter()).items():
            counts[code] += n
        flawed = truth.flawed.get((size, start, "main"), set())
        for scope, capability in ((None, None), ("main", None), ("main", "retrieval")):
            if capability and not counts:
                continue
            states = {f: Evidence.LOSSY if f in flawed else Evidence.COMPLETE for f in Family if size}
            records.append({
                "window_start": start, "window_seconds": size, "capability": capability,
                "scope": None if scope is None else {"release_line": scope},
                "attempts": counts.total(), "attempts_by_entry_point": dict(counts), "fallbacks_total": 0,
                "fallbacks_by_reason": {}, "masked_errors": 0, "masked_errors_by_class": {},
                "teardowns_by_outcome": {}, "duplicates": 0, "quarantined": 0,
                "evidence": [{"family": f, "state": states.get(f, Evidence.PENDING)} for f in Family],
            })  # fmt: skip
    return records


def test_windows_that_are_as_they_must_be_are_found_so(tmp_path: Path) -> None:
    _, lives, log = _killed(tmp_path)
    truth = Truth.of(_SIZES, lives, log)
    checks = Checks()
    check_windows(checks, truth, _standing(truth))
    assert checks.good, checks.differences
    assert checks.compared["windows"] > 10


@pytest.mark.parametrize("spoil", ["count", "code", "evidence", "no-record", "too-lossy"])
def test_a_window_that_is_wrong_in_one_thing_is_found(tmp_path: Path, spoil: str) -> None:
    _, lives, log = _killed(tmp_path)
    truth = Truth.of(_SIZES, lives, log)
    standing = _standing(truth)
    first = next(record for record in standing if record["window_seconds"] and record["scope"])
    lossy = next(r for r in standing if r["window_start"] == _T + 5 * MICROS)
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
    _, (life,), _ = _killed(tmp_path)
    life.chain.batches[1].body["session_openings"].append({"session_id": "h-1-1", "occurred_at": _T})
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
