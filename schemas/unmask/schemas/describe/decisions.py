"""Decision tables from code: every combination of conditions is tried, and rows that decide alike become one."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

from unmask.schemas.describe.markdown import table

__all__ = ["decision_table", "decisions"]

Cells = tuple[frozenset[str], ...]


def decisions(
    conditions: Mapping[str, Sequence[str]], decide: Callable[..., tuple[str, ...] | None]
) -> list[tuple[Cells, tuple[str, ...]]]:
    """Rows of values per condition, with what `decide` says of all their combinations; None there is never reached.

    `decide` is called with one value of each condition, in their order.
    """
    rows: dict[Cells, tuple[str, ...]] = {}
    for values in product(*conditions.values()):
        decided = decide(*values)
        if decided is not None:
            rows[tuple(frozenset((value,)) for value in values)] = decided
    before = 0
    while before != len(rows):
        before = len(rows)
        for place in reversed(range(len(conditions))):
            rows = _merged(rows, place)
    return list(rows.items())


def decision_table(
    conditions: Mapping[str, Sequence[str]],
    outcomes: Sequence[str],
    decide: Callable[..., tuple[str, ...] | None],
) -> str:
    """The rows as Markdown; `any` where a condition does not matter."""
    lines = []
    for cells, decided in decisions(conditions, decide):
        told = [_cell(cell, values) for cell, values in zip(cells, conditions.values(), strict=True)]
        lines.append([*told, *(f"`{part}`" for part in decided)])
    return table((*conditions, *outcomes), lines)


def _merged(rows: Mapping[Cells, tuple[str, ...]], place: int) -> dict[Cells, tuple[str, ...]]:
    """Rows that differ in one condition only and decide alike, put together."""
    found: dict[tuple[Cells, tuple[str, ...]], frozenset[str]] = {}
    for cells, decided in rows.items():
        others = (cells[:place] + cells[place + 1 :], decided)
        found[others] = found.get(others, frozenset()) | cells[place]
    return {(*others[:place], cell, *others[place:]): decided for (others, decided), cell in found.items()}


def _cell(cell: frozenset[str], values: Sequence[str]) -> str:
    return "any" if len(cell) == len(values) else " or ".join(value for value in values if value in cell)
