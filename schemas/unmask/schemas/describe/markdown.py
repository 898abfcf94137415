"""Markdown tables."""

from collections.abc import Iterable, Sequence

__all__ = ["table"]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars inside cells are escaped, which they must be even inside code."""
    lines = [_line(head), "|" + "---|" * len(head), *map(_line, rows)]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
