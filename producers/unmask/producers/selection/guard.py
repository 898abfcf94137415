"""The guard of a session's selections: what was chosen to recover holds for its turn, and only the user's choice lasts.

It decides, and it records what it decides on the right timeline. Unlike telemetry it may refuse, by named errors.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from unmask.producers.selection.errors import InvalidProfiles, NotAPreference
from unmask.producers.selection.profiles import Profiles
from unmask.producers.selection.turn import Turn
from unmask.schemas.codes import ClearedBy, ReasonCode, SelectionScope, SelectionSource, SelectionTimeline

__all__ = ["SelectionRecorder", "Selections"]


class SelectionRecorder(Protocol):
    """Takes records at once, and never raises."""

    def record_selection(
        self,
        session_id: object,
        turn: int,
        profile: str,
        *,
        source: str,
        scope: str,
        timeline: str,
        cleared_by: str | None = None,
        reason_code: object = None,
        emergency: bool = False,
        expires_at: datetime | None = None,
    ) -> None:
        """A profile was used in a turn, written down for later turns, or taken back."""
        ...


@dataclass(frozen=True, slots=True)
class Window:
    """An automatic choice for a stated time."""

    profile: str
    expires_at: datetime


class Selections:
    """Which profile each turn of one session begins with, and what may follow when that fails.

    Turns come one after another; it takes no lock. `preference` is the profile that the user chose last, by its name or
    as the token that the gate's admission hands over. `persist` is the host's own function that writes a preference
    down (a profile's name, or None to forget it): it is called for the user's choices only, and what it raises reaches
    the host before anything is recorded. `clock` gives an aware datetime.
    """

    def __init__(
        self,
        recorder: SelectionRecorder,
        session: object,
        *,
        candidates: Iterable[str],
        emergency: Iterable[str] = (),
        preference: str | None = None,
        persist: Callable[[str | None], object] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Raises InvalidProfiles."""
        self._recorder = recorder
        self._session = session
        self._persist = persist
        self._clock = clock
        self._window: Window | None = None
        self._handed_over = preference
        self.profiles = Profiles(candidates, emergency)
        named = None if preference is None else self.profiles.named(preference)
        if named is not None and self.profiles.is_emergency(named):
            named = None
        self._preference = named
        self.unmet_preference = preference if named is None else None
        """The user's last choice, where the session does not offer it, or offers it for emergencies only."""

    @property
    def preference(self) -> str | None:
        """What the user chose last."""
        return self._preference

    @property
    def primary(self) -> str:
        """What is used while nothing fails: the user's choice, or else the first candidate."""
        return self._preference or self.profiles.candidates[0]

    def turn(self, turn: int) -> Turn:
        """A turn begins: with the profile of a window that runs, or else with the primary."""
        self._say_what_was_handed_over(turn)
        window = self._running(turn)
        begun = Turn(self, turn, self.primary if window is None else window.profile)
        self._used(begun, window)
        return begun

    def prefer(self, turn: int, profile: str, *, source: str = SelectionSource.USER) -> str:
        """The user chose a profile for all that follows: write it down. Ends what was chosen automatically.

        Raises NotAPreference for any other source and for an emergency profile, InvalidProfiles for one that is not
        offered.
        """
        if source != SelectionSource.USER:
            raise NotAPreference(
                "only a user's choice is written down as a preference; an automatic one is returned for its turn "
                "(Turn.recover), or for a window that says when it ends"
            )
        chosen = self._offered(profile)
        if self.profiles.is_emergency(chosen):
            raise NotAPreference(
                "a profile for emergencies is no preference; where users may prefer it, make it a candidate"
            )
        if self._persist is not None:
            self._persist(chosen)
        self._handed_over = None
        self._preference, self.unmet_preference, self._window = chosen, None, None
        self._record(
            turn, chosen, source=SelectionSource.USER, scope=SelectionScope.SESSION,
            timeline=SelectionTimeline.PERSISTED,
        )  # fmt: skip
        return chosen

    def forget(self, turn: int) -> None:
        """The user takes the preference back: later turns begin with the first candidate."""
        self._say_what_was_handed_over(turn)
        if self._persist is not None:
            self._persist(None)
        forgotten, self._preference = self._preference or self.unmet_preference, None
        self.unmet_preference = None
        if forgotten is not None:
            self._record(
                turn, forgotten, source=SelectionSource.USER, scope=SelectionScope.SESSION,
                timeline=SelectionTimeline.CLEARED, cleared_by=ClearedBy.USER,
            )  # fmt: skip

    def clear(self, turn: int, *, by: str = ClearedBy.RUNTIME, reason: object = None) -> str | None:
        """End the automatic choice of a window before its time; its profile, None where none runs.

        `by` is `runtime` where its reason is over or it failed itself (`reason`), `user`, or `watchdog` for a janitor.
        """
        window, self._window = self._window, None
        if window is None:
            return None
        self._record(
            turn, window.profile, source=SelectionSource.AUTO, scope=SelectionScope.WINDOW,
            timeline=SelectionTimeline.CLEARED, cleared_by=by, reason_code=reason,
        )  # fmt: skip
        return window.profile

    def found(self, turn: int, profile: str, *, source: str) -> str | None:
        """What the host finds written down, by whatever wrote it: the preference, where a user chose it; else None.

        An automatic choice that was left there is not gone on with, and is recorded as taken back by the watchdog; the
        host removes it (`persist` is called with what the user chose instead, or None).
        """
        if source == SelectionSource.USER:
            named = self.profiles.named(profile)
            if named is None or self.profiles.is_emergency(named):
                self.unmet_preference = profile
                return None
            self._preference, self.unmet_preference = named, None
            return named
        if self._persist is not None:
            self._persist(self._preference)
        self._record(
            turn, profile, source=SelectionSource.AUTO, scope=SelectionScope.SESSION,
            timeline=SelectionTimeline.CLEARED, cleared_by=ClearedBy.WATCHDOG,
        )  # fmt: skip
        if self._persist is not None and self._preference is not None:
            # What stands written again is on record again.
            self._record(
                turn, self._preference, source=SelectionSource.USER, scope=SelectionScope.SESSION,
                timeline=SelectionTimeline.PERSISTED,
            )  # fmt: skip
        return None

    # -- called by its turns

    def open_window(self, profile: str, until: datetime) -> None:
        """Later turns begin with this automatic choice, up to a stated instant."""
        self._window = Window(profile, until)

    def end_of(self, window: timedelta) -> datetime:
        """When a window that begins now ends; the last instant that there is where it is longer than that."""
        now = self._clock()
        try:
            return now + max(window, timedelta(0))
        except OverflowError:
            return datetime.max.replace(tzinfo=now.tzinfo)

    def offered(self, profile: str) -> str:
        """The profile of this name or token. Raises InvalidProfiles."""
        return self._offered(profile)

    def used(self, turn: Turn) -> None:
        """A turn goes back to what it would use if nothing failed."""
        self._used(turn, None)

    def record(
        self, turn: int, profile: str, *, source: SelectionSource, scope: SelectionScope, reason: object = None,
        expires_at: datetime | None = None,
    ) -> None:  # fmt: skip
        """A turn uses a profile."""
        self._record(
            turn, profile, source=source, scope=scope, timeline=SelectionTimeline.LIVE, reason_code=reason,
            expires_at=expires_at,
        )  # fmt: skip

    # --

    def _used(self, turn: Turn, window: Window | None) -> None:
        if window is not None:
            self.record(
                turn.number, window.profile, source=SelectionSource.AUTO, scope=SelectionScope.WINDOW,
                expires_at=window.expires_at,
            )  # fmt: skip
        elif self._preference is not None:
            self.record(turn.number, turn.profile, source=SelectionSource.USER, scope=SelectionScope.SESSION)
        else:
            # What stands in for a preference that is not offered has a reason; the host's default needs none.
            unmet = None if self.unmet_preference is None else ReasonCode.CAPABILITY_UNSUPPORTED
            self.record(turn.number, turn.profile, source=SelectionSource.AUTO, scope=SelectionScope.TURN, reason=unmet)

    def _say_what_was_handed_over(self, turn: int) -> None:
        """Once: it stands written where it came from, and whoever succeeds this session begins with it again."""
        handed_over, self._handed_over = self._handed_over, None
        if handed_over is not None:
            self._record(
                turn, handed_over, source=SelectionSource.USER, scope=SelectionScope.SESSION,
                timeline=SelectionTimeline.PERSISTED,
            )  # fmt: skip

    def _running(self, turn: int) -> Window | None:
        window = self._window
        if window is not None and self._clock() >= window.expires_at:
            # It has ended by itself; that it was noticed belongs to the timeline of cleanup.
            self.clear(turn)
            return None
        return window

    def _offered(self, profile: str) -> str:
        named = self.profiles.named(profile)
        if named is None:
            raise InvalidProfiles("this profile is neither a candidate of the session nor one for emergencies")
        return named

    def _record(self, turn: int, profile: str, **said: Any) -> None:
        emergency = self.profiles.is_emergency(profile)
        self._recorder.record_selection(self._session, turn, profile, emergency=emergency, **said)
