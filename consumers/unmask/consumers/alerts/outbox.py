"""What every outbox does: holds the changes that a receiver has yet to take, and says what to send next.

Pure: no clock, no I/O. `now` is monotonic, in seconds.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from unmask.consumers.alerts.change import Change, Place
from unmask.schemas.models import Alert

__all__ = ["Content", "Outbox", "Parcel"]


@dataclass(frozen=True, slots=True)
class Content:
    """The content of one request."""

    body: bytes
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Parcel:
    """One request that was begun, and what it tells of."""

    number: int
    alerts: tuple[Alert, ...]
    fresh: int
    """How many of the alerts, from the first on, changed; the others are repeated."""
    places: tuple[Place, ...]
    """Records that owe nothing any more once the receiver has taken it."""


class Outbox(Protocol):
    """Holds what a receiver has yet to take. Of each alert, what is older is taken first."""

    def add(self, change: Change) -> None:
        """A change that the receiver has to be told."""

    def update(self, alert: Alert, partition: int) -> None:
        """What is known of an alert that was told changed, in a way that is no news."""

    def recall(self, alert: Alert, partition: int) -> None:
        """The receiver was told this before this outbox began; the newest state of an alert comes last."""

    @property
    def recalls_all(self) -> bool:
        """Whether everything that was ever told is to be recalled, and not only what came last."""

    def take(self, now: float) -> Parcel | None:
        """What to send now; None while nothing is due, or nothing may be sent."""

    def pack(self, parcel: Parcel) -> Content:
        """The request for a parcel, as of this moment."""

    def accepted(self, parcel: Parcel, now: float) -> None:
        """The receiver took it."""

    def failed(self, parcel: Parcel, now: float, asked_for: float | None) -> float:
        """The receiver did not take it and may do so later; seconds until anything is sent again."""

    def refused(self, parcel: Parcel, now: float) -> bool:
        """The receiver will never take it as it is. Whether it is given up; it is not where parts of it may be good."""

    def forget(self, partitions: Collection[int]) -> None:
        """Partitions are another watcher's now."""

    @property
    def waiting(self) -> int:
        """Changes that the receiver has yet to take."""

    @property
    def full(self) -> bool:
        """Whether no more should be read for now."""

    def complaint(self) -> str | None:
        """Something that a person should know, once."""
