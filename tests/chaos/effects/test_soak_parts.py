"""The parts of the effects soak that can be tried without one: its plan, its journals, its deeds, its report."""

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.chaos.effects.deeds import TENANTS, WAYS, Choice
from tests.chaos.effects.journal import Journal, World, now_us, read_lives, read_world
from tests.chaos.effects.plan import FULL, Action, make_plan
from tests.chaos.effects.report import as_markdown
from tests.chaos.effects.soak import Result


def test_a_plan_follows_from_its_length_and_seed_alone() -> None:
    assert make_plan(600, 7) == make_plan(600, 7)
    assert make_plan(600, 7).steps != make_plan(600, 8).steps


@pytest.mark.parametrize("seed", range(3))
def test_the_default_plan_does_at_least_what_is_promised(seed: int) -> None:
    plan = make_plan(600, seed)
    done = Counter(step.action for step in plan.steps)
    assert plan.minimums == FULL
    assert done[Action.KILL_WORKER] >= FULL.worker_kills
    assert done[Action.STOP_WORKER] >= FULL.worker_stops
    assert done[Action.KILL_HOST] >= FULL.host_kills
    assert done[Action.STOP_HOST] >= FULL.host_stops
    assert done[Action.RESTART_CUT_OFF] >= FULL.cut_off
    assert (done[Action.KILL_BROKER], done[Action.STOP_BROKER], done[Action.OUTAGE]) == (3, 2, 1)
    # What is stopped is stopped for longer than what it holds.
    assert plan.stop_host_s[0] > plan.lease_s[0]
    assert plan.stop_host_s[1] > plan.lease_s[1]
    assert plan.stop_worker_s > 6


def test_the_shortest_plan_still_kills_and_stops_everything_but_all_brokers_at_once() -> None:
    done = Counter(step.action for step in make_plan(60, 1).steps)
    assert all(done[action] for action in Action if action not in (Action.OUTAGE, Action.STOP_BROKER))
    with pytest.raises(ValueError, match="no time"):
        make_plan(59, 1)


def test_a_journal_and_the_world_survive_the_death_of_their_host(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path; from tests.chaos.effects.journal import Journal, World\n"
        "folder = Path(sys.argv[1]); j, w = Journal(folder, 'h-1'), World(folder / 'world')\n"
        "for n in range(500): j.add({'e': 'ask', 'at': n})\n"
        "w.make(['t', 'k'], 7, 'r', 'h-1', True, 1)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = Path(__file__).resolve().parents[3]
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=root, env=dict(os.environ), check=False)
    assert ended.returncode < 0
    (life,) = read_lives(tmp_path)
    assert [line["at"] for line in life.of("ask")] == list(range(500))
    assert not life.torn
    world, torn = read_world(tmp_path / "world")
    assert ([line["token"] for line in world], torn) == ([7], False)
    assert World(tmp_path / "world").find(["t", "k"]) == "r"
    assert World(tmp_path / "world").find(["t", "other"]) is None


def test_a_torn_line_is_told_of(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "h-1")
    journal.add({"e": "ask"})
    with journal.path.open("ab") as file:
        file.write(b'{"e": "to')
    (life,) = read_lives(tmp_path)
    assert (len(life.lines), life.torn) == (1, True)


def test_hosts_want_the_same_effects_at_a_time_and_tenants_give_them_the_same_names() -> None:
    epoch = now_us()
    wanted = [Choice(random.Random(seed), epoch, (1.0, 2.0)).next() for seed in range(400)]
    by_tenant = {tenant: {tuple(w.key[1:]) for w in wanted if w.tenant == tenant} for tenant in TENANTS}
    assert len(set.intersection(*by_tenant.values())) == 16
    limits = {w.budget: set[int | None]() for w in wanted}
    for w in wanted:
        limits[w.budget].add(w.limit)
    assert limits == {"b0-0": {10, 13}, "b0-1": {1_000}, "b0-2": {None}}
    assert sum(WAYS.values()) == 100


def test_the_report_of_a_run_is_a_table_that_a_document_can_hold() -> None:
    said = as_markdown(Result(make_plan(120, 5))).splitlines()
    assert said[0] == "`make chaos-effects SECONDS=120 SEED=5`:"
    assert all(line.count("|") == 4 for line in said[2:])
    assert "12,000 claims (but 2,400)" in said[-1]
    assert not any("not aimed at" in line for line in as_markdown(Result(make_plan(600, 5))).splitlines())
