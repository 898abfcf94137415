"""Where to begin and where the log ends: for many partitions in three calls, since each of them alone takes one."""

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

__all__ = ["Stretch", "Wanted", "ask_offsets", "spans"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A partition to be read, from a time in milliseconds on; None: from its beginning."""

    topic: str
    partition: int
    since_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Stretch:
    """What of it is to be read first, as offsets."""

    topic: str
    partition: int
    start: int
    end: int
    """One past the last committed record."""


def spans(admin: AdminClient, wanted: list[Wanted], timeout: float) -> list[Stretch]:
    """The stretch of each partition. Raises KafkaException."""
    places = {one: TopicPartition(one.topic, one.partition) for one in wanted}
    earliest, latest = OffsetSpec.earliest(), OffsetSpec.latest()  # type: ignore[no-untyped-call]
    starts = _wait(ask_offsets(admin, dict.fromkeys(places.values(), earliest), timeout), timeout)
    ends = _wait(ask_offsets(admin, dict.fromkeys(places.values(), latest), timeout), timeout)
    timed = {places[one]: OffsetSpec.for_timestamp(one.since_ms) for one in wanted if one.since_ms is not None}
    found = _wait(ask_offsets(admin, timed, timeout), timeout) if timed else {}
    stretches = []
    for one in wanted:
        place = (one.topic, one.partition)
        start, end = starts[place], ends[place]
        if place in found:
            # Nothing is that young: there is nothing to read yet.
            start = end if found[place] < 0 else max(start, found[place])
        stretches.append(Stretch(one.topic, one.partition, start, end))
    return stretches


def ask_offsets(
    admin: AdminClient, questions: dict[TopicPartition, Any], timeout: float
) -> dict[TopicPartition, Future[Any]]:
    """Futures of offsets; ends are those that readers of committed records reach."""
    return admin.list_offsets(questions, request_timeout=timeout, isolation_level=IsolationLevel.READ_COMMITTED)


def _wait(futures: dict[TopicPartition, Future[Any]], timeout: float) -> dict[tuple[str, int], int]:
    return {(p.topic, p.partition): int(future.result(timeout=timeout).offset) for p, future in futures.items()}
