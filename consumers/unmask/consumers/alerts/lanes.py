"""The outbox of a webhook: one request for each change, in order for each alert, and independent between alerts."""

from collections import deque
from collections.abc import Callable, Collection
from datetime import datetime

from unmask.consumers.alerts.change import Change
from unmask.consumers.alerts.outbox import Content, Parcel
from unmask.consumers.alerts.pace import Backoff, Pace
from unmask.consumers.alerts.webhook import IDEMPOTENCY_HEADER, webhook_body
from unmask.schemas.models import Alert

__all__ = ["Lanes"]

_AT_ONCE = 4
_MOST_WAITING = 1_000


class _Lane:
    """The changes of one alert."""

    __slots__ = ("changes", "due", "failures", "under_way")

    def __init__(self) -> None:
        self.changes: deque[Change] = deque()
        self.due = 0.0
        self.failures = 0
        self.under_way: int | None = None


class Lanes:
    """An Outbox. An alert whose request the receiver cannot take holds back itself alone.

    `wall_clock` gives the time that requests are stamped with, `jitter` a random number of [0, 1).
    """

    def __init__(
        self,
        namespace: str,
        *,
        wall_clock: Callable[[], datetime],
        jitter: Callable[[], float],
        backoff: Backoff | None = None,
        most_waiting: int = _MOST_WAITING,
    ) -> None:
        self._namespace = namespace
        self._wall_clock = wall_clock
        self._jitter = jitter
        self._backoff = backoff or Backoff()
        self._pace = Pace(self._backoff, at_once=_AT_ONCE)
        self._most_waiting = most_waiting
        self._lanes: dict[str, _Lane] = {}
        self._under_way: dict[int, str] = {}
        self._waiting = 0
        self._number = 0

    def add(self, change: Change) -> None:
        """Behind all other changes of its alert."""
        self._lanes.setdefault(change.alert.alert_id, _Lane()).changes.append(change)
        self._waiting += 1

    def update(self, alert: Alert, partition: int) -> None:
        """A webhook is told of changes alone."""

    def recall(self, alert: Alert, partition: int) -> None:
        """A webhook is never told again."""

    @property
    def recalls_all(self) -> bool:
        """No: nothing is done with it."""
        return False

    def take(self, now: float) -> Parcel | None:
        """The oldest change of the alert that has been due for longest."""
        if not self._pace.may_send(now, len(self._under_way)):
            return None
        free = ((identity, lane) for identity, lane in self._lanes.items() if lane.under_way is None)
        identity, lane = min(free, key=lambda found: found[1].due, default=("", _Lane()))
        if not lane.changes or lane.due > now:
            return None
        self._number += 1
        lane.under_way = self._number
        self._under_way[self._number] = identity
        change = lane.changes[0]
        return Parcel(self._number, (change.alert,), 1, (change.place,))

    def pack(self, parcel: Parcel) -> Content:
        """The body, and its idempotency key as a header."""
        body = webhook_body(self._namespace, parcel.alerts[0], self._wall_clock())
        return Content(body.model_dump_json().encode(), {IDEMPOTENCY_HEADER: body.idempotency_key})

    def accepted(self, parcel: Parcel, now: float) -> None:
        """Goes on with the alert's next change."""
        self._pace.accepted()
        self._over(parcel, now)

    def failed(self, parcel: Parcel, now: float, asked_for: float | None) -> float:
        """The same change is due again later, after other alerts have had their turn."""
        pause = self._pace.failed(now, self._jitter(), asked_for)
        identity = self._under_way.pop(parcel.number)
        lane = self._lanes.get(identity)
        if lane is not None and lane.under_way == parcel.number:
            lane.under_way = None
            lane.failures += 1
            lane.due = now + max(pause, self._backoff.delay(lane.failures, self._jitter()))
        return pause

    def refused(self, parcel: Parcel, now: float) -> bool:
        """Given up; goes on with the alert's next change."""
        self._pace.accepted()
        self._over(parcel, now)
        return True

    def forget(self, partitions: Collection[int]) -> None:
        """Drops their changes."""
        for identity, lane in list(self._lanes.items()):
            kept = deque(change for change in lane.changes if change.place.partition not in partitions)
            self._waiting -= len(lane.changes) - len(kept)
            if not kept or kept[0] is not lane.changes[0]:
                lane.under_way = None  # its answer is of no concern any more
            lane.changes = kept
            if not kept:
                del self._lanes[identity]

    @property
    def waiting(self) -> int:
        """Changes that were not taken yet."""
        return self._waiting

    @property
    def full(self) -> bool:
        """Whether as many wait as may; the topic itself keeps what follows."""
        return self._waiting >= self._most_waiting

    def complaint(self) -> str | None:
        """There is none: what does not fit waits on the topic."""
        return None

    def _over(self, parcel: Parcel, now: float) -> None:
        identity = self._under_way.pop(parcel.number)
        lane = self._lanes.get(identity)
        if lane is None or lane.under_way != parcel.number:
            return  # its partition was given away meanwhile
        lane.changes.popleft()
        self._waiting -= 1
        lane.under_way, lane.failures, lane.due = None, 0, now
        if not lane.changes:
            del self._lanes[identity]
