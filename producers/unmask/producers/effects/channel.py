"""The way to the effects ledger and back: a producer of requests, and a reader of the decisions about them.

The reader is placed at the end of a decision partition before the first request goes to the partition of the same
number, so that no decision is missed. It runs in a thread of its own.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

# admin is imported for the client's sake: list_topics() would import it later, and a fork in the middle of that would
# leave the import's lock held in the child.
import confluent_kafka.admin  # noqa: F401
from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from unmask.producers import fork
from unmask.producers.effects.lease_clock import lease_now
from unmask.producers.effects.questions import Question, Questions
from unmask.schemas.codes import EffectReason
from unmask.schemas.errors import DecodeError, EncodeError, RegistryUnavailable
from unmask.schemas.framing import Framing
from unmask.schemas.kafka import consumer_config, producer_config
from unmask.schemas.partitioner import partition_for
from unmask.schemas.topics import Topics

__all__ = ["Channel"]

_AGAIN_S = (0.5, 1.0, 2.0)
"""After so long without a decision a question is sent again; the last holds for all further ones."""
_POLL_S = 0.05
_PAUSE_S = 0.1
_CLOSE_S = 2.0

# librdkafka's own log lines name hosts and addresses; the answers say what a host needs to know.
_SILENT = logging.Logger("unmask.producers.effects.librdkafka", logging.CRITICAL + 1)
_SILENT.addHandler(logging.NullHandler())

_SENDING: dict[str, Any] = {"linger.ms": 0, "message.timeout.ms": 10_000}
_READING: dict[str, Any] = {"fetch.wait.max.ms": 50, "fetch.error.backoff.ms": 20, "enable.partition.eof": True}
_CLIENT: dict[str, Any] = {
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 1_000,
    "socket.keepalive.enable": True,
    "log.connection.close": False,
}


class Channel:
    """Asks for one life of a client. Made without a connection; every method may be called by any thread."""

    def __init__(
        self, bootstrap: str | None, namespace: str, options: Mapping[str, Any], framing: Framing, holder: str,
        questions: Questions,
    ) -> None:  # fmt: skip
        topics = Topics(namespace)
        self._requests = topics.effects_requests.name
        self._decisions = topics.effects_decisions.name
        given = {name.replace(".", "_"): value for name, value in options.items()}
        told = {"error_cb": self._on_error, "logger": _SILENT}
        # Made here, so that settings that cannot work are the caller's to see.
        self._sending = {**_SENDING, **_CLIENT, **producer_config(bootstrap, **given), **told}
        self._reading = {
            **_READING,
            **_CLIENT,
            **consumer_config(f"unmask.effects.{holder}", bootstrap, **given),
            **told,
        }
        # Decisions that are gone are asked for again.
        self._reading["auto.offset.reset"] = "latest"
        self._framing = framing
        self._holder = holder.encode()
        self._questions = questions
        self._lock = threading.Lock()
        self._producer: Producer | None = None
        self._reader: _Reader | None = None
        self._partitions = 0
        self._ending = threading.Event()
        self._broken = False

    def ask(self, question: Question, route: str, deadline: float) -> EffectReason | None:
        """Sends the request until its decision has come; why none came in time, else None."""
        try:
            value = self._framing.encode("effect_request", question.request)
        except (EncodeError, RegistryUnavailable):
            return EffectReason.NOT_READY
        waits = iter(_AGAIN_S)
        wait = next(waits)
        while not self._ending.is_set() and time.monotonic() < deadline:
            partition = self._ready(route, deadline)
            if partition is None or not self._send(question, partition, route, value):
                self._ending.wait(min(_PAUSE_S, max(0.0, deadline - time.monotonic())))
                continue
            if question.answered.wait(max(0.0, min(wait, deadline - time.monotonic()))):
                return None if question.decision is not None else EffectReason.CLOSED
            wait = next(waits, wait)
        if self._ending.is_set():
            return EffectReason.CLOSED
        return EffectReason.TIMEOUT if question.in_the_log else EffectReason.NOT_READY

    def send_once(self, request: dict[str, Any], partition: int, route: str) -> None:
        """Sends a request whose decision nobody waits for, where that is possible at once."""
        try:
            value = self._framing.encode("effect_request", request)
        except (EncodeError, RegistryUnavailable):
            return
        self._send(Question(request), partition, route, value)

    def close(self) -> None:
        """Ends the reader and lets what is on its way go out, for a moment."""
        self._ending.set()
        self._questions.fail()
        with self._lock:
            self._drop()

    def keep_for_ever(self) -> None:
        """This is a forked child: the parent's clients are not to be touched, not even freed."""
        if self._producer is not None:
            fork.keep_for_ever(self._producer)
        if self._reader is not None:
            fork.keep_for_ever(self._reader.consumer)

    def settled(self, seconds: float) -> bool:
        """Whether nobody is making connections, after so many seconds at most. A fork had better wait for it."""
        if not self._lock.acquire(timeout=seconds):
            return False
        self._lock.release()
        return True

    # Connecting. Only with the lock held.

    def _ready(self, route: str, deadline: float) -> int | None:
        """The partition of a route, with its decisions being read; None where that cannot be had now."""
        if not self._lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            return None
        try:
            if self._ending.is_set():
                return None
            if self._broken:
                self._drop()
            self._connect()
            if not self._partitions and not self._count_partitions(deadline):
                return None
            partition = partition_for(route, self._partitions)
            listening = self._reader.listen(partition) if self._reader is not None else threading.Event()
            return partition if listening.wait(max(0.0, deadline - time.monotonic())) else None
        except KafkaException:
            return None
        finally:
            self._lock.release()

    def _connect(self) -> None:
        if self._producer is None:
            self._producer = Producer(self._sending)
        if self._reader is None:
            self._reader = _Reader(Consumer(self._reading), self._producer, self._decisions, self._take)
            self._reader.start()

    def _count_partitions(self, deadline: float) -> bool:
        assert self._producer is not None
        # All topics: asking for a single one may create it, with the broker's defaults.
        topics = self._producer.list_topics(timeout=_left(deadline)).topics
        found = [topics.get(name) for name in (self._requests, self._decisions)]
        if any(topic is None or topic.error is not None or not topic.partitions for topic in found):
            return False
        self._partitions = min(len(topic.partitions) for topic in found if topic is not None)
        return True

    def _drop(self) -> None:
        producer, self._producer = self._producer, None
        reader, self._reader = self._reader, None
        self._partitions = 0
        self._broken = False
        if producer is not None:
            producer.flush(_CLOSE_S)
        if reader is not None:
            reader.end(_CLOSE_S)

    # Sending and reading.

    def _send(self, question: Question, partition: int, route: str, value: bytes) -> bool:
        producer = self._producer
        if producer is None:
            return False
        sent_at = lease_now()
        if question.sent_at is None:
            question.sent_at = sent_at

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            if error is None and (offset := message.offset()) is not None:
                question.delivered(offset, sent_at)

        try:
            producer.produce(self._requests, value, route.encode(), partition, on_delivery=on_delivery)
        except (BufferError, KafkaException):
            return False
        return True

    def _take(self, message: Message) -> None:
        value = message.value()
        # Other hosts' decisions stand on the same partition: most need not be decoded.
        if value is None or self._holder not in value:
            return
        try:
            _, decision = self._framing.decode_any(("effect_decision",), value)
        except (DecodeError, RegistryUnavailable):
            return
        if decision["holder"].encode() == self._holder:
            self._questions.take(decision)

    def _on_error(self, error: KafkaError) -> None:
        self._broken |= bool(error.fatal())


