"""Delegations that worked in a session: budgets, breaker, effects and refusals of each."""

from typing import Any

from unmask.schemas.codes import Finding
from unmask.streams.web.page.html.parts import Column, chip, code, counts, instant, note, section, table
from unmask.streams.web.page.markup import Html, el, join
from unmask.streams.web.page.values import DelegationLine, SessionAnswer
from unmask.streams.web.page.words import FINDINGS

__all__ = ["delegations_section"]

_COLUMNS = (Column("Delegation"), Column("Spent, of its budget"), Column("Breaker"), Column("Effects"),
            Column("Refused by"), Column("Turns without an accepted write"), Column("Findings"),
            Column("Newest step, UTC"))  # fmt: skip
_NOBODY = (
    "No delegation of this session is on record, and nobody is known to tell of delegations here. That is not a 'none'."
)


def delegations_section(answer: SessionAnswer) -> Html:
    """The delegations of a session, with what is found of them."""
    lines, conflicts = answer.detail.delegations, answer.detail.identity_conflicts
    claimed = None
    if conflicts:
        claimed = el("p", "Two lives claim one identity: ", el("span", ", ".join(conflicts), class_="id"), ".")
    if not lines:
        return section("delegations", "Delegations", claimed, el("p", _NOBODY, class_="empty"))
    rows = [(f"d-{line.delegation_id}", _cells(line)) for line in lines]
    found = {finding for line in lines for finding in line.findings or ()}
    meanings = [
        el("li", el("strong", finding.value.replace("_", " ")), f": {FINDINGS[finding]}")
        for finding in Finding
        if finding.value in found
    ]
    return section(
        "delegations",
        "Delegations",
        claimed,
        table("What each did in this session", _COLUMNS, rows),
        el("ul", *meanings) if meanings else None,
        note("Over all sessions: ", code("unmask delegations"), "."),
    )


def _cells(line: DelegationLine) -> list[Any]:
    return [
        el("span", line.delegation_id, class_="id"),
        _spent(line),
        _breaker(line),
        _effects(line),
        _refused(line),
        f"{line.blocked_turns:,} now, {line.longest_blocked:,} at most",
        _found(line),
        instant(line.last_step_at, day=True),
    ]


def _spent(line: DelegationLine) -> Html:
    parts = (
        (line.calls, line.budget_calls, "calls"),
        (line.tokens, line.budget_tokens, "tokens"),
        (line.highest_attempt, line.budget_attempts, "attempts of one thing"),
    )
    said = [f"{spent:,} {what}" if given is None else f"{spent:,} of {given:,} {what}" for spent, given, what in parts]
    over = join(el("br"), chip("OVER", f"over: {', '.join(line.over)}")) if line.over else None
    return join(", ".join(said), over)


def _breaker(line: DelegationLine) -> Html:
    state = chip("TRIPPED") if line.tripped else chip("NOT TRIPPED")
    parts = [f"{line.unchanged:,} calls unchanged, {line.longest_unchanged:,} at most"]
    if line.trips:
        parts.append(f"tripped {line.trips:,} times, {line.false_trips:,} of them false")
    if line.doubts:
        doubts = counts({doubt.replace("_", " "): count for doubt, count in line.doubts.items()})
        parts.append(f"abstained: {doubts}")
    return join(state, el("br"), "; ".join(parts))


def _effects(line: DelegationLine) -> Html:
    again = None
    if line.repeated_commits:
        again = join(el("br"), chip("COMMITTED AGAIN", f"{line.repeated_commits:,} committed again"))
    return join(f"{line.committed:,} committed", again)


def _refused(line: DelegationLine) -> str:
    said = [
        f"{enforcer}: {of.count:,} ({of.appealed:,} appealed, {of.vindicated:,} wrong)"
        for enforcer, of in line.refusals.items()
    ]
    return "; ".join(said) or "–"


def _found(line: DelegationLine) -> str:
    if line.findings is None:
        return "not judged yet"
    return ", ".join(line.findings).replace("_", " ") or "–"
