"""The states that a delegation has been in, as far as they are remembered."""

from dataclasses import dataclass

__all__ = ["States"]


@dataclass(frozen=True, slots=True)
class States:
    """The newest states with the measure that each had, the one that was seen last at the end."""

    known: tuple[tuple[str, int | None], ...] = ()

    def __contains__(self, state: str) -> bool:
        return any(known == state for known, _ in self.known)

    def contradicts(self, state: str, measure: int | None) -> bool:
        """Whether the state is known with another measure."""
        return measure is not None and any(
            known == state and had is not None and had != measure for known, had in self.known
        )

    def seen(self, state: str, measure: int | None, limit: int) -> "States":
        """With this one as the newest. Beyond `limit` the one that was not seen for longest is forgotten."""
        if self.known and self.known[-1][0] == state and (measure is None or self.known[-1][1] is not None):
            return self
        had = next((had for known, had in self.known if known == state), None)
        others = tuple(item for item in self.known if item[0] != state)
        return States((*others, (state, measure if had is None else had))[-limit:])
