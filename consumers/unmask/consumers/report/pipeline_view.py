"""Looks at a pipeline: which topics there are, how far the ledger has read them, and whether anybody works."""

import time
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from unmask.consumers.offsets_in_time import newest_timestamp
from unmask.consumers.report.pipeline import Mark, PipelineFacts
from unmask.consumers.topic_reader import TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import BrokerSilent, TopicUnreadable, explain
from unmask.schemas.errors import DecodeError
from unmask.schemas.kafka import client_config
from unmask.schemas.topics import Topics
from unmask.schemas.wire import decode

__all__ = ["look_at_pipeline", "look_if_allowed", "newest_marks"]

_MOVING = {
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
}
_PAUSE_S = 0.2
_FIRST_LOOK = 2_000
"""Records from the end of the tallies in which the marks are looked for first: there are some every second."""


def look_at_pipeline(bootstrap: str, topics: Topics, timeout: float) -> PipelineFacts:
    """What is found; `timeout` in seconds for each question. Raises a TopicUnreadable that names the cause."""
    admin = AdminClient({"log_level": 2, **client_config(bootstrap)})
    specs = topics.all()
    try:
        there = set(admin.list_topics(timeout=timeout).topics)
    except KafkaException as error:
        raise explain(error, topics.windows.name, bootstrap) from error
    missing = tuple(spec.name for spec in specs if spec.name not in there)
    if {topics.events.name, topics.tallies.name, topics.windows.name} & set(missing):
        return PipelineFacts(missing=missing, topics=len(specs))
    events = TopicSource(topics.events.name, bootstrap, compacted=False)
    windows = TopicSource(topics.windows.name, bootstrap)
    members = _members(admin, f"{topics.namespace}.ledger", bootstrap, timeout)
    partitions = range(events.shape(timeout).partitions)
    marks = newest_marks(TopicSource(topics.tallies.name, bootstrap), len(partitions), timeout)
    return PipelineFacts(
        missing=missing,
        topics=len(specs),
        # After the marks: what stands here now and is not in them waits.
        starts=events.start_offsets(partitions, timeout),
        ends=events.end_offsets(partitions, timeout),
        marks=marks,
        members=members,
        # The marks' times are the broker's too, and go on while nobody sends anything.
        broker_time=max([newest_timestamp(events, timeout), *(mark.read_through for mark in marks.values())]),
        windows=sum(windows.end_offsets(range(windows.shape(timeout).partitions), timeout).values()),
    )


def look_if_allowed(bootstrap: str, topics: Topics, timeout: float) -> PipelineFacts | None:
    """What is found; None where this client may not look: a report needs the windows alone. Raises BrokerSilent."""
    try:
        return look_at_pipeline(bootstrap, topics, timeout)
    except BrokerSilent:
        raise
    except TopicUnreadable:
        return None


def newest_marks(source: TopicSource, partitions: int, timeout: float) -> dict[int, Mark]:
    """The newest mark of each source partition; every partition of the tallies has them, so that one is read."""
    look = _FIRST_LOOK
    first = source.start_offsets([0], timeout).get(0, 0)
    while True:
        end = source.end_offsets([0], timeout, committed=True).get(0, 0)
        begin = max(first, end - look)
        marks = _marks_from(source, begin, timeout)
        if len(marks) >= partitions or begin <= first:
            return marks
        look *= 20


def _marks_from(source: TopicSource, begin: int, timeout: float) -> dict[int, Mark]:
    marks: dict[int, Mark] = {}
    deadline = time.monotonic() + timeout
    with TopicReader(source, [0], resume={0: begin}, committed=True, timeout=timeout) as reader:
        while not reader.caught_up:
            if time.monotonic() > deadline:
                raise BrokerSilent(source.bootstrap, f"{source.topic} was not read in {timeout:.0f} s")
            for row in reader.read(0.2):
                if row.value is None or not (row.key or b"").startswith(b"m|"):
                    continue
                try:
                    said: dict[str, Any] = decode("evidence_mark", row.value)
                except DecodeError:
                    continue
                grace, unaccounted = said["grace_ms"] * 1000, said["unaccounted_total"]
                marks[said["partition"]] = Mark(said["offset"], said["read_through"], grace, unaccounted)
    return marks


def _members(admin: AdminClient, group: str, bootstrap: str, timeout: float) -> int:
    deadline = time.monotonic() + timeout
    while True:
        try:
            found = admin.describe_consumer_groups([group], request_timeout=timeout)[group].result(timeout=timeout)
        except (KafkaException, TimeoutError) as error:
            if not _coordinator_moves(error) or time.monotonic() > deadline:
                raise explain(error, f"the group {group}", bootstrap) from error
            time.sleep(_PAUSE_S)
        else:
            return len(found.members)


def _coordinator_moves(error: KafkaException | TimeoutError) -> bool:
    """Whether the group's coordinator is being found or loaded, as at a broker's first start."""
    cause = error.args[0] if isinstance(error, KafkaException) and error.args else None
    return isinstance(cause, KafkaError) and cause.code() in _MOVING
