"""The report: one table of what was done and what came of it, and everything that is wrong."""

import os
import platform
from collections import Counter

from rich import box
from rich.console import Console
from rich.table import Table
from tests.chaos.effects.plan import FULL, Action
from tests.chaos.effects.soak import ASKERS, Result

__all__ = ["as_markdown", "show"]

_SHOWN = 60


def show(console: Console, result: Result) -> None:
    """Prints it."""
    table = Table(title=f"Soak of the effects ledger, {result.plan.seconds} s, seed {result.plan.seed}",
                  box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)  # fmt: skip
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
    for fault in result.faults:
        console.print(f"FAULT  {fault}", style="red", markup=False, soft_wrap=True)
    for problem in result.account.problems[:_SHOWN]:
        console.print(f"BROKEN  {problem}", style="red", markup=False, soft_wrap=True)
    for difference in result.checks.differences[:_SHOWN]:
        console.print(f"DIFFERS  {difference}", style="red", markup=False, soft_wrap=True)
    broken = Counter(problem.breach.value for problem in result.account.problems)
    checks = result.checks
    console.print(
        f"{broken.total():,} promises are broken ({_listed(broken) or 'none'}), {checks.failed.total():,} of "
        f"{checks.compared.total():,} values differ ({_listed(checks.failed) or 'none'}).",
        style="bold red", highlight=False,
    )  # fmt: skip


def as_markdown(result: Result) -> str:
    """The table for a document, with the command that made it."""
    plan = result.plan
    rows = [("what", "how much", "of it"), ("---", "---:", "---"), *_rows(result)]
    command = f"`make chaos-effects SECONDS={plan.seconds} SEED={plan.seed}`:"
    return "\n".join([command, "", *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def _rows(result: Result) -> list[tuple[str, str, str]]:
    done, told, account, plan = result.done, result.told, result.account, result.plan
    took, quiet = sorted(told.took), sorted(told.took_at_the_end)
    less = plan.minimums.less_than(FULL)
    short = [(f"not aimed at in {plan.seconds} s", "", ", ".join(
        f"{full:,} {name.replace('_', ' ')} (but {aimed:,})" for name, (aimed, full) in less.items()
    ))]  # fmt: skip
    commits, rest = Counter[str](), Counter[str]()
    for question, n in told.settlements.items():
        what, _, answer = question.partition(" ")
        if what == "commit":
            commits[answer] = n
        else:
            rest[question] = n
    return [
        ("workers killed, stopped", f"{done[Action.KILL_WORKER]}, {done[Action.STOP_WORKER]}",
         f"{len(result.worker_ends)} ended by themselves"),
        ("hosts killed, stopped", f"{done[Action.KILL_HOST]}, {done[Action.STOP_HOST]}",
         f"and {done[Action.RESTART_CUT_OFF]} killed and started without a way to the brokers"),
        ("hosts killed by their own hand", f"{told.deaths.total()}", _listed(told.deaths) or "none"),
        ("lives of hosts", f"{result.lives}", f"of {plan.threads} threads each"),
        ("brokers killed, stopped", f"{done[Action.KILL_BROKER]}, {done[Action.STOP_BROKER]}",
         f"of 3; and {done[Action.OUTAGE]} times all at once"),
        ("start to first answer", f"{result.first_answer_s:.1f} s", "of three new workers"),
        ("claims", f"{told.claims.total():,}", _listed(told.claims)),
        ("claim, p50 and p99", f"{_quantile(took, 0.5)}, {_quantile(took, 0.99)}",
         f"of {len(took):,} that were answered, under all these faults; the longest {_quantile(took, 1.0)}"),
        ("the same without faults", f"{_quantile(quiet, 0.5)}, {_quantile(quiet, 0.99)}",
         f"of the {len(quiet):,} claims at the end, {ASKERS} at a time"),
        ("commits", f"{commits.total():,}", _listed(commits)),
        ("other questions", f"{rest.total():,}", _listed(rest)),
        ("effects made", f"{told.made:,}", f"{told.late:,} by a host that knew its lease might be over; "
         f"{told.again:,} keys under a second lease, the first having ended without a word"),
        ("requests on the log", f"{account.requests.total():,}", _listed(account.requests)),
        ("requests put in again", f"{result.replayed:,}", "the same bytes, soon after or much later"),
        ("unreadable requests put in", f"{result.unreadable}",
         f"{account.unreadable} stand on the log, those that were put in again too; none was decided"),
        ("keys", f"{account.keys:,}", f"{account.tenants} tenants, {len(account.commits):,} committed"),
        ("leases", f"{account.leases:,}", _listed(account.ends)),
        ("longest time to a decision", f"{result.longest_wait / 1e6:.1f} s",
         "of any request, its worker or broker being killed or stopped"),
        ("longest time over", f"{account.longest_overdue / 1e6:.1f} s",
         "from a lease's end to the request that found it over"),
        ("commits asked for again", f"{result.asked_again:,}", "at the end; ALREADY_COMMITTED with its receipt"),
        ("problems in the history", f"{len(account.problems):,}", f"{account.answers.total():,} decisions checked"),
        ("words of hosts compared", f"{result.checks.compared.total():,}", _listed(result.checks.compared)),
        ("all decided, all leases ended", f"{result.settled_s:.0f} s", "after the last host's end"),
        ("machine", f"{os.cpu_count()} cores", f"{platform.system()} {platform.machine()}, Python "
         f"{platform.python_version()}; {result.load_s:.0f} s of load, {result.elapsed_s:.0f} s in all"),
        *(short if less else []),
    ]  # fmt: skip


def _quantile(values: list[float], share: float) -> str:
    if not values:
        return "none"
    value = values[min(len(values) - 1, int(share * len(values)))]
    return f"{value * 1000:.0f} ms" if value < 10 else f"{value:.1f} s"


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()) if count)
