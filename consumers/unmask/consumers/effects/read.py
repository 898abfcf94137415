"""Reads the book of a tenant from the decisions topic."""

import time

from unmask.consumers.effects.book import Book
from unmask.consumers.topic_reader import TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import BrokerSilent
from unmask.schemas.errors import DecodeError
from unmask.schemas.framing import Framing
from unmask.schemas.models import EffectDecision, from_avro

__all__ = ["read_book"]

_WAIT_S = 0.5


def read_book(source: TopicSource, tenant: str, framing: Framing, timeout: float) -> Book:
    """The tenant's book up to what was committed at the call. Raises a TopicUnreadable that names the cause.

    Decisions are read whatever tenant they are of, since the topic is not divided by tenants; only the tenant's own
    are kept.
    """
    book = Book(tenant)
    with TopicReader(source, timeout=timeout, committed=True) as reader:
        moved_at = time.monotonic()
        while not reader.caught_up:
            before = reader.remaining
            rows = reader.read(_WAIT_S)
            for row in rows:
                try:
                    _, value = framing.decode_any(("effect_decision",), row.value)
                    book.take(from_avro(EffectDecision, value))
                except (DecodeError, ValueError):
                    book.unreadable += 1
            # An empty read means nothing: a partition's end, or a transaction's marker, is no record.
            if reader.remaining < before:
                moved_at = time.monotonic()
            elif time.monotonic() - moved_at > timeout:
                raise BrokerSilent(source.bootstrap, f"{source.topic} gave nothing for {timeout:.0f} s")
    return book
