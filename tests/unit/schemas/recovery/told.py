"""A session's selections, told in short: each a second after the one before it."""

from typing import Any

from unmask.schemas.recovery import Overlay, overlay

__all__ = ["SECOND", "START", "Told"]

START = 1_767_225_600_000_000
SECOND = 1_000_000


class Told:
    """Collects what a host would record."""

    def __init__(self) -> None:
        self.selections: list[dict[str, Any]] = []

    @property
    def now(self) -> int:
        """Of the next selection, in microseconds."""
        return START + len(self.selections) * SECOND

    def auto(self, turn: int, profile: str = "backup", timeline: str = "live", **said: Any) -> "Told":
        """An automatic selection."""
        return self._add(turn, profile, "auto", timeline, {"scope": "turn", **said})

    def user(self, turn: int, profile: str = "chosen", timeline: str = "live", **said: Any) -> "Told":
        """A selection of the user's, for the session."""
        return self._add(turn, profile, "user", timeline, {"scope": "session", **said})

    def cleared(self, turn: int, by: str, profile: str = "backup", source: str = "auto") -> "Told":
        """Something is taken back."""
        return self._add(turn, profile, source, "cleared", {"scope": "turn", "cleared_by": by})

    def seen(self, **known: Any) -> Overlay:
        """What is made of it."""
        return overlay(self.selections, **known)

    def findings(self, **known: Any) -> list[str]:
        """What is found."""
        return [str(finding) for finding in self.seen(**known).findings]

    def states(self, **known: Any) -> list[str]:
        """Of the recoveries."""
        return [recovery.state for recovery in self.seen(**known).recoveries]

    def _add(self, turn: int, profile: str, source: str, timeline: str, said: dict[str, Any]) -> "Told":
        self.selections.append(
            {
                "emitter_id": "e1",
                "occurred_at": self.now,
                "turn": turn,
                "profile": profile,
                "source": source,
                "timeline": timeline,
                "cleared_by": None,
                "reason_code": None,
                "emergency": False,
                "expires_at": None,
                **said,
            }
        )
        return self
