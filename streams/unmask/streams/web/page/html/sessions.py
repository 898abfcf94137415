"""The sessions: verdict and directive of each, what is open first."""

from unmask.schemas.codes import Directive
from unmask.streams.web.page.html.parts import (
    Column,
    chip,
    code,
    count,
    folded,
    instant,
    note,
    nothing,
    section,
    session_link,
    table,
)
from unmask.streams.web.page.markup import Html, el, join
from unmask.streams.web.page.values import OverviewAnswer, SessionLine

__all__ = ["directive_cell", "ratio", "sessions_section", "verdict_chip"]

_COLUMNS = (
    Column("Session"),
    Column("Verdict"),
    Column("Directive for the successor"),
    Column("Degraded operations", number=True),
    Column("Evidence"),
    Column("Findings"),
    Column("Release line"),
    Column("Ended, UTC"),
)
_SHOWN = 15


def sessions_section(answer: OverviewAnswer) -> Html:
    """The sessions of the last day."""
    if not answer.sessions:
        return section(
            "sessions", "Sessions", nothing("No session was seen within the last day.", complete=answer.complete)
        )
    rows = [(f"s-{line.session_id}", _cells(line)) for line in answer.sessions]
    cut = f"{answer.sessions_cut:,} more sessions of the last day are left out. " if answer.sessions_cut else ""
    return section(
        "sessions",
        "Sessions",
        table("Sessions of the last day; those with an open directive first", _COLUMNS, rows[:_SHOWN]),
        folded(len(rows[_SHOWN:]), "sessions", table("Further sessions", _COLUMNS, rows[_SHOWN:])),
        note(cut, "An older session has its page too, at ", code("/sessions/"), " and its id."),
    )


def _cells(line: SessionLine) -> list[object]:
    return [
        session_link(line.session_id),
        verdict_chip(line),
        directive_cell(line),
        ratio(line),
        "–" if line.evidence is None else chip(line.evidence.value),
        ", ".join(line.findings).replace("_", " ") or "–",
        line.release_line or "–",
        instant(line.ended_at, day=True) if line.ended_at is not None else "not yet",
    ]


def verdict_chip(line: SessionLine) -> Html:
    """The verdict, or why there is none."""
    if line.flaw is not None:
        return chip("NOT BELIEVED")
    if line.withdrawn:
        return chip("WITHDRAWN")
    if line.verdict is None:
        return chip("RUNNING") if line.ended_at is None else chip("PENDING", "NOT JUDGED YET")
    return chip(line.verdict.value)


def directive_cell(line: SessionLine) -> Html:
    """The directive, and whether somebody has carried it out."""
    if line.directive is None:
        return Html("–")
    if line.directive is Directive.NONE:
        return el("span", "NONE", class_="quiet")
    words = el("span", line.directive.value.replace("_", " "), class_="directive")
    if line.discharged_at is not None:
        return join(words, " ", chip("DONE"), " ", instant(line.discharged_at))
    return join(words, " ", chip("OPEN")) if line.open else words


def ratio(line: SessionLine) -> Html:
    """Degraded operations, of how many."""
    if line.operations is None:
        return join(f"{line.degraded_operations:,} so far" if line.degraded_operations else "none so far")
    share = "" if line.degraded_operation_ratio is None else f" ({line.degraded_operation_ratio:.1%})"
    return join(f"{count(line.degraded_operations)} of {count(line.operations)}{share}")
