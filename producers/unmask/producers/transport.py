"""The way to the broker: one confluent-kafka producer of one emitter. Only the background thread touches it."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol
from weakref import WeakMethod

# admin is imported for the client's sake: list_topics() would import it in the background thread, and a fork in the
# middle of that would leave the import's lock held in the child.
import confluent_kafka.admin  # noqa: F401
from confluent_kafka import KafkaError, KafkaException, Producer

from unmask.producers.errors import InvalidSettings
from unmask.producers.settings import EmitterSettings
from unmask.producers.store import StoredBatch
from unmask.schemas.kafka import producer_config
from unmask.schemas.partitioner import partition_for

__all__ = ["KafkaTransport", "Receiver"]

_TOO_LARGE = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE)
_HEADROOM = 16_384

# librdkafka's own log lines name hosts and addresses; the SDK speaks through health() alone.
_SILENT = logging.Logger("unmask.producers.librdkafka", logging.CRITICAL + 1)
_SILENT.addHandler(logging.NullHandler())


class Receiver(Protocol):
    """Who is told what became of a batch."""

    def delivered(self, batch_seq: int) -> None:
        """Acknowledged."""
        ...

    def returned(self, batch_seq: int) -> None:
        """Given back by the client."""
        ...

    def refused_as_too_large(self, batch_seq: int) -> None:
        """No broker will take it."""
        ...


class KafkaTransport:
    """Produces batches to the partition that their emitter chose at its start, and passes on each one's report."""

    def __init__(
        self, settings: EmitterSettings, emitter_id: str, receiver: Receiver, partition: int | None = None
    ) -> None:
        self._topic = settings.topic
        self._emitter_id = emitter_id
        self._receiver = receiver
        self.partition = partition
        """Chosen once for the emitter's life, so that its batches stay in one order."""
        self._partitions = 0
        self.problem: str | None = None
        self.broken = False
        """Whether the client met a fatal error and must be replaced."""
        self.in_flight = 0
        self._acknowledged: set[int] = set()
        """Partitions that have acknowledged a record of this client."""
        self._on_trial: set[int] = set()
        """Others, to which one is on its way."""
        try:
            self.producer = Producer(_config(settings, _without_a_cycle(self._on_error)))
        except KafkaException as error:
            raise InvalidSettings(
                f"the Kafka client refuses its settings ({error.args[0].name()}); "
                "check client_options and the UNMASK_KAFKA_ variables"
            ) from None

    def ready(self, seconds: float) -> bool:
        """Whether the partition is known. Asks the broker for `seconds` at most where it is not."""
        if self.partition is None:
            self.partition = self.partition_of(self._emitter_id, seconds)
        return self.partition is not None

    def partition_of(self, emitter_id: str, seconds: float) -> int | None:
        """Where an emitter's batches go that has no partition yet. Asks the broker where its answer is not known."""
        if not self._partitions and not self._ask(seconds):
            return None
        return partition_for(emitter_id.encode(), self._partitions)

    def may_send(self, partition: int) -> bool:
        """Whether another batch may go to a partition now: until one is acknowledged there, one at a time.

        A new leader that knows nothing of this client takes whatever comes first. Were the first of several refused,
        since it was not the leader yet, and the second taken, the client would report both as delivered
        (confluentinc/confluent-kafka-go#921).
        """
        return partition in self._acknowledged or partition not in self._on_trial

    def send(self, batch: StoredBatch) -> bool:
        """Hand a batch to the client; its report comes in a later poll(). False where the client takes none now."""
        assert self.partition is not None
        return self.send_for(self._receiver, batch, self.partition)

    def send_for(self, receiver: Receiver, batch: StoredBatch, partition: int) -> bool:
        """As send(), for any emitter's batch: `receiver` is told what became of it."""
        batch_seq = batch.batch_seq
        try:
            self.producer.produce(
                self._topic,
                value=batch.data,
                key=batch.emitter_id.encode(),
                partition=partition,
                on_delivery=partial(self._on_delivery, receiver, batch_seq, partition),
            )
        except BufferError:
            receiver.returned(batch_seq)
            self.problem = "_QUEUE_FULL"
            return False
        except KafkaException as error:
            self._failed(receiver, batch_seq, error.args[0])
            return False
        self.in_flight += 1
        self._on_trial.add(partition)
        return True

    def poll(self, seconds: float) -> None:
        """Wait at most so long for reports, and pass them on."""
        self.producer.poll(seconds)

    def close(self) -> None:
        """Give up what is on its way; every batch that has no report yet comes back."""
        self.producer.purge()
        self.producer.poll(0)

    def _ask(self, seconds: float) -> bool:
        try:
            # All topics: asking for a single one may create it, with the broker's defaults.
            topics = self.producer.list_topics(timeout=seconds).topics
        except KafkaException as error:
            self._note(error.args[0])
            return False
        metadata = topics.get(self._topic)
        if metadata is None or metadata.error is not None or not metadata.partitions:
            self.problem = "UNKNOWN_TOPIC_OR_PART"
            return False
        self._partitions = len(metadata.partitions)
        return True

    def _on_delivery(
        self, receiver: Receiver, batch_seq: int, partition: int, error: KafkaError | None, _message: object
    ) -> None:
        self.in_flight -= 1
        self._on_trial.discard(partition)
        if error is None:
            self._acknowledged.add(partition)
            self.problem = None
            receiver.delivered(batch_seq)
        else:
            self._failed(receiver, batch_seq, error)

    def _failed(self, receiver: Receiver, batch_seq: int, error: KafkaError) -> None:
        self._note(error)
        if error.code() in _TOO_LARGE:
            receiver.refused_as_too_large(batch_seq)
        else:
            receiver.returned(batch_seq)

    def _on_error(self, error: KafkaError) -> None:
        self._note(error)

    def _note(self, error: KafkaError) -> None:
        # Name only: the text of a client error holds addresses.
        self.problem = error.name()
        self.broken |= bool(error.fatal())


def _without_a_cycle(told: Callable[[KafkaError], None]) -> Callable[[KafkaError], None]:
    """A callback that does not keep its transport alive, so that a client is freed where it is let go of.

    As part of a cycle it would be left to the garbage collector, which may run in any thread, for which freeing takes a
    moment, and in a forked child, where it means to join threads that are not there: that ends the child.
    """
    reference = WeakMethod(told)

    def tell(error: KafkaError) -> None:
        method = reference()
        if method is not None:
            method(error)

    return tell


def _config(settings: EmitterSettings, on_error: Callable[[KafkaError], None]) -> dict[str, Any]:
    options = {name.replace(".", "_"): value for name, value in settings.client_options.items()}
    config = producer_config(settings.bootstrap_servers, **options)
    defaults = {
        "linger.ms": 2,
        # Records are batches already. Packed together they could exceed the broker's limit, and all be refused.
        "batch.num.messages": 1,
        "compression.type": "lz4",
        "message.max.bytes": max(1_000_000, settings.max_record_bytes + _HEADROOM),
        "message.timeout.ms": settings.delivery_timeout_ms,
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 2_000,
        "retry.backoff.max.ms": 500,
        "socket.keepalive.enable": True,
        "log.connection.close": False,
    }
    return {**defaults, **config, "error_cb": on_error, "logger": _SILENT}
