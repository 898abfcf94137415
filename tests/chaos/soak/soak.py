"""One soak from the first broker to the last comparison."""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.soak.checks import Checks
from tests.chaos.soak.compare import Heard, check_claims, check_verdicts, check_windows
from tests.chaos.soak.conductor import Conductor
from tests.chaos.soak.injector import Injector
from tests.chaos.soak.journal import count_entries, read_journals
from tests.chaos.soak.lives import Life, later_than, read_lives
from tests.chaos.soak.log import Chain, Log, read_log
from tests.chaos.soak.plan import HOSTS, Action, Plan
from tests.chaos.soak.sampler import Sampler
from tests.chaos.soak.truth import ExpectedVerdict, Truth, expected_verdicts

from unmask.consumers.devbroker import JvmBroker
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics
from unmask.schemas.windowing import MICROS

__all__ = ["Result", "soak"]

_NODES = 3
_PARTITIONS = 6
_LOOK_S = 3.0
_NOTHING_MOVES_S = 60.0
_SETTLE_S = 900.0
"""What is published may take so long to be right on a slow machine, as long as it changes."""
_VERIFY_S = 1_200.0
_STANDSTILL_S = 240.0
"""A partition that nobody counts for so long has been forgotten, however slow the machine is."""
_START_S = 300.0
_SPARE = 1.02  # entries of a journal are a little more than its events


@dataclass(slots=True)
class Result:
    """What came of it."""

    plan: Plan
    checks: Checks = field(default_factory=Checks)
    faults: list[str] = field(default_factory=list)
    """What went wrong beside the comparisons."""
    worker_ends: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    lives: list[Life] = field(default_factory=list)
    log: Log = field(default_factory=Log)
    windows: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    replayed: int = 0
    unreadable: int = 0
    published: int = 0
    """Window records that ever stood."""
    claims: int = 0
    """Records and families of theirs that said COMPLETE and were checked."""
    excused: int = 0
    """How many of these had less than was recorded, since a host was not known yet."""
    late: int = 0
    corrected: int = 0
    """Events that came after the cells of their window had been closed for good."""
    skewed: int = 0
    late_of_cut_off: int = 0
    """Such events of the host that was cut off."""
    first_commit_s: float = 0.0
    standstill_s: float = 0.0
    """The longest time in which nobody counted a partition."""
    workers_away: int = 0
    load_s: float = 0.0
    verify: int | None = None
    verify_said: str = ""
    settled_s: float = 0.0
    elapsed_s: float = 0.0

    @property
    def good(self) -> bool:
        """Whether everything agrees."""
        return self.checks.good and not self.faults and self.verify == 0


def soak(plan: Plan, folder: Path, say: Callable[[str], None]) -> Result:
    """Runs it. Raises what keeps it from being run at all."""
    began = time.monotonic()
    broker = JvmBroker(folder / "kafka", nodes=_NODES)
    broker.start(_START_S)
    try:
        topics = Topics("soak", events_partitions=_PARTITIONS, table_partitions=_PARTITIONS)
        create_topics(broker.bootstrap, topics, _NODES)
        say(f"Three brokers serve after {time.monotonic() - began:.0f} s; workers and hosts start.")
        result = _run(plan, folder, broker, topics, say)
    finally:
        broker.stop()
    result.elapsed_s = time.monotonic() - began
    return result


def _run(plan: Plan, folder: Path, broker: JvmBroker, topics: Topics, say: Callable[[str], None]) -> Result:
    result = Result(plan)
    injector = Injector(broker.bootstrap, topics, plan.replays_per_second, plan.seed + 2)
    sampler = Sampler(broker.bootstrap, topics)
    conductor = Conductor(plan, folder, broker, topics, injector, say)
    try:
        sampler.start()
        injector.start()
        conductor.run(lambda: sampler.marks.partitions == _PARTITIONS, lambda: _enough(plan, conductor, injector))
        injector.stop()
        say("The load is over; the hosts end.")
        conductor.end_hosts()
        say("The hosts have ended; the log is read.")
        _examine(result, conductor, sampler, broker, topics, say)
        result.replayed, result.unreadable = injector.replayed, injector.unreadable
    finally:
        conductor.stop()
        sampler.stop()
    result.faults += [*conductor.faults, *(repr(e) for e in (sampler.error, injector.error) if e is not None)]
    result.worker_ends, result.done = conductor.worker_ends(), conductor.done
    result.workers_away, result.load_s = conductor.workers_away(), conductor.load_s
    result.first_commit_s = conductor.first_commit_s
    _check_minimums(result)
    return result


def _enough(plan: Plan, conductor: Conductor, injector: Injector) -> bool:
    least = plan.minimums
    events = count_entries(conductor.journals)
    return events >= least.events * _SPARE and injector.replayed >= least.replays


