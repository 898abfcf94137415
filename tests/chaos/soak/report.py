"""The soak's report: one table of what was done and what came of it, and every difference."""

import os
import platform
from collections import Counter

from rich import box
from rich.console import Console
from rich.table import Table
from tests.chaos.soak.plan import FULL, Action
from tests.chaos.soak.soak import Result

__all__ = ["as_markdown", "show"]

_SHOWN = 60


def show(console: Console, result: Result) -> None:
    """Prints it."""
    table = Table(title=f"Soak, {result.plan.seconds} s, seed {result.plan.seed}", box=box.SIMPLE_HEAD,
                  title_justify="left", pad_edge=False)  # fmt: skip
    table.add_column("what")
    table.add_column("how much", justify="right")
    table.add_column("of it")
    for row in _rows(result):
        table.add_row(*row)
    console.print(table)
    for end in result.worker_ends:
        console.print(f"Ended by itself and started again: {end}", markup=False, highlight=False, soft_wrap=True)
    if result.good:
        console.print("Everything agrees.", style="bold green")
        return
    if result.verify != 0:
        console.print(f"unmask verify ended with {result.verify}:", style="bold red")
        console.print(result.verify_said, markup=False, highlight=False, soft_wrap=True)
    for fault in result.faults:
        console.print(f"FAULT  {fault}", style="red", markup=False, soft_wrap=True)
    for difference in result.checks.differences[:_SHOWN]:
        console.print(f"DIFFERS  {difference}", style="red", markup=False, soft_wrap=True)
    differ = result.checks.failed.total()
    console.print(f"{differ:,} of {result.checks.compared.total():,} values differ.", style="bold red")


def as_markdown(result: Result) -> str:
    """The table for a document, with the command that made it."""
    plan = result.plan
    rows = [("what", "how much", "of it"), ("---", "---:", "---"), *_rows(result)]
    lines = [f"`make chaos SECONDS={plan.seconds} SEED={plan.seed}`:", "", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def _rows(result: Result) -> list[tuple[str, str, str]]:
    lives, done, log = result.lives, result.done, result.log
    counted = sum(len(life.counted) for life in lives)
    lost = sum(len(life.lost) for life in lives)
    causes: Counter[str] = Counter()
    for life in lives:
        causes.update(life.causes)
    killed = sum(life.journal.killed for life in lives)
    checks = result.checks
    less = result.plan.minimums.less_than(FULL)
    short = [(f"not aimed at in {result.plan.seconds} s", "", ", ".join(
        f"{full:,} {name.replace('_', ' ')} (but {aimed:,})" for name, (aimed, full) in less.items()
    ))]  # fmt: skip
    return [
        ("events in the hosts' journals", f"{counted + lost:,}", f"{sum(life.in_doubt for life in lives)} more were "
         "about to be recorded when their host was killed"),
        ("events counted", f"{counted:,}", f"{sum(life.moved for life in lives):,} recorded while a batch was cut"),
        ("events lost", f"{lost:,}", _listed(causes) or "none"),
        ("counted late", f"{result.late:,}", f"after their window had closed, {result.corrected:,} into corrections"),
        ("clock ahead by more than 5 min", f"{result.skewed:,}", "counted at the broker's time"),
        ("lives of hosts", f"{len(lives)}", f"{killed} ended by SIGKILL; every one left a closed account"),
        ("workers killed, stopped", f"{done[Action.KILL_WORKER]}, {done[Action.STOP_WORKER]}",
         f"{len(result.worker_ends)} ended by themselves; {result.workers_away} found their work done by others"),
        ("start to first commit", f"{result.first_commit_s:.1f} s", "of three new workers, all partitions"),
        ("longest standstill", f"{result.standstill_s:.1f} s", "of the counting of any partition, its worker or broker "
         "being killed or stopped"),
        ("brokers killed under load", f"{done[Action.KILL_BROKER]}", "of 3; each came back"),
        ("cut off", f"{result.plan.away_s} s", f"one host; cells stay open for {result.plan.open_horizon_s} s; "
         f"{result.late_of_cut_off:,} of its events came later than that"),
        ("records on the log", f"{log.records:,}", f"{len(log.chains)} emitters"),
        ("replays put in", f"{result.replayed:,}", f"{len(log.duplicates):,} duplicates seen, none counted"),
        ("unreadable records put in", f"{result.unreadable}", _listed(log.reasons)),
        ("windows", f"{result.windows.total()}", _listed(result.windows)),
        ("verdicts", f"{result.verdicts.total()}", _listed(result.verdicts)),
        ("window records ever published", f"{result.published:,}", f"{result.claims:,} claims of COMPLETE checked; "
         f"{result.excused:,} had less, of a host not known yet when the window closed"),
        ("values compared", f"{checks.compared.total():,}", _listed(checks.compared)),
        ("agreement", f"{result.settled_s:.0f} s", "after the last host's end, the end of the last window included"),
        ("unmask verify", f"exit {result.verify}", ""),
        ("machine", f"{os.cpu_count()} cores", f"{platform.system()} {platform.machine()}, Python "
         f"{platform.python_version()}; {result.load_s:.0f} s of load, {result.elapsed_s:.0f} s in all"),
        *(short if less else []),
    ]  # fmt: skip


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in sorted(counts.items()))
