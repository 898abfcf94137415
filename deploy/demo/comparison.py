"""A comparison under way: how many values were looked at, and which are not what they must be."""

from dataclasses import dataclass, field

__all__ = ["Comparison", "Mismatch"]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Something that is published and must be otherwise."""

    about: str
    what: str
    expected: str
    published: str


@dataclass(slots=True)
class Comparison:
    """Counts what was compared, and keeps what differs."""

    compared: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)

    def equal(self, about: str, what: str, expected: object, published: object) -> None:
        """The published value must be the expected one."""
        self.holds(about, what, str(expected), str(published), expected == published)

    def holds(self, about: str, what: str, expected: str, published: str, outcome: bool) -> None:
        """Something more than equality was looked at: its outcome, and both sides in words."""
        self.compared += 1
        if not outcome:
            self.mismatches.append(Mismatch(about, what, expected, published))
