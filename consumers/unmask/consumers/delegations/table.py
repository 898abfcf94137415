"""Delegations for people in a terminal."""

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from unmask.consumers.delegations.document import DelegationLine
from unmask.consumers.report.table import STATE_STYLES

__all__ = ["MOST_LINES", "delegations_table"]

NOTHING = "–"
MOST_LINES = 500
"""The most lines of a table; nobody reads more of them in a terminal."""


def delegations_table(lines: Sequence[DelegationLine], title: str) -> Table:
    """A few lines for each delegation: what it did, what it was given, what was found."""
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    # Four columns, so that a line of them fits into 100 characters.
    for name in ("delegation", "spent", "breaker", "effects and refusals"):
        table.add_column(name, overflow="fold")
    for place, line in enumerate(lines[:MOST_LINES]):
        if place:
            table.add_row()
        table.add_row(_name(line), _spent(line), _breaker(line), _effects(line))
    return table


def _name(line: DelegationLine) -> Text:
    parts = [
        Text(line.delegation_id, style="bold"),
        Text(_many(len(line.sessions), "session")),
        Text(_many(line.invocations, "invocation")),
        Text(str(line.evidence), style=STATE_STYLES[line.evidence]),
    ]
    if line.findings is None:
        parts.append(Text("not judged yet", style="dim"))
    parts += [Text(str(finding), style="bold red") for finding in line.findings or ()]
    parts += [
        Text(f"{finding}\nover all sessions", style="bold red")
        for finding in line.findings_over_all
        if finding not in (line.findings or ())
    ]
    if line.identity_conflicts:
        parts.append(Text(_many(line.identity_conflicts, "identity conflict"), style="bold red"))
    return Text("\n").join(parts)


def _spent(line: DelegationLine) -> Text:
    given = line.budgets
    parts = [
        _part(line.calls, given.calls, "calls"),
        _part(line.tokens, given.tokens, "tokens"),
        _part(line.highest_attempt, given.attempts, "attempts"),
    ]
    if line.failed or line.refused:
        parts.append(f"{line.failed:,} failed, {line.refused:,} refused")
    return Text("\n".join(parts), style="bold red" if given.over else "")


def _part(spent: int, given: int | None, what: str) -> str:
    return f"{spent:,} {what}" if given is None else f"{spent:,} of {given:,} {what}"


def _breaker(line: DelegationLine) -> Text:
    breaker = line.breaker
    parts = ["TRIPPED" if breaker.tripped else "not tripped", f"unchanged calls: {breaker.unchanged:,}"]
    if breaker.trips:
        parts.append(f"{_many(breaker.trips, 'trip')}, {breaker.false_trips:,} false")
    if breaker.first_trip_call is not None:
        parts.append(f"first at call {breaker.first_trip_call:,}")
    if breaker.abstentions:
        parts.append("abstained:")
        parts += [f"{count:,} {doubt}" for doubt, count in breaker.doubts.items()]
    return Text("\n".join(parts), style="bold red" if breaker.tripped else "")


def _effects(line: DelegationLine) -> Text:
    effects = line.effects
    parts = []
    if effects.granted or effects.committed or effects.released:
        parts += [f"{effects.granted:,} granted", f"{effects.committed:,} committed", f"{effects.released:,} released"]
    twice = effects.repeated_commits or len(effects.duplicated)
    if twice:
        parts.append(f"{twice:,} committed again")
    for enforcer, part in line.refusals.items():
        parts.append(f"refused by {enforcer}: {part.count:,}")
        if part.appealed or part.vindicated:
            parts.append(f"  {part.appealed:,} appealed, {part.vindicated:,} wrong")
    if line.refusals:
        turns = line.turns_without_accepted_write
        parts += ["turns without a write:", f"  {turns.current:,} now, {turns.longest:,} at most"]
    return Text("\n".join(parts) or NOTHING, style="bold red" if twice else "" if parts else "dim")


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
