"""A session that the page does not remember, looked up where it stands: on one partition of three topics."""

import time

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient

from unmask.schemas.kafka import client_config, consumer_config
from unmask.schemas.partitioner import partition_for
from unmask.schemas.topics import Topics
from unmask.streams.tables.verdict_check import RecordCheck
from unmask.streams.web.page.lines.sessions import SessionFacts, session_facts
from unmask.streams.web.page.spans import Wanted, spans

__all__ = ["LookupTimeout", "look_up"]

_BATCH = 1000
_POLL_S = 0.2


class LookupTimeout(Exception):
    """The topics could not be read to their end in time; ask `unmask gate` or `unmask verdicts` instead."""


def look_up(bootstrap: str, topics: Topics, session_id: str, check: RecordCheck, timeout: float) -> SessionFacts | None:
    """What stands of a session; None where nothing does. Blocking. Raises LookupTimeout, KafkaException."""
    deadline = time.monotonic() + timeout
    partition = partition_for(session_id, topics.table_partitions)
    names = (topics.sessions.name, topics.verdicts.name, topics.admissions.name)
    admin = AdminClient({"log_level": 2, **client_config(bootstrap)})
    stretches = [s for s in spans(admin, [Wanted(n, partition) for n in names], timeout) if s.start < s.end]
    consumer = Consumer(consumer_config("unmask-page", bootstrap, enable_partition_eof=True, log_level=2))
    parts: dict[bytes, bytes | None] = {}
    verdicts: list[bytes | None] = []
    admissions: list[bytes] = []
    behind = {one.topic for one in stretches}
    wanted = session_id.encode()
    try:
        consumer.assign([TopicPartition(one.topic, one.partition, one.start) for one in stretches])
        while behind:
            if time.monotonic() > deadline:
                raise LookupTimeout(f"session could not be looked up within {timeout:.0f} s")
            for message in consumer.consume(_BATCH, _POLL_S):
                topic, error, key = message.topic(), message.error(), message.key() or b""
                if error is not None:
                    if error.code() == KafkaError._PARTITION_EOF and topic is not None:
                        behind.discard(topic)
                elif topic == topics.sessions.name and key.rpartition(b"|")[0] == wanted:
                    parts[key] = message.value()
                elif topic == topics.verdicts.name and key == wanted:
                    verdicts.append(message.value())
                elif topic == topics.admissions.name and key == wanted and (value := message.value()) is not None:
                    admissions.append(value)
    finally:
        consumer.close()
    newest = verdicts[-1] if verdicts else None
    facts = session_facts(
        session_id, [raw for raw in parts.values() if raw is not None], newest,
        withdrawn=bool(verdicts) and newest is None, admissions=admissions, check=check,
    )  # fmt: skip
    return facts if facts.known else None
