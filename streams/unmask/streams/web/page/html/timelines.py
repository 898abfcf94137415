"""What a session used, what was written down and what was taken back, turn by turn; and how each recovery lived."""

from typing import Any

from unmask.schemas.codes import Evidence, Finding, SelectionTimeline
from unmask.streams.web.page.html.parts import Column, chip, code, instant, note, section, table
from unmask.streams.web.page.markup import Html, el, join
from unmask.streams.web.page.values import RecoveryLine, SelectionLine, SessionAnswer
from unmask.streams.web.page.words import FINDINGS, RECOVERIES

__all__ = ["timelines_section"]

_LANES = (Column("Turn"), Column("When, UTC"), Column("Live selection"), Column("Persisted state"), Column("Cleanup"),
          Column("Who, for how long, why"), Column("Recovery"))  # fmt: skip
_RECOVERIES = (Column("Recovery"), Column("Profile"), Column("Began, in turn"), Column("Why"), Column("Meant for"),
               Column("State"), Column("Ended, UTC"), Column("Findings"))  # fmt: skip
_NOBODY = (
    "No selection of this session is on record, and nobody is known to tell of selections here. That is not a 'none'."
)


def timelines_section(answer: SessionAnswer) -> Html:
    """The three timelines over one another, and the recoveries."""
    detail = answer.detail
    if not detail.selections and not detail.recoveries:
        empty = "None of the selections is kept." if detail.selections_total else _NOBODY
        return section("timelines", "Selections and recoveries", el("p", empty, class_="empty"))
    return section("timelines", "Selections and recoveries", _proof(answer), _lanes(detail.selections), _lives(answer))


def _proof(answer: SessionAnswer) -> Html:
    detail = answer.detail
    if not detail.selections:
        return note("The stream has forgotten the selections; this is what the verdict keeps of them.")
    total = detail.selections_total or len(detail.selections)
    left_out = "" if total <= len(detail.selections) else f" The newest {len(detail.selections):,} of {total:,}."
    chosen = detail.user_profile or "nothing that is on record"
    certain = detail.selections_evidence is Evidence.COMPLETE
    words = "The user chose last: " if certain else "As far as is on record the user chose last: "
    return join(
        el("p", "Evidence ", chip(detail.selections_evidence.value), f".{left_out} {words}",
           el("span", chosen, class_="id"), "."),
        note("The same in a terminal: ", code(f"unmask timeline {answer.session.session_id}")),
    )  # fmt: skip


def _lanes(selections: tuple[SelectionLine, ...]) -> Html | None:
    if not selections:
        return None
    rows = [(f"{place}-{line.occurred_at.timestamp()}", _lane(line)) for place, line in enumerate(selections)]
    return table("Selections by turn: what is used, what is written down, what is taken back", _LANES, rows)


def _lane(line: SelectionLine) -> list[Any]:
    cleared = line.timeline is SelectionTimeline.CLEARED
    return [
        f"{line.turn:,}",
        instant(line.occurred_at, day=True),
        _in_lane(line, SelectionTimeline.LIVE, line.live),
        _in_lane(line, SelectionTimeline.PERSISTED, line.persisted),
        join("taken back: ", _profile(line.profile, emergency=line.emergency)) if cleared else "–",
        _why(line),
        "–" if line.recovery is None else f"{line.recovery}",
    ]


def _in_lane(line: SelectionLine, lane: SelectionTimeline, in_force: str | None) -> Html:
    if line.timeline is lane:
        return join(el("strong", "now: "), _profile(line.profile, emergency=line.emergency))
    return Html("–") if in_force is None else join("still: ", _profile(in_force))


def _profile(profile: str, *, emergency: bool = False) -> Html:
    return join(el("span", profile, class_="id"), " (for emergencies)" if emergency else None)


def _why(line: SelectionLine) -> Html:
    if line.timeline is SelectionTimeline.CLEARED:
        return join("by ", line.cleared_by or "nobody said whom")
    until = None if line.expires_at is None else join(" until ", instant(line.expires_at, day=True))
    why = None if line.reason_code is None else f", {line.reason_code.value.replace('_', ' ')}"
    who = "the user" if line.source == "user" else "an automatic choice" if line.source == "auto" else "unknown"
    return join(who, f", for the {line.scope.value}", until, why)


def _lives(answer: SessionAnswer) -> Html:
    recoveries = answer.detail.recoveries
    if not recoveries:
        return el("p", "No automatic choice is among them.", class_="empty")
    rows = [(f"recovery-{line.number}", _life(line)) for line in recoveries]
    found = {finding for line in recoveries for finding in line.findings}
    meanings = [
        el("li", el("strong", finding.value.replace("_", " ")), f": {FINDINGS[finding]}")
        for finding in Finding
        if finding.value in found
    ]
    return join(
        el("h3", "Recoveries"),
        table("Automatic choices, and what became of each", _RECOVERIES, rows),
        el("ul", *meanings) if meanings else None,
    )


def _life(line: RecoveryLine) -> list[Any]:
    kept = None if line.persisted_at is None else join(el("br"), "written down ", instant(line.persisted_at, day=True))
    by = "" if line.cleared_by is None else f" by {line.cleared_by.value}"
    return [
        f"{line.number}",
        _profile(line.profile, emergency=line.emergency),
        join(instant(line.began_at, day=True), f", {line.turn:,}", kept),
        "nobody stated a fault" if line.reason_code is None else line.reason_code.value.replace("_", " "),
        f"its {line.scope.value}",
        join(chip(line.state.value.upper()), el("br"), RECOVERIES[line.state], by),
        "–" if line.ended_at is None else instant(line.ended_at, day=True),
        ", ".join(line.findings).replace("_", " ") or "–",
    ]
