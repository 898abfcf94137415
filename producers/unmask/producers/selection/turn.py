"""One turn of a session: the profile that it uses now, and what follows when that fails."""

from datetime import timedelta
from typing import TYPE_CHECKING

from unmask.producers.classify_reason import classify_refusal
from unmask.schemas.codes import ReasonCode, SelectionScope, SelectionSource

if TYPE_CHECKING:
    from unmask.producers.selection.guard import Selections

__all__ = ["Turn"]


class Turn:
    """What was chosen in it ends with it, except a window that says when it ends."""

    def __init__(self, selections: "Selections", number: int, profile: str) -> None:
        self._selections = selections
        self._failed: list[str] = []
        self.number = number
        self.profile = profile
        """What the turn uses now."""

    @property
    def failed(self) -> tuple[str, ...]:
        """What failed in this turn so far."""
        return tuple(self._failed)

    def recover(self, error: object, *, window: timedelta | None = None) -> str | None:
        """The profile in use failed: what stands in for it in this turn; None where nothing is left.

        `error` is an exception, a status or a text; only its code is recorded. With `window` later turns begin with the
        substitute too, up to that time from now, unless it is one for emergencies: those are for a turn whose primary
        failed, and no other.
        """
        selections = self._selections
        # An operator who takes a route away is no fault, but it has its reason all the same.
        reason = classify_refusal(error) or ReasonCode.POLICY_REFUSED
        self._failed.append(self.profile)
        chosen = selections.profiles.next_after(selections.primary, self._failed)
        if chosen is None:
            return None
        self.profile = chosen
        if chosen == selections.primary:
            # Only a window kept the turn from beginning with it.
            selections.clear(self.number, reason=reason)
            selections.used(self)
            return chosen
        until = None
        if window is not None and not selections.profiles.is_emergency(chosen):
            until = selections.end_of(window)
            selections.open_window(chosen, until)
        selections.record(
            self.number, chosen, source=SelectionSource.AUTO, reason=reason, expires_at=until,
            scope=SelectionScope.TURN if until is None else SelectionScope.WINDOW,
        )  # fmt: skip
        return chosen

    def choose(self, profile: str) -> str:
        """The user chose a profile for this turn alone, be it one for emergencies. Raises InvalidProfiles."""
        self.profile = chosen = self._selections.offered(profile)
        self._selections.record(self.number, chosen, source=SelectionSource.USER, scope=SelectionScope.TURN)
        return chosen
