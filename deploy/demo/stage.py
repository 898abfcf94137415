"""Where the demo plays: a broker with topics of its own, and nothing left of them afterwards."""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from unmask.consumers.devbroker import BrokerHandle, Way, resolve_broker
from unmask.schemas.kafka import client_config
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

__all__ = ["Stage", "prepared_stage"]

_PARTITIONS = 4
_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Stage:
    """A broker and topics."""

    bootstrap: str
    topics: Topics
    way: Way

    def environment(self) -> dict[str, str]:
        """What every process of the demo is told."""
        source = str(Path(__file__).resolve().parent.parent)
        path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
        # What a killed host leaves on a disk would be adopted and heal its window; the demo shows the loss.
        inherited = {name: value for name, value in os.environ.items() if name != "UNMASK_OUTBOX_DIR"}
        return {
            **inherited,
            "KAFKA_BOOTSTRAP_SERVERS": self.bootstrap,
            "UNMASK_NAMESPACE": self.topics.namespace,
            "PYTHONPATH": path,
        }


@contextmanager
def prepared_stage(folder: Path, say: Callable[[str], None], *, keep: bool) -> Iterator[Stage]:
    """The broker of KAFKA_BOOTSTRAP_SERVERS, or a private one in `folder`, with fresh topics of a namespace of its own.

    On leaving, a private broker is gone with all its data, and of another's the topics, unless `keep`.
    Raises BrokerError, TopicError and the like.
    """
    broker = resolve_broker(folder / "kafka", tethered=True)
    try:
        topics = Topics(f"demo-{secrets.token_hex(3)}", events_partitions=_PARTITIONS, table_partitions=_PARTITIONS)
        created = create_topics(broker.bootstrap, topics)
        say(f"Kafka ({broker.way.value}) at {broker.bootstrap}; {len(created.created)} topics {topics.namespace}.*")
        yield Stage(broker.bootstrap, topics, broker.way)
    finally:
        _clear(broker, topics, say, keep=keep)


def _clear(broker: BrokerHandle, topics: Topics, say: Callable[[str], None], *, keep: bool) -> None:
    if broker.way is not Way.EXTERNAL:
        broker.stop(wipe=True)
        return
    if keep:
        say(f"The topics stay. To look around: export UNMASK_NAMESPACE={topics.namespace}")
        return
    admin = AdminClient(client_config(broker.bootstrap))
    answers = admin.delete_topics([spec.name for spec in topics.all()], request_timeout=_TIMEOUT_S)
    for name, answer in answers.items():
        try:
            answer.result()
        except KafkaException as error:
            say(f"The topic {name} could not be deleted: {error.args[0]}")
