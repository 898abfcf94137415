"""The pieces that every section is made of: states with their shapes, instants, numbers, tables."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from unmask.streams.web.page.markup import Html, el, join

__all__ = [
    "Column",
    "chip",
    "code",
    "count",
    "counts",
    "folded",
    "icon",
    "instant",
    "note",
    "nothing",
    "section",
    "session_link",
    "table",
]

_NOTHING = "–"
_SHAPES = {
    "COMPLETE": "good",
    "LOSSY": "bad",
    "PENDING": "wait",
    "ABSENT": "none",
    "CLEAN_SUCCESS": "good",
    "DEGRADED_SUCCESS": "warn",
    "HARD_FAILURE": "bad",
    "FIRING": "bad",
    "RESOLVED": "good",
    "LIVE": "good",
    "CLOSED": "none",
    "SILENT": "bad",
    "BEHIND": "warn",
    "CURRENT": "good",
    "LAGGING": "warn",
    "STALLED": "bad",
    "UNCOUNTED": "none",
    "COUNTING": "good",
    "QUIET": "none",
    "EMPTY": "none",
    "STARTING": "wait",
    "BROKEN": "bad",
    "RUNNING": "wait",
    "WITHDRAWN": "none",
    "NOT BELIEVED": "bad",
    "OPEN": "warn",
    "DONE": "good",
    "READY": "good",
    "NOT READY": "wait",
    "CLEARED": "good",
    "EXPIRED": "good",
    "SUPERSEDED": "none",
    "VANISHED": "bad",
    "TRIPPED": "bad",
    "NOT TRIPPED": "none",
    "OVER": "bad",
    "COMMITTED AGAIN": "bad",
}
"""State to shape; a shape has one colour, and its outline tells it apart without."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    number: bool = False
    prose: bool = False

    @property
    def kind(self) -> str | None:
        """Its class."""
        return "number" if self.number else "prose" if self.prose else None


def icon(state: str, label: str | None = None) -> Html:
    """The shape of a state; with `label`, a name for those who do not see it."""
    shape = _SHAPES.get(state, "none")
    drawing = el("svg", el("use", href=f"#i-{shape}"), class_=f"icon {shape}", aria_hidden="true", focusable="false")
    if label is None:
        return drawing
    return join(drawing, el("span", label, class_="unseen"))


def chip(state: str, word: str | None = None) -> Html:
    """A state as shape, word and colour."""
    text = (word or state).replace("_", " ")
    return el("span", icon(state), el("span", text), class_=f"chip {_SHAPES.get(state, 'none')}")


def instant(at: datetime | None, *, day: bool = False) -> Html:
    """An instant in UTC; the day as well where it matters."""
    if at is None:
        return Html(_NOTHING)
    shown = f"{at:%Y-%m-%d %H:%M:%S}" if day else f"{at:%H:%M:%S}"
    exact = at.isoformat().replace("+00:00", "Z")
    return el("time", shown, datetime=exact, title=f"{at:%Y-%m-%d %H:%M:%S} UTC")


def count(number: int | None) -> str:
    """A count; what is not known is no zero."""
    return _NOTHING if number is None else f"{number:,}"


def counts(by_code: dict[str, int]) -> str:
    """Counts by code, the largest first."""
    largest_first = sorted(by_code.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{number:,} {code}" for code, number in largest_first if number)


def session_link(session_id: str) -> Html:
    """The way to a session's own page."""
    return el("a", session_id, href=f"/sessions/{quote(session_id, safe='')}", class_="id")


def code(text: str) -> Html:
    """A command, or a part of one."""
    return el("code", text)


def nothing(text: str, *, complete: bool) -> Html:
    """That there is nothing, where that is known; else that it is not."""
    return el("p", text if complete else "Not known: the topics have not been read to their end.", class_="empty")


def note(*children: Any) -> Html:
    """A remark below a heading or a table."""
    return el("p", *children, class_="note")


def section(name: str, heading: str, *children: Any) -> Html:
    """A part of the page; its name is its anchor, and what the live updates replace."""
    return el("section", el("h2", heading, id=f"{name}-heading"), *children, id=name, aria_labelledby=f"{name}-heading")


def folded(rest: int, what: str, inside: Html) -> Html | None:
    """A table's further lines, to be unfolded; None where there are none."""
    if not rest:
        return None
    return el("details", el("summary", f"Show {rest:,} more {what}"), inside, data_key=f"more-{what}")


def table(
    caption: str, columns: Sequence[Column], rows: Iterable[tuple[str, Sequence[Any]]], *, told: bool = False
) -> Html:
    """A table with a caption, which is not shown where a heading has `told` the same.

    Each row has a key, which keeps it the same row over updates.

    Roles are said although they are the elements' own: as cards on a narrow screen these would lose them.
    """
    head = [el("th", c.name, scope="col", role="columnheader", class_=c.kind) for c in columns]
    body = []
    for key, cells in rows:
        first, *rest = zip(columns, cells, strict=True)
        written = [el("th", el("span", first[1]), scope="row", role="rowheader", data_label=first[0].name)]
        written += [
            el("td", el("span", cell), role="cell", data_label=c.name, class_=_kind(c, cell)) for c, cell in rest
        ]
        body.append(el("tr", *written, role="row", data_key=key))
    return el(
        "table",
        el("caption", el("span", caption, class_="unseen" if told else None)),
        el("thead", el("tr", *head, role="row"), role="rowgroup"),
        el("tbody", *body, role="rowgroup"),
        role="table",
    )


def _kind(column: Column, cell: Any) -> str | None:
    """The class of a cell; one that says nothing needs no line on a card."""
    words = [word for word in (column.kind, "nothing" if cell == _NOTHING else None) if word]
    return " ".join(words) or None
