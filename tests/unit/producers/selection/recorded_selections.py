"""Takes what a guard records, as an emitter would have it published, by a clock that is set by hand."""

from datetime import UTC, datetime, timedelta
from typing import Any

from unmask.producers import Selections
from unmask.producers.further_events import FurtherCleaner
from unmask.schemas.codes import Family, ReasonCode
from unmask.schemas.recovery import Overlay, overlay

__all__ = ["CANDIDATES", "EMERGENCY", "Recorded"]

CANDIDATES, EMERGENCY = ("large", "small", "other/host"), ("spare",)
_START = datetime(2026, 1, 1, tzinfo=UTC)


class Recorded:
    """A SelectionRecorder."""

    def __init__(self) -> None:
        self.at = _START
        self.selections: list[dict[str, Any]] = []
        self._clean = FurtherCleaner(16)

    def guard(self, **options: Any) -> Selections:
        """A guard that records here."""
        given = {"candidates": CANDIDATES, "emergency": EMERGENCY, **options}
        return Selections(self, "s", clock=lambda: self.at, **given)

    def record_selection(self, session_id: object, turn: int, profile: str, **said: Any) -> None:
        """As an emitter's, at once."""
        self.at += timedelta(milliseconds=1)
        code = said.pop("reason_code", None)
        assert code is None or isinstance(code, ReasonCode)
        said = {"cleared_by": None, "expires_at": None, "emergency": False} | said
        raw = (
            0, session_id, turn, profile, said["source"], said["scope"], said["timeline"], said["cleared_by"],
            code and code.value, said["emergency"], said["expires_at"],
        )  # fmt: skip
        micros = (self.at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        self.selections.append({**self._clean.body(Family.ROUTE_SELECTION, raw), "occurred_at": micros})

    def told(self) -> list[tuple[Any, ...]]:
        """Turn, profile, source, scope and timeline of each."""
        return [
            tuple(each[field] for field in ("turn", "profile", "source", "scope", "timeline"))
            for each in self.selections
        ]

    def seen(self) -> Overlay:
        """What the stream makes of it."""
        return overlay(self.selections, over=True)
