"""A window's own page: its counts by release line, composition and capability."""

from unmask.streams.web.page.html.parts import Column, note, section, table
from unmask.streams.web.page.html.windows import LEGEND, window_cells
from unmask.streams.web.page.markup import Html, el
from unmask.streams.web.page.values import WindowAnswer, WindowLine

__all__ = ["window_sections"]

_COLUMNS = (
    Column("Release line, composition, capability"),
    Column("Evidence"),
    Column("Attempts", number=True),
    Column("Fallbacks", number=True),
    Column("Rate", number=True),
    Column("Masked errors", number=True),
    Column("Sessions ended", number=True),
    Column("Emitters", number=True),
    Column("What to know", prose=True),
)


def window_sections(answer: WindowAnswer) -> dict[str, Html]:
    """The parts of the page, by name."""
    rows = [("whole", [el("strong", "everything"), *window_cells(answer.window)])]
    rows += [(_label(line), [_label(line), *window_cells(line)]) for line in answer.lines]
    cut = note("More lines of this window may exist than are remembered here.") if answer.lines_cut else None
    body = section(
        "window", "Counts and what they prove", LEGEND, table("By what is comparable", _COLUMNS, rows), cut,
        note("Masked errors and sessions are counted by release line and composition, not by capability."),
    )  # fmt: skip
    return {"window": body}


def _label(line: WindowLine) -> str:
    composition = (line.composition or "")[:8]
    return f"{line.release_line} / {composition} / {line.capability or 'all capabilities'}"
