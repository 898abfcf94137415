"""The rules: what becomes of automatic choices, in the order of a session's selections, and what is wrong with them.

What counts as an automatic choice (a recovery):

- A selection whose source is `auto` and that states a fault, is for emergencies, is written down, or stands in a turn
  in which something failed, beside the profile that is used anyway. An automatic selection without all of that is the
  host's default: no recovery, since it replaces nothing. (Where a user takes a choice back, the next one without all
  of that is the default, though it may have stood in before.) What a user chose is never a recovery. A source, scope or
  timeline that this reader does not know is passed over: nobody is accused of what is not understood.

How it ends:

- With its turn, or at the instant that its window states, *by itself* (`expired`), and that is no drift: it is what was
  promised. A choice that was written down for a turn does not end by itself, since a file does not; one that states an
  instant does, since every reader sees that it is over.
- `cleared`, where a record says that it was taken back, and by whom.
- `superseded`, where another choice on record took its place: another profile in the same turn, another one that was
  written down (a session has one preference), or a *new* choice of the user for the session.
- `vanished`, where a later turn went back to what it had used before, though nothing on record ended the choice. A
  record that comes later after all (a clearing, a replacement) is better evidence, and stands instead.
- `open` otherwise.

What is wrong:

- PREFERENCE_DRIFT, by any of these proofs that it outlived its turn or window:
  a later turn uses it or writes it down without a fault of its own and outside of the window that was stated (a record
  without a fault can therefore not extend a window; a second is left to who looked at the clock just before its end);
  the watchdog takes it back after its end, or finds one for the session of which nobody told (a janitor finds only what
  was left behind); somebody else takes back what was written down for a turn only after a later turn has run on
  top of it (before that nobody could inherit it, so that late is early enough); it still stands when the session is
  over; or it is written down to last, which only a user's choice may.
- EMERGENCY_AS_DEFAULT: an emergency profile is used in a turn in which no fault is on record, be it within a window
  (the primary was not even tried), or is written down.
- CLEANUP_UNSEEN: it vanished.
- WATCHDOG_DEPENDENT, of the session: at least one drift was taken back by the watchdog, and none by the runtime or the
  user. If the watchdog were not there, every drift would last.

Where records may be missing (up to `unknown_through`), nothing is concluded from a record that is not there: no finding
of use without a fault in those turns, of vanishing, of standing at the end, or of the watchdog alone, for choices that
began then. What was seen is said all the same.
"""

from collections.abc import Callable

from unmask.schemas.codes import (
    ClearedBy,
    Finding,
    RecoveryState,
    SelectionScope,
    SelectionSource,
    SelectionTimeline,
)
from unmask.schemas.recovery.choice import Choice
from unmask.schemas.recovery.selection import Selection

__all__ = ["Walk"]

_NEVER = -1


