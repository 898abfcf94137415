"""Which turns of a session are wanted, from what a person types: `7`, `3-9`, `3-`, `-9`."""

import re
from typing import NamedTuple

__all__ = ["ALL_TURNS", "Turns", "TurnsError", "parse_turns"]

_RANGE = re.compile(r"(\d{0,15})(-?)(\d{0,15})")


class TurnsError(ValueError):
    """The turns cannot be understood; the text says how they are given."""


class Turns(NamedTuple):
    """The first and the last turn; None where there is no bound."""

    first: int | None = None
    last: int | None = None

    def holds(self, turn: int) -> bool:
        """Whether a turn is wanted."""
        return self.touches(turn, turn)

    def touches(self, began: int, ended: int | None) -> bool:
        """Whether anything of a stretch of turns is wanted; None for one that has not ended."""
        early = self.last is None or began <= self.last
        return early and (self.first is None or ended is None or ended >= self.first)


ALL_TURNS = Turns()


def parse_turns(text: str | None) -> Turns:
    """The turns behind a text; all of them without one. Raises TurnsError."""
    if text is None:
        return ALL_TURNS
    found = _RANGE.fullmatch(text.strip())
    if found is None or not (found[1] or found[3]):
        raise TurnsError(f"{text!r} are no turns: give one (7), or the first and the last (3-9, 3-, -9)")
    first = int(found[1]) if found[1] else None
    last = (int(found[3]) if found[3] else None) if found[2] else first
    if first is not None and last is not None and first > last:
        raise TurnsError(f"{text!r} begins after its end")
    return Turns(first, last)
