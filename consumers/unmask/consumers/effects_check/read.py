"""Reads requests and decisions from their first record to the ends that they have when it begins."""

from collections.abc import Callable
from typing import Any

from unmask.consumers.effects_check.history import Asked, Decided, History, Partition
from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import BrokerSilent
from unmask.schemas.codes import EffectRequestKind
from unmask.schemas.errors import DecodeError
from unmask.schemas.framing import Framing, framing_from_environment
from unmask.schemas.keys import effect_route
from unmask.schemas.partitioner import partition_for
from unmask.schemas.tokens import is_token
from unmask.schemas.topics import Topics, TopicSpec

__all__ = ["Progress", "read_history", "take_decision", "take_request"]

Progress = Callable[[str, int], None]
"""Told the topic that is read, and how many records are left."""

_STUCK = 40
_POLL_S = 0.5
_DAY_MS = 86_400_000
_TOKENS = ("request_id", "holder", "tenant", "failure", "strategy", "strategy_version", "budget_key")
_NEEDS = {
    EffectRequestKind.CLAIM.value: ("fingerprint", "lease_ms"),
    EffectRequestKind.COMMIT.value: ("fencing_token", "receipt"),
    EffectRequestKind.RELEASE.value: ("fencing_token",),
    EffectRequestKind.RENEW.value: ("fencing_token", "lease_ms"),
    EffectRequestKind.EXPIRE.value: ("fencing_token",),
}


def read_history(
    topics: Topics, bootstrap: str | None, timeout: float = 30.0, progress: Progress = lambda _topic, _left: None
) -> History:
    """The history up to now. Raises a TopicUnreadable, and RegistryUnavailable."""
    history, framing = History(), framing_from_environment()
    # Decisions first: each of them has its request below the ends that the requests have afterwards.
    with _reader(topics.effects_decisions, bootstrap, timeout) as reader:
        starts = dict(reader.positions)
        history.partitions = {number: Partition(number) for number in range(reader.partition_count)}
        _each(reader, topics.effects_decisions.name, progress, lambda row: take_decision(history, framing, row))
    with _reader(topics.effects_requests, bootstrap, timeout) as reader:
        for number, start in reader.positions.items():
            part = history.partitions.setdefault(number, Partition(number))
            part.whole = start == 0 and starts.get(number, 0) == 0
        count = reader.partition_count
        _each(reader, topics.effects_requests.name, progress, lambda row: take_request(history, framing, row, count))
    return history


def _reader(spec: TopicSpec, bootstrap: str | None, timeout: float) -> TopicReader:
    return TopicReader(TopicSource(spec.name, bootstrap, compacted=False), committed=True, timeout=timeout)


def _each(reader: TopicReader, topic: str, progress: Progress, take: Callable[[Row], None]) -> None:
    empty = 0
    while not reader.caught_up:
        rows = reader.read(_POLL_S)
        for row in rows:
            take(row)
        empty = 0 if rows else empty + 1
        if empty > _STUCK:
            raise BrokerSilent("the brokers", f"{topic} gave nothing for {_STUCK * _POLL_S:.0f} s")
        progress(topic, reader.remaining)


def take_decision(history: History, framing: Framing, row: Row) -> None:
    """One record of the decisions."""
    partition = history.partitions[row.partition]
    try:
        _, body = framing.decode_any(("effect_decision",), row.value)
    except DecodeError:
        partition.unreadable += 1
        return
    partition.decided.append(Decided(row.offset, body, row.timestamp_ms * 1000))


def take_request(history: History, framing: Framing, row: Row, partitions: int) -> None:
    """One record of the requests, of a topic with so many partitions."""
    appended_at = row.timestamp_ms * 1000
    history.now = max(history.now, appended_at)
    body: dict[str, Any] | None
    try:
        _, body = framing.decode_any(("effect_request",), row.value)
        if not _decidable(body, row, partitions):
            body = None
    except DecodeError:
        body = None
    history.partitions[row.partition].asked.append(Asked(row.offset, appended_at, body))


def _decidable(body: dict[str, Any], row: Row, partitions: int) -> bool:
    """Whether it is a request about which the ledger must decide."""
    route = effect_route(body["tenant"], body["budget_key"])
    lease_ms, numbers = body["lease_ms"], (body["budget_limit"], body["fencing_token"])
    return (
        all(is_token(body[name]) for name in _TOKENS)
        and all(body[name] is None or is_token(body[name]) for name in ("fingerprint", "receipt"))
        and all(body[name] is not None for name in _NEEDS.get(body["kind"], ()))
        and (lease_ms is None or 1 <= lease_ms <= _DAY_MS)
        and all(number is None or 1 <= number <= 2**62 for number in numbers)
        and row.key == route.encode()
        and partition_for(route, partitions) == row.partition
    )
