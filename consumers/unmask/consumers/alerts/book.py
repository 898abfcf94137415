"""The outbox of an Alertmanager: every alert that fires, told again and again for as long as it does.

Alertmanager knows states, not changes: of an alert that changed several times it is told the newest state. It takes
an alert for resolved that it has not been told of for a while, and forgets everything when it restarts, so that what
fires is repeated, and what was resolved is repeated for as long as it might still be taken for firing.
"""

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from itertools import islice
from math import inf

from unmask.consumers.alerts.alertmanager import Posted, post_body
from unmask.consumers.alerts.change import Change, Place
from unmask.consumers.alerts.outbox import Content, Parcel
from unmask.consumers.alerts.pace import Backoff, Pace
from unmask.schemas.codes import AlertState
from unmask.schemas.models import Alert

__all__ = ["Book"]

_MOST_IN_A_POST = 100
_MOST_WAITING = 1_000
_MOST_KEPT = 10_000
_REPEATS_IN_TIME = 3
"""How often an alert is told within the time after which it would be taken for resolved."""
_NEVER = inf
_PARTING = timedelta(days=7)
"""For how long an alert fires by itself that is not repeated any more, since there are too many."""


class _Entry:
    """What Alertmanager is to know of one alert."""

    __slots__ = ("alert", "alone", "due", "partition", "places", "resolved_until", "version")

    def __init__(self, alert: Alert, partition: int) -> None:
        self.alert = alert
        self.partition = partition
        self.places: list[Place] = []
        self.due = 0.0
        self.version = 0
        self.alone = False
        self.resolved_until: float | None = None


