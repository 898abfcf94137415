"""Puts the counts of one run on the parity topic, and waits until the broker has them."""

from collections.abc import Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from unmask.consumers.parity.junit import JUnitCounts
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.instants import iso
from unmask.schemas.kafka import producer_config
from unmask.schemas.keys import parity_key
from unmask.schemas.tokens import is_token
from unmask.schemas.topics import Topics
from unmask.schemas.windowing import MICROS
from unmask.schemas.wire import encode

__all__ = ["ParityUndelivered", "ParityUnusable", "publish_run"]

_AHEAD = 5 * 60 * MICROS


class ParityUnusable(ValueError):
    """Something of the run cannot be published as it was given; the text says what would be."""


class ParityUndelivered(Exception):
    """The broker did not acknowledge the run, which may or may not stand now. Publish it again."""


def publish_run(
    topics: Topics,
    bootstrap: str,
    counts: JUnitCounts,
    *,
    suite: str,
    release_line: str,
    composition: str | None = None,
    capabilities: Sequence[str] = (),
    run_at: int | None = None,
    now: int,
    timeout: float,
) -> dict[str, Any]:
    """Publish a run and wait for the broker's acknowledgement, at most `timeout` seconds; the record that stands.

    `run_at` (microseconds) goes before the time in the report. It replaces the run before it of the same suite,
    release line and composition. Raises ParityUnusable, ParityUndelivered, TopicUnreadable.
    """
    for name, value in (("suite", suite), ("release line", release_line), ("composition", composition)):
        if value is not None and not is_token(value):
            raise ParityUnusable(f"a {name} is one word of at most 64 letters, digits, _ . and -")
    if not all(map(is_token, capabilities)):
        raise ParityUnusable("a capability is one word of at most 64 letters, digits, _ . and -")
    began_at = counts.began_at if run_at is None else run_at
    if began_at is None:
        raise ParityUnusable(
            "the report has no time with a time zone in it, and none is guessed: say when the run began with --run-at "
            "(ISO 8601 with a zone, or `10m` for ten minutes ago)"
        )
    if began_at > now + _AHEAD:
        raise ParityUnusable(f"a run of {iso(began_at)} is in the future; correct the clock or --run-at")
    if counts.began_at is not None and began_at > counts.began_at + _AHEAD:
        raise ParityUnusable(
            f"the report says that its run began at {iso(counts.began_at)}; --run-at may not make it younger"
        )
    record = {
        "suite": suite,
        "release_line": release_line,
        "composition": composition,
        "capabilities": sorted(set(capabilities)),
        "run_at": began_at,
        "published_at": now,
        "tests": counts.tests,
        "failures": counts.failures,
        "errors": counts.errors,
        "skipped": counts.skipped,
        "digest": counts.digest,
    }
    # Asked first, since it names a topic that is not there or keeps too little, which a delivery report does not.
    TopicSource(topics.parity.name, bootstrap).shape(timeout)
    _deliver(topics.parity.name, bootstrap, parity_key(suite, release_line, composition), record, timeout)
    return record


def _deliver(topic: str, bootstrap: str, key: str, record: dict[str, Any], timeout: float) -> None:
    reports: list[KafkaError | None] = []

    def note(error: KafkaError | None, _: Message) -> None:
        reports.append(error)

    config = producer_config(bootstrap, message_timeout_ms=max(1, int(timeout * 1000)), linger_ms=0)
    try:
        producer = Producer({"log_level": 2, **config})
        producer.produce(topic, key=key, value=encode("parity", record), on_delivery=note)
        producer.flush(timeout)
    except (BufferError, KafkaException) as error:
        raise ParityUndelivered(
            f"sending to {topic} failed ({type(error).__name__}); check the broker and this client's rights"
        ) from error
    if not reports:
        raise ParityUndelivered(f"{topic} did not acknowledge the run in {timeout:g} s; publish it again")
    if reports[0] is not None:
        raise ParityUndelivered(f"the broker did not take the run on {topic} ({reports[0].name()}); publish it again")
