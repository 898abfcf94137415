"""Checks under way: how many values were compared, and each that is not what it must be."""

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["Checks"]

_KEPT = 200


@dataclass(slots=True)
class Checks:
    """Counts comparisons by subject, and keeps what differs."""

    compared: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)
    """The first of them, in words."""

    def equal(self, subject: str, about: str, expected: object, found: object) -> None:
        """Both must be the same."""
        self.holds(subject, expected == found, f"{about}: expected {expected}, found {found}")

    def holds(self, subject: str, outcome: bool, otherwise: str) -> None:
        """Something must be so; `otherwise` says what it is instead."""
        self.compared[subject] += 1
        if not outcome:
            self.failed[subject] += 1
            if len(self.differences) < _KEPT:
                self.differences.append(f"{subject}: {otherwise}")

    @property
    def good(self) -> bool:
        """Whether nothing differs."""
        return not self.failed