class Book:
    """An Outbox. One post at a time, so that no older state overtakes a newer one.

    `resolve_after`, in seconds, is how long an alert fires that is not repeated.
    """

    def __init__(
        self,
        namespace: str,
        *,
        wall_clock: Callable[[], datetime],
        jitter: Callable[[], float],
        resolve_after: float = 300.0,
        backoff: Backoff | None = None,
        most_kept: int = _MOST_KEPT,
    ) -> None:
        self._namespace = namespace
        self._wall_clock = wall_clock
        self._jitter = jitter
        self._holds_for = timedelta(seconds=resolve_after)
        self._resolve_after = resolve_after
        # A pause must not outlast the time in which the receiver has to hear of everything that fires.
        self._pace = Pace(backoff or Backoff(longest=min(60.0, resolve_after / _REPEATS_IN_TIME)), at_once=1)
        self._most_kept = most_kept
        self._entries: dict[str, _Entry] = {}
        self._under_way: dict[str, int] = {}
        self._leaving: set[str] = set()
        self._number = 0
        self._version = 0
        self._waiting = 0
        # Nothing is due before this; looking through all alerts for what is due costs more than asking often may.
        self._due = 0.0
        self._let_go = self._complained_of = 0

    def add(self, change: Change) -> None:
        """The state that Alertmanager is to be told next, instead of whatever waited of that alert before."""
        entry = self._renewed(change.alert, change.place.partition)
        entry.places.append(change.place)
        entry.alone = False
        entry.resolved_until = None
        self._waiting += 1

    def update(self, alert: Alert, partition: int) -> None:
        """What is told with the alert's next repetition."""
        known = self._entries.get(alert.alert_id)
        if known is not None:
            known.alert, known.partition = alert, partition
            known.version = self._next_version()

    def recall(self, alert: Alert, partition: int) -> None:
        """What fires is repeated at once, since nobody knows how long ago it was told."""
        if alert.alert_id in self._entries:
            self._drop(alert.alert_id)
        if alert.state is AlertState.FIRING:
            self._renewed(alert, partition)
        for identity in self._too_many():
            self._drop(identity)
            self._let_go += 1

    @property
    def recalls_all(self) -> bool:
        """Yes: what was told long ago may fire still."""
        return True

    def take(self, now: float) -> Parcel | None:
        """What changed, then what is due to be repeated."""
        if now < self._due or not self._pace.may_send(now, len(self._under_way)):
            return None
        due = sorted((e for e in self._entries.values() if e.due <= now), key=lambda e: (not e.places, e.due))
        if not due:
            self._due = min((entry.due for entry in self._entries.values()), default=_NEVER)
            return None
        together = [due[0]] if due[0].alone else [entry for entry in due if not entry.alone][:_MOST_IN_A_POST]
        self._number += 1
        self._under_way = {entry.alert.alert_id: entry.version for entry in together}
        self._leaving = self._too_many()
        places = tuple(place for entry in together for place in entry.places)
        fresh = sum(bool(entry.places) for entry in together)
        return Parcel(self._number, tuple(entry.alert for entry in together), fresh, places)

    def pack(self, parcel: Parcel) -> Content:
        """The alerts as the API takes them."""
        posted = [Posted(a, _PARTING if a.alert_id in self._leaving else self._holds_for) for a in parcel.alerts]
        return Content(post_body(self._namespace, posted, self._wall_clock()), {})

    def accepted(self, parcel: Parcel, now: float) -> None:
        """Told; what fires is due again before it would be taken for resolved."""
        self._pace.accepted()
        self._settle(parcel)
        for entry in self._unchanged():
            entry.due = now + self._resolve_after / _REPEATS_IN_TIME
            entry.alone = False
            self._due = min(self._due, entry.due)
            identity = entry.alert.alert_id
            if entry.alert.state is AlertState.FIRING:
                if identity in self._leaving:
                    self._drop(identity)
                    self._let_go += 1
            elif entry.resolved_until is None:
                entry.resolved_until = now + self._resolve_after
            elif now >= entry.resolved_until:
                self._drop(identity)
        self._under_way = {}

    def failed(self, parcel: Parcel, now: float, asked_for: float | None) -> float:
        """Everything in it is due still."""
        self._under_way = {}
        return self._pace.failed(now, self._jitter(), asked_for)

    def refused(self, parcel: Parcel, now: float) -> bool:
        """One alert alone is given up; of several, each is tried alone, since the fault may be one's only."""
        self._pace.accepted()
        alone = len(parcel.alerts) == 1
        if alone:
            self._settle(parcel)
            for entry in self._unchanged():
                self._drop(entry.alert.alert_id)
        else:
            for identity in self._under_way.keys() & self._entries.keys():
                self._entries[identity].alone = True
        self._under_way = {}
        return alone

    def forget(self, partitions: Collection[int]) -> None:
        """Whoever has them now repeats their alerts."""
        for identity in [identity for identity, e in self._entries.items() if e.partition in partitions]:
            self._drop(identity)

    @property
    def waiting(self) -> int:
        """Changes that were not taken yet."""
        return self._waiting

    @property
    def full(self) -> bool:
        """Whether as many wait as may; the topic itself keeps what follows."""
        return self._waiting >= _MOST_WAITING

    def complaint(self) -> str | None:
        """How many alerts fire that are not repeated, whenever that doubled."""
        if self._let_go < max(1, 2 * self._complained_of):
            return None
        self._complained_of = self._let_go
        return (
            f"More than {self._most_kept:,} alerts fire. The {self._let_go:,} that have not changed for longest are "
            "no longer repeated, and end in Alertmanager when they are resolved, or with its next restart. Carry their "
            "directives out, or raise the thresholds."
        )

    def __len__(self) -> int:
        return len(self._entries)

    def _renewed(self, alert: Alert, partition: int) -> _Entry:
        # Put at the end, so that what has not changed for longest stands first.
        entry = self._entries.pop(alert.alert_id, None) or _Entry(alert, partition)
        entry.alert, entry.partition = alert, partition
        entry.version = self._next_version()
        entry.due = self._due = 0.0
        self._entries[alert.alert_id] = entry
        return entry

    def _next_version(self) -> int:
        # Never used twice, so that the answer to what was forgotten is not taken for one to what came instead.
        self._version += 1
        return self._version

    def _settle(self, parcel: Parcel) -> None:
        told = set(parcel.places)
        for identity in self._under_way.keys() & self._entries.keys():
            entry = self._entries[identity]
            owed = [place for place in entry.places if place not in told]
            self._waiting -= len(entry.places) - len(owed)
            entry.places = owed

    def _unchanged(self) -> list[_Entry]:
        taken = ((self._entries.get(identity), version) for identity, version in self._under_way.items())
        return [entry for entry, version in taken if entry is not None and entry.version == version]

    def _too_many(self) -> set[str]:
        """What fires, was told, and has not changed for longest, where more is kept than may be."""
        surplus = len(self._entries) - self._most_kept
        if surplus <= 0:
            return set()
        told = (i for i, e in self._entries.items() if e.alert.state is AlertState.FIRING and not e.places)
        return set(islice(told, surplus))

    def _drop(self, identity: str) -> None:
        self._waiting -= len(self._entries.pop(identity).places)
