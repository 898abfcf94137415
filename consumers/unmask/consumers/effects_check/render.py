"""An account for people, and for programs."""

from collections import Counter
from typing import Any

from unmask.consumers.effects_check.check import Account
from unmask.consumers.effects_check.problems import Problem

__all__ = ["to_document", "to_lines"]

_SHOWN = 50


def to_document(account: Account, problems: list[Problem]) -> dict[str, Any]:
    """As JSON has it; `problems` are those that are to be told."""
    return {
        "good": not problems,
        "requests": dict(sorted(account.requests.items())),
        "answers": dict(sorted(account.answers.items())),
        "unreadable": account.unreadable,
        "pending": account.pending,
        "unchecked": account.unchecked,
        "partitions_cut": sorted(account.cut),
        "keys": account.keys,
        "tenants": account.tenants,
        "leases": account.leases,
        "lease_ends": dict(sorted(account.ends.items())),
        "longest_overdue_ms": account.longest_overdue // 1000,
        "commits": len(account.commits),
        "problems": [
            {
                "breach": problem.breach.value,
                "partition": problem.partition,
                "offset": problem.offset,
                "key": None if problem.key is None else problem.key._asdict(),
                "text": problem.text,
            }
            for problem in problems
        ],
    }


def to_lines(account: Account, problems: list[Problem]) -> list[str]:
    """As lines of text."""
    lines = [
        f"{account.requests.total():,} requests ({_listed(account.requests)}), {account.unreadable:,} unreadable, "
        f"{account.pending:,} not decided yet",
        f"{account.answers.total():,} decisions ({_listed(account.answers)})",
        f"{account.keys:,} keys of {account.tenants:,} tenants, {len(account.commits):,} committed",
        f"{account.leases:,} leases ({_listed(account.ends)}); "
        f"the latest was found over {account.longest_overdue / 1e6:.1f} s after its time",
    ]
    if account.cut:
        lines.append(
            f"partitions {', '.join(map(str, sorted(account.cut)))} do not go back to their first request; "
            f"{account.unchecked:,} decisions could not be checked"
        )
    lines += [str(problem) for problem in problems[:_SHOWN]]
    if len(problems) > _SHOWN:
        lines.append(f"and {len(problems) - _SHOWN:,} more")
    breaches = Counter(problem.breach.value for problem in problems)
    lines.append(f"{len(problems):,} problems: {_listed(breaches)}" if problems else "Nothing is wrong.")
    return lines


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items())) or "none"
