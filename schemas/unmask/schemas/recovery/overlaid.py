"""The three timelines of a session over one another, in order, with its automatic choices and what is found."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from unmask.schemas.codes import Finding, SelectionTimeline
from unmask.schemas.recovery.recovered import Recovery
from unmask.schemas.recovery.rules import Walk
from unmask.schemas.recovery.selection import Selection, in_order

__all__ = ["Moment", "Overlay", "overlay"]


@dataclass(frozen=True, slots=True)
class Moment:
    """One selection, and what is in force after it."""

    selection: Selection
    live: str | None
    """The profile that was used last and not taken back since."""
    persisted: str | None
    """The profile that is written down for later turns."""
    persisted_source: str | None
    """Who chose that one."""
    recovery: int | None
    """Which of the recoveries it belongs to."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """All that a session's selections tell."""

    moments: tuple[Moment, ...]
    recoveries: tuple[Recovery, ...]
    findings: tuple[Finding, ...]
    """Each once, in the order of the enum."""
    user_profile: str | None
    """What the user chose last, for the session: what a successor begins with."""


def overlay(
    selections: Iterable[Mapping[str, Any]],
    *,
    as_of: int | None = None,
    over: bool = False,
    unknown_through: int | None = None,
) -> Overlay:
    """What became of the automatic choices among these selections, which may come in any order and more than once.

    `as_of` is the instant (microseconds) up to which nothing more happened, by default that of the newest selection;
    `over` says that the session has ended. Selections up to `unknown_through` may be missing. Raises KeyError where a
    selection lacks what each has.
    """
    ordered = in_order(selections)
    walk = Walk(ordered, unknown_through)
    lanes = _Lanes()
    followed = [(selection, walk.step(selection), lanes.after(selection)) for selection in ordered]
    newest = ordered[-1].occurred_at if ordered else 0
    walk.finish(newest if as_of is None else max(as_of, newest), over=over)
    places = {id(choice): place for place, choice in enumerate(walk.choices)}
    found = walk.findings()
    return Overlay(
        moments=tuple(
            Moment(selection, *in_force, None if choice is None else places[id(choice)])
            for selection, choice, in_force in followed
        ),
        recoveries=tuple(choice.finished() for choice in walk.choices),
        findings=tuple(finding for finding in Finding if finding in found),
        user_profile=walk.user_profile,
    )


class _Lanes:
    """What the records say is in force, on the timelines of what is used and of what is written down."""

    def __init__(self) -> None:
        self._live: str | None = None
        self._persisted: tuple[str, str] | None = None

    def after(self, selection: Selection) -> tuple[str | None, str | None, str | None]:
        if selection.timeline == SelectionTimeline.LIVE:
            self._live = selection.profile
        elif selection.timeline == SelectionTimeline.PERSISTED:
            self._persisted = (selection.profile, selection.source)
        elif selection.timeline == SelectionTimeline.CLEARED:
            if self._live == selection.profile:
                self._live = None
            if self._persisted is not None and self._persisted[0] == selection.profile:
                self._persisted = None
        return self._live, *(self._persisted or (None, None))