def _examine(
    result: Result,
    conductor: Conductor,
    sampler: Sampler,
    broker: JvmBroker,
    topics: Topics,
    say: Callable[[str], None],
) -> None:
    plan, began = result.plan, time.monotonic()
    settled = Checks()
    journals = read_journals(conductor.journals)
    result.log = read_log(broker.bootstrap, topics)
    result.lives = read_lives(settled, journals, result.log)
    truth = Truth.of((*plan.window_seconds, 0), result.lives, result.log)
    verdicts = expected_verdicts(result.lives)
    say(f"{sum(len(j.entries) for j in journals):,} journal entries and {result.log.records:,} records are read; now "
        "everything published must come to agree.")  # fmt: skip
    moved, before = began, None
    while True:
        checks, windows = _look(result, sampler, truth, verdicts)
        now = time.monotonic()
        # Records alone are no progress: silence is told of for ever.
        if checks.failed != before:
            moved, before = now, checks.failed
        # The last window is over only so much later, and all that time nothing may change.
        patience = _NOTHING_MOVES_S + plan.window_seconds[-1]
        if checks.good or now - moved > patience or now - began > _SETTLE_S:
            break
        conductor.tend_workers()
        time.sleep(_LOOK_S)
    result.settled_s = time.monotonic() - began
    _verify(result, broker, topics, say)
    # Once more: the tables may not have taken anything back.
    checks, windows = _look(result, sampler, truth, verdicts)
    with sampler.lock:
        claims, result.published = list(sampler.claims), sampler.records
        result.standstill_s = sampler.marks.standstill(time.time_ns() // 1_000) / MICROS
    heard = {emitter: _heard(sampler, chain) for emitter, chain in result.log.chains.items()}
    result.excused = check_claims(checks, truth, claims, heard, plan.grace_ms * 1_000)
    result.claims = checks.compared["claims"]
    for part in (settled, checks):
        result.checks.compared.update(part.compared)
        result.checks.failed.update(part.failed)
        result.checks.differences.extend(part.differences)
    result.verdicts.update(str(verdict.verdict) for verdict in verdicts.values())
    whole = [w for w in windows if w["window_seconds"] == plan.window_seconds[0] and w["scope"] is None]
    horizon = plan.open_horizon_s * MICROS
    later = [(life.journal.host, later_than(life, plan.window_seconds[0], horizon)) for life in result.lives]
    away = {host.name for host in HOSTS if host.away}
    result.corrected = sum(late for _, late in later)
    result.late_of_cut_off = sum(late for host, late in later if host in away)
    result.late, result.skewed = (sum(w[name] for w in whole) for name in ("late", "skewed"))


def _heard(sampler: Sampler, chain: Chain) -> Heard:
    with sampler.lock:
        known = sampler.marks.known_at(chain.partition, chain.first_offset)
    return Heard(chain.first_heard, chain.first_heard if known is None else max(known, chain.first_heard))


def _look(
    result: Result, sampler: Sampler, truth: Truth, verdicts: dict[str, ExpectedVerdict]
) -> tuple[Checks, list[dict[str, Any]]]:
    """One comparison of what stands now."""
    checks = Checks()
    with sampler.lock:
        windows, stands = list(sampler.windows.values()), dict(sampler.verdicts)
    result.windows = check_windows(checks, truth, windows)
    check_verdicts(checks, verdicts, stands)
    return checks, windows


def _verify(result: Result, broker: JvmBroker, topics: Topics, say: Callable[[str], None]) -> None:
    plan = result.plan
    say("`unmask verify` counts everything again.")
    sizes = [argument for size in (*plan.window_seconds, 0) for argument in ("--window-seconds", str(size))]
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "unmask.consumers.cli.main", "verify", *sizes, "--settle", "120"),
            *("--write-off-seconds", str(plan.write_off_s), "--bootstrap", broker.bootstrap),
            *("--namespace", topics.namespace),
        ],
        capture_output=True, text=True, timeout=_VERIFY_S, check=False,
    )  # fmt: skip
    result.verify, result.verify_said = ran.returncode, ran.stdout + ran.stderr


def _check_minimums(result: Result) -> None:
    least, done = result.plan.minimums, result.done
    events = sum(len(life.counted) + len(life.lost) for life in result.lives)
    for what, wanted, had in (
        ("events", least.events, events),
        ("worker kills", least.worker_kills, done[Action.KILL_WORKER]),
        ("worker stops", least.worker_stops, done[Action.STOP_WORKER]),
        ("host kills", least.host_kills, done[Action.KILL_HOST]),
        ("broker kills", least.broker_kills, done[Action.KILL_BROKER]),
        ("replays", least.replays, result.replayed),
        ("unreadable records", least.unreadable, result.unreadable),
        ("events of a host whose clock is minutes ahead", 1, result.skewed),
        ("events of the host that was cut off which came after their cells were closed", 1, result.late_of_cut_off),
    ):
        if had < wanted:
            result.faults.append(f"too few {what} to prove anything: {had:,} of {wanted:,}")
    if result.standstill_s > _STANDSTILL_S:
        result.faults.append(f"nobody counted a partition for {result.standstill_s:.0f} s")
