"""The span: the unbroken run of healthy hours that reaches to now, and what broke off whatever was before it.

An hour counts where all families of the combination are COMPLETE and no fallback is known. Nothing that was not
published, not settled, not witnessed or not readable counts, and each of these begins the clock anew.
"""

from dataclasses import dataclass

from unmask.consumers.eligibility.answers import Fault
from unmask.consumers.eligibility.facts import Hour, Timeline
from unmask.consumers.eligibility.policy import HOUR, WINDOW_SECONDS
from unmask.schemas.codes import Evidence
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import window_start

__all__ = ["PARTS", "Restart", "Span", "faults_of", "find_span", "last_witnessed"]

PARTS = {
    "release_line": "release line",
    "event_contract": "event contract",
    "telemetry_backend": "telemetry backend",
    "redaction_policy": "redaction policy",
    "switchboard": "switchboard composition",
}
"""What a combination is made of, in words."""

_UNKNOWN = Hour()


@dataclass(frozen=True, slots=True)
class Restart:
    """What the clock began anew after."""

    hour: int | None
    """Start of the hour that broke the span; None where nothing before the span was looked at."""
    faults: tuple[Fault, ...]
    previous: Scope | None = None
    """The combination that counted the capability before this one did."""
    changed: tuple[str, ...] = ()
    """In which of its parts that one was another."""


@dataclass(frozen=True, slots=True)
class Span:
    """The healthy hours up to now: [start, end), which are equal where there are none."""

    start: int
    """Where there are none: when the next one can begin at the earliest."""
    end: int
    attempts: int
    restart: Restart

    @property
    def length(self) -> int:
        """Microseconds."""
        return max(0, self.end - self.start)


def faults_of(hour: Hour, *, unsettled: bool = False) -> tuple[Fault, ...]:
    """Everything that keeps an hour out of a healthy span; `unsettled` is one that may still be PENDING."""
    state = hour.state
    found = {
        Fault.FALLBACK: hour.fallbacks > 0,
        Fault.UNATTRIBUTED: hour.unattributed > 0,
        Fault.LOSSY: state is Evidence.LOSSY or hour.lost,
        Fault.ABSENT: state is Evidence.ABSENT,
        Fault.PENDING: state is Evidence.PENDING and not unsettled,
        Fault.UNRECORDED: state is None,
        Fault.UNREADABLE: not hour.readable,
    }
    return tuple(fault for fault, there in found.items() if there)


def find_span(timeline: Timeline, as_of: int) -> Span:
    """The healthy span that reaches to `as_of`.

    The hour that goes on, and the one before it, may be PENDING: they add nothing, and break the span where they lack
    a record or hold a fault. The first hour after one that was not witnessed throughout is left out, since the
    combination may have been there for a part of it only.
    """
    hours = timeline.hours
    current = window_start(as_of, WINDOW_SECONDS)
    start = current
    end = current
    broken: int | None = None
    while start >= timeline.read_from:
        hour = hours.get(start, _UNKNOWN)
        if faults_of(hour, unsettled=start >= current - HOUR):
            broken = start
            break
        if hour.state is Evidence.PENDING or start == current:
            end = start
        start -= HOUR
    first = start + HOUR
    restart = _restart(timeline, broken, first if first < end else None)
    whole = broken is not None and _whole(hours.get(broken, _UNKNOWN), unsettled=broken >= current - HOUR)
    begin = first if whole else first + HOUR
    counted = range(begin, end, HOUR)
    if not counted:
        return Span(max(begin, end), max(begin, end), 0, restart)
    return Span(begin, end, sum(hours[at].attempts for at in counted), restart)


def _whole(hour: Hour, *, unsettled: bool) -> bool:
    """Whether the combination was witnessed to the hour's end, or may still turn out to have been."""
    return hour.state is Evidence.COMPLETE or (hour.state is Evidence.PENDING and unsettled and not hour.lost)


def last_witnessed(timeline: Timeline, before: int) -> int | None:
    """Start of the last hour before an instant in which the combination was witnessed."""
    seen = (at for at, hour in timeline.hours.items() if at < before and hour.state not in (None, Evidence.ABSENT))
    return max(seen, default=None)


def _restart(timeline: Timeline, broken: int | None, first: int | None) -> Restart:
    """`first` is the hour after the one that broke the span, None where that one has not begun or is not settled."""
    if broken is None:
        return Restart(None, ())
    faults = faults_of(timeline.hours.get(broken, _UNKNOWN))
    if first is None or timeline.scope is None or not {Fault.ABSENT, Fault.UNRECORDED} & set(faults):
        return Restart(broken, faults)
    # Deployed for the first time, or again: whoever was there in between was there before.
    own = last_witnessed(timeline, broken)
    before = {seen.scope for seen in timeline.others if seen.start < first and (own is None or own < seen.start)}
    if not before:
        return Restart(broken, faults)
    # Of several, that which went nearest to when this one came; others go on beside it.
    went = {seen.scope: seen.start for seen in timeline.others}
    previous = min(before, key=lambda scope: (abs(went[scope] - first), scope))
    changed = tuple(name for name, old, new in zip(Scope._fields, previous, timeline.scope, strict=True) if old != new)
    return Restart(broken, faults, previous, changed)