class Walk:
    """Takes selections in their order; `choices` are the automatic ones, in the order in which they began."""

    def __init__(self, selections: list[Selection], unknown_through: int | None) -> None:
        """All selections are looked at once for their faults: hosts may tell of one after what it made necessary."""
        self.choices: list[Choice] = []
        self.user_profile: str | None = None
        """What the user chose last, for the session."""
        self._default: str | None = None
        """What is used where no user chose: the last automatic selection that replaced nothing."""
        self._default_open = False
        """Whether the user took a choice back, and the host's default, which may have stood in before, is not known."""
        self._latest: dict[str, Choice] = {}
        self._newest_turn = _NEVER
        self._unknown_through = _NEVER if unknown_through is None else unknown_through
        self._unknown_turn = max(
            (each.turn for each in selections if each.occurred_at <= self._unknown_through), default=_NEVER
        )
        self._faulted = {
            each.turn
            for each in selections
            if each.reason_code is not None and each.timeline != SelectionTimeline.CLEARED
        }

    def step(self, selection: Selection) -> Choice | None:
        """Take the next selection; the automatic choice that it belongs to."""
        self._settle(selection)
        if selection.timeline == SelectionTimeline.LIVE:
            self._newest_turn = max(self._newest_turn, selection.turn)
        if selection.timeline == SelectionTimeline.CLEARED:
            return self._cleared(selection)
        if selection.source == SelectionSource.USER:
            self._user(selection)
            return None
        if selection.source == SelectionSource.AUTO:
            if selection.timeline == SelectionTimeline.LIVE:
                return self._live(selection)
            if selection.timeline == SelectionTimeline.PERSISTED:
                return self._persisted(selection)
        return None

    def finish(self, as_of: int, *, over: bool) -> None:
        """Nothing more comes: see what became of those that are open."""
        for choice in self._open():
            if choice.gone is not None:
                seen = choice.gone
                choice.end(RecoveryState.VANISHED, seen)
                if choice.first.occurred_at > self._unknown_through:
                    choice.findings.add(Finding.CLEANUP_UNSEEN)
            elif choice.until is not None and as_of > choice.until and not choice.drifted:
                choice.expire()
            elif over:
                self._session_is_over(choice, as_of)

    def findings(self) -> set[Finding]:
        """Of the session."""
        found = {finding for choice in self.choices for finding in choice.findings}
        ended = [
            choice for choice in self.choices if choice.drifted and choice.first.occurred_at > self._unknown_through
        ]
        by = {choice.cleared_by for choice in ended if choice.state is RecoveryState.CLEARED}
        if by == {ClearedBy.WATCHDOG.value} and not any(choice.by_user for choice in ended):
            found.add(Finding.WATCHDOG_DEPENDENT)
        return found

    # -- automatic choices

    def _live(self, selection: Selection) -> Choice | None:
        # A default has no reason, is for no emergency, and does not say when it ends.
        unprompted = selection.reason_code is None and not selection.emergency and selection.expires_at is None
        if self._default_open and unprompted and self.user_profile is None:
            self._begin_default(selection)
            return None
        if selection.profile == self._base and selection.reason_code is None:
            self._return_to_base(selection)
            return None
        choice = self._choice_of(selection)
        if choice is None:
            self._begin_default(selection)
            return None
        if selection.emergency:
            choice.emergency = True
            if self._without_fault(selection.turn):
                choice.findings.add(Finding.EMERGENCY_AS_DEFAULT)
        # What is used now is not what was used until now. What was written down stands all the same.
        self._supersede(selection, lambda other: other is not choice and other.persisted_at is None)
        return choice

    def _persisted(self, selection: Selection) -> Choice | None:
        if selection.profile == self.user_profile:
            # Written by the runtime, but the user's own choice.
            return None
        choice = self._choice_of(selection) or self._begin(selection)
        choice.write(selection)
        if choice.lasting:
            choice.drift()
        if selection.emergency:
            choice.emergency = True
            choice.findings.add(Finding.EMERGENCY_AS_DEFAULT)
        self._supersede(selection, lambda other: other is not choice and other.persisted_at is not None)
        return choice

    def _choice_of(self, selection: Selection) -> Choice | None:
        """The choice that this selection makes or goes on with; None where it replaces nothing."""
        known = self._latest.get(selection.profile)
        fault = selection.reason_code is not None or selection.turn in self._faulted
        if known is None:
            beside = fault and self._base is not None and selection.profile != self._base
            new = selection.reason_code is not None or selection.emergency or beside
            return self._begin(selection) if new else None
        if selection.turn <= known.turn:
            if known.closed:
                return self._begin(selection)
            known.reopen()
            if selection.reason_code is not None:
                known.renew(selection)
            return known
        if fault:
            if not known.open:
                return self._begin(selection)
            known.renew(selection)
            return known
        if known.closed:
            known = self._begin(selection)
        elif known.within(selection.occurred_at):
            known.reopen()
            return known
        known.reopen()
        if self._without_fault(selection.turn):
            known.drift()
        return known

    def _begin(self, selection: Selection) -> Choice:
        choice = self._latest[selection.profile] = Choice(selection)
        self.choices.append(choice)
        return choice

    def _cleared(self, selection: Selection) -> Choice | None:
        if selection.source == SelectionSource.USER and selection.profile == self.user_profile:
            # Only the user takes back what the user wants; what another one tidies away is wanted all the same.
            if selection.cleared_by == ClearedBy.USER:
                self.user_profile = None
                self._default_open = True
            return None
        choice = self._latest.get(selection.profile)
        if choice is None:
            choice = self._left_over(selection)
        if choice is None or choice.closed:
            return None
        if selection.cleared_by == ClearedBy.WATCHDOG:
            if self._outlived(choice, selection):
                choice.drift()
        elif not choice.open and choice.persisted_at is None:
            # It had ended by itself, and is tidied up after for safety's sake: nothing proves that it stood.
            return choice
        elif choice.ends_with_turn and choice.passed and selection.turn != choice.turn:
            choice.drift()
        choice.clear(selection)
        return choice

    def _left_over(self, cleared: Selection) -> Choice | None:
        """An automatic choice that was meant to last, and of which nobody told until the watchdog found it."""
        found = cleared.cleared_by == ClearedBy.WATCHDOG and cleared.source == SelectionSource.AUTO
        if not found or cleared.scope != SelectionScope.SESSION:
            return None
        choice = self._begin(cleared)
        choice.drift()
        return choice

    def _outlived(self, choice: Choice, cleared: Selection) -> bool:
        if choice.until is not None:
            return not choice.within(cleared.occurred_at)
        # A watchdog may not know the turn; then the turns that have run tell.
        later = cleared.turn > choice.turn or (cleared.turn < choice.turn and self._newest_turn > choice.turn)
        return choice.ends_with_turn and later

    # -- what the user chose, and what was used before

    def _user(self, selection: Selection) -> None:
        if selection.scope != SelectionScope.SESSION:
            # For a while: it says nothing of what stands behind it.
            if selection.timeline == SelectionTimeline.LIVE:
                self._supersede(
                    selection, lambda other: other.ends_with_turn and not other.drifted and other.persisted_at is None
                )
            return
        new = selection.profile != self.user_profile
        if selection.timeline == SelectionTimeline.PERSISTED or (selection.timeline == SelectionTimeline.LIVE and new):
            self.user_profile = selection.profile
            self._supersede(selection, lambda _: True, user=True)
        elif selection.timeline == SelectionTimeline.LIVE:
            self._return_to_base(selection)

    @property
    def _base(self) -> str | None:
        return self._default if self.user_profile is None else self.user_profile

    def _begin_default(self, selection: Selection) -> None:
        self._default, self._default_open = selection.profile, False
        self._return_to_base(selection)

    def _return_to_base(self, selection: Selection) -> None:
        """A turn uses what would be used if nothing had ever failed."""
        for other in self._open():
            if other.profile == selection.profile:
                continue
            if other.persisted_at is None and not other.drifted:
                other.end(RecoveryState.SUPERSEDED, selection)
            elif selection.turn > other.turn and other.gone is None:
                other.gone = selection

    # --

    def _settle(self, selection: Selection) -> None:
        """End what ends by itself before this selection."""
        for choice in self._open():
            later = selection.turn > choice.turn
            if later and selection.timeline == SelectionTimeline.LIVE:
                choice.passed = True
            if choice.drifted:
                continue
            if choice.until is not None:
                if selection.occurred_at > choice.until:
                    choice.expire()
            elif choice.ends_with_turn and later and choice.persisted_at is None:
                choice.expire()

    def _session_is_over(self, choice: Choice, as_of: int) -> None:
        if choice.persisted_at is not None:
            if choice.ends_with_turn and choice.first.occurred_at > self._unknown_through:
                # Whoever comes next begins with it.
                choice.drift()
        elif not choice.drifted:
            choice.expire()
            if not choice.ends_with_turn:
                choice.ended_at = as_of

    def _supersede(self, selection: Selection, chosen: Callable[[Choice], bool], *, user: bool = False) -> None:
        for other in self._open():
            if chosen(other):
                other.end(RecoveryState.SUPERSEDED, selection, user=user)

    def _open(self) -> list[Choice]:
        return [choice for choice in self._latest.values() if choice.open]

    def _without_fault(self, turn: int) -> bool:
        """Whether it is certain that nothing failed in the turn."""
        return turn not in self._faulted and turn > self._unknown_turn