class _Reader(threading.Thread):
    """Reads decisions until it is ended. It alone uses the consumer, which lets one thread in at a time."""

    def __init__(self, consumer: Consumer, producer: Producer, topic: str, take: Callable[[Message], None]) -> None:
        super().__init__(name="unmask-effects-client", daemon=True)
        self.consumer = consumer
        self._producer = producer
        self._topic = topic
        self._take = take
        self._reached: dict[int, threading.Event] = {}
        self._wanted: deque[int] = deque()
        self._ending = threading.Event()

    def listen(self, partition: int) -> threading.Event:
        """Set once the end of a partition has been met: whatever is written from then on will be read.

        Not to be called by two threads at once.
        """
        if partition not in self._reached:
            self._reached[partition] = threading.Event()
            self._wanted.append(partition)
        return self._reached[partition]

    def run(self) -> None:
        """See Thread."""
        while not self._ending.is_set():
            try:
                while self._wanted:
                    place = TopicPartition(self._topic, self._wanted[0], OFFSET_END)
                    self.consumer.incremental_assign([place])
                    self._wanted.popleft()
                message = self.consumer.poll(_POLL_S)
                # First what became of the requests: a decision's lease is measured from the copy that it is about.
                self._producer.poll(0)
                if message is not None:
                    self._note(message)
            except Exception:
                # Nothing that arrives may end the reader: hosts would wait for decisions that have come.
                time.sleep(_PAUSE_S)
        self.consumer.close()

    def _note(self, message: Message) -> None:
        error, partition = message.error(), message.partition()
        if error is None or error.code() == KafkaError._PARTITION_EOF:
            if partition is not None and (reached := self._reached.get(partition)) is not None:
                reached.set()
            if error is None:
                self._take(message)

    def end(self, seconds: float) -> None:
        """Has it end, and waits for that so long at most."""
        self._ending.set()
        self.join(seconds)


def _left(deadline: float) -> float:
    return max(0.05, deadline - time.monotonic())
