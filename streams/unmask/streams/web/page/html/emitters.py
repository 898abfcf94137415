"""The emitters: whether they still speak, and what was lost of each."""

from unmask.streams.web.page.html.parts import (
    Column,
    chip,
    count,
    counts,
    folded,
    instant,
    note,
    nothing,
    section,
    table,
)
from unmask.streams.web.page.markup import Html, el
from unmask.streams.web.page.values import EmitterLine, OverviewAnswer

__all__ = ["emitters_section"]

_COLUMNS = (
    Column("Emitter"),
    Column("State"),
    Column("Release line"),
    Column("Composition"),
    Column("Recorded", number=True),
    Column("Dropped by the host"),
    Column("Missing", number=True),
    Column("Last heard, UTC"),
    Column("Partition", number=True),
)
_SHOWN = 15


def emitters_section(answer: OverviewAnswer) -> Html:
    """Emitters that the ledgers know."""
    if not answer.emitters:
        empty = "No emitter is known. An emitter appears with its first batch, which it sends as soon as it starts."
        return section("emitters", "Emitters", nothing(empty, complete=answer.complete))
    rows = [(line.emitter_id, _cells(line)) for line in answer.emitters]
    cut = f"{answer.emitters_cut:,} more are left out. " if answer.emitters_cut else ""
    remark = "Dropped and missing are of the emitter's whole life; a gap that is filled later is no loss."
    return section(
        "emitters",
        "Emitters",
        table("Emitters; those with losses first", _COLUMNS, rows[:_SHOWN]),
        folded(len(rows[_SHOWN:]), "emitters", table("Further emitters", _COLUMNS, rows[_SHOWN:])),
        note(cut, remark),
    )


def _cells(line: EmitterLine) -> list[object]:
    gaps = f" in {line.gaps} gaps" if line.gaps > 1 else " in 1 gap" if line.gaps else ""
    return [
        el("span", line.emitter_id, class_="id"),
        chip(line.state.value),
        line.release_line,
        el("span", line.composition[:8], title=line.composition, class_="id"),
        count(sum(line.recorded.values())),
        counts(line.dropped) or "0",
        f"{line.missing:,}{gaps}",
        instant(line.last_heard_at),
        str(line.partition),
    ]
