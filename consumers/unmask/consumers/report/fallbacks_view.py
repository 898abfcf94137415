"""Fallbacks one by one, from unmask.fallbacks, counted by everything that they say of themselves."""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from unmask.consumers.offsets_in_time import offsets_since
from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.windows_view import NotReadInTime, Progress
from unmask.schemas.errors import DecodeError
from unmask.schemas.scope import Scope
from unmask.schemas.tokens import all_tokens
from unmask.schemas.topics import Topics, namespace_from_environment
from unmask.schemas.windowing import MICROS, window_start
from unmask.schemas.wire import decode

__all__ = ["Fallbacks", "Told", "fallbacks_source", "read_fallbacks"]

_MARGIN = 2 * 3_600 * MICROS
"""How much a fallback's own instant may be ahead of the time at which it was published."""


class Told(NamedTuple):
    """What a fallback says of itself; None where it says nothing. `start` is its line's, microseconds."""

    start: int
    scope: Scope
    capability: str
    reason: str
    entry_point: str | None
    tenant: str | None


@dataclass(slots=True)
class Fallbacks:
    """How many there are of each kind, and how many records could not be read."""

    counts: Counter[Told] = field(default_factory=Counter)
    unreadable: int = 0


def fallbacks_source(bootstrap: str | None = None, namespace: str | None = None) -> TopicSource:
    """Where the fallbacks of a namespace are; by default as the environment says."""
    name = Topics(namespace or namespace_from_environment()).fallbacks.name
    return TopicSource(name, bootstrap, compacted=False)


def read_fallbacks(
    source: TopicSource, seconds: int, since: int, until: int, *, timeout: float, progress: Progress | None = None
) -> Fallbacks:
    """Fallbacks that happened in [since, until), by lines of `seconds`; instants in microseconds.

    What the topic's retention has deleted is not among them. Raises TopicUnreadable.
    """
    deadline = time.monotonic() + timeout
    resume = offsets_since(source, since - _MARGIN, timeout) if since > _MARGIN else None
    found = Fallbacks()
    scopes: dict[tuple[str, ...], Scope] = {}
    with TopicReader(source, resume=resume, committed=True, timeout=max(0.01, deadline - time.monotonic())) as reader:
        total = reader.remaining
        while not reader.caught_up:
            if time.monotonic() > deadline:
                raise NotReadInTime(source.topic, reader.remaining)
            for row in reader.read(0.1):
                _take(row, found, seconds, since, until, scopes)
            if progress is not None:
                progress(total, reader.remaining)
    return found


def _take(
    row: Row, found: Fallbacks, seconds: int, since: int, until: int, scopes: dict[tuple[str, ...], Scope]
) -> None:
    try:
        said = decode("fallback", row.value)
    except DecodeError:
        found.unreadable += 1
        return
    if not since <= said["occurred_at"] < until:
        return
    scope = Scope(**said["scope"])
    labels = [*scope, said["capability"], said["reason_code"], said["entry_point"], said["tenant_id"]]
    if not all_tokens([label for label in labels if label is not None]):
        # The ledger publishes none such; whoever else did, it goes to no terminal and into no spreadsheet.
        found.unreadable += 1
        return
    told = Told(
        window_start(said["occurred_at"], seconds),
        # One object for each scope, since there are few scopes and many fallbacks.
        scopes.setdefault(scope, scope),
        said["capability"],
        said["reason_code"],
        said["entry_point"],
        said["tenant_id"],
    )
    found.counts[told] += 1
