"""Forwarding put together: a receiver, its outbox, the HTTP client, and the group that reads the topic."""

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

from unmask.consumers.alerts.book import Book
from unmask.consumers.alerts.forwarder import Forwarder, Reporter
from unmask.consumers.alerts.lanes import Lanes
from unmask.consumers.alerts.outbox import Outbox
from unmask.consumers.alerts.receiver import Receiver, ReceiverKind
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.topics import DEFAULT_NAMESPACE, Topics

__all__ = ["ForwardSettings", "Outcome", "forward", "forwarding_group"]


@dataclass(frozen=True, slots=True)
class ForwardSettings:
    """Where alerts come from and where they go. Durations are seconds."""

    receiver: Receiver
    namespace: str = DEFAULT_NAMESPACE
    bootstrap: str | None = None
    """By default as KAFKA_BOOTSTRAP_SERVERS says."""
    name: str | None = None
    """Watchers of one name share the work, and go on where another of that name ended; by default the receiver's."""
    standing: bool = True
    """Whether the first start of a name begins with the alerts that fire already."""
    timeout: float = 10.0
    """The longest time that a request may take."""
    resolve_after: float = 300.0
    """After this time without a repetition an Alertmanager takes an alert for resolved."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done."""

    told: int
    """Changes that the receiver took."""
    refused: int
    """Deliveries that it refused for good."""
    waiting: int
    """Changes that were read and not taken; the next start goes on with them."""


def forward(settings: ForwardSettings, reporter: Reporter, done: Callable[[int], bool]) -> Outcome:
    """Forwards until `done`, which is given the number of changes told and asked often.

    Raises BadAddress, ReceiverRefusesAll, a ContractError, and at the start a TopicUnreadable.
    """
    # httpx comes with the extra `cli`; whoever only reads alerts need not have it.
    from unmask.consumers.alerts.poster import Poster

    topic = Topics(settings.namespace).alerts.name
    with Poster(settings.receiver, timeout=settings.timeout) as poster:
        forwarder = Forwarder(
            TopicSource(topic, settings.bootstrap),
            settings.receiver,
            _outbox(settings),
            poster,
            reporter,
            group=forwarding_group(settings),
            standing=settings.standing,
        )
        forwarder.run(lambda: done(forwarder.changes_told))
        return Outcome(forwarder.changes_told, forwarder.refused, forwarder.left_behind)


def forwarding_group(settings: ForwardSettings) -> str:
    """The consumer group. Two receivers have two names; what may be secret in an address is not told by its name."""
    return f"{settings.namespace}.watch.{settings.name or _default_name(settings.receiver)}"


def _default_name(receiver: Receiver) -> str:
    parts = urlsplit(receiver.endpoint)
    about = f"{parts.scheme}://{parts.hostname}:{parts.port}{parts.path}"
    return f"{receiver.kind}-{hashlib.sha256(about.encode()).hexdigest()[:8]}"


def _outbox(settings: ForwardSettings) -> Outbox:
    if settings.receiver.kind is ReceiverKind.WEBHOOK:
        return Lanes(settings.namespace, wall_clock=_now, jitter=random.random)
    return Book(settings.namespace, wall_clock=_now, jitter=random.random, resolve_after=settings.resolve_after)


def _now() -> datetime:
    return datetime.now(UTC)
