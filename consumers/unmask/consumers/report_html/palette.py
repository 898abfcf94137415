"""Colours, hatches and markers: told apart without colour, and by whoever sees colours otherwise.

Colours are Okabe and Ito's. A figure is drawn with fixed colours, which become the page's own variables, so that it
follows the page from light to dark and onto paper.
"""

from typing import NamedTuple

from unmask.schemas.codes import Evidence

__all__ = ["GRID", "INK", "LINES", "MARKS", "PAPER", "SERIES", "STATES", "VARIABLES", "StateLook"]

# Colours that no plot of ours needs, so that they can be found again in the drawing.
INK, GRID, PAPER = "#010101", "#020202", "#030303"

SERIES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
MARKS = ("o", "s", "^", "D", "v", "P")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)))


class StateLook(NamedTuple):
    """How a state of evidence is drawn."""

    colour: str
    hatch: str
    mark: str
    """Stands beside its name in text."""


STATES = {
    Evidence.COMPLETE: StateLook("#117733", "", "✓"),
    Evidence.LOSSY: StateLook("#882255", "////", "✕"),
    Evidence.PENDING: StateLook("#ddcc77", "||||", "…"),
    Evidence.ABSENT: StateLook("#888889", "xxxx", "○"),
}

VARIABLES = {
    INK: "var(--ink)",
    GRID: "var(--grid)",
    PAPER: "var(--paper)",
    **{colour: f"var(--series-{number})" for number, colour in enumerate(SERIES)},
    **{look.colour: f"var(--{str(state).lower()})" for state, look in STATES.items()},
}
"""What each drawn colour becomes on the page."""
