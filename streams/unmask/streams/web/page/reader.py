"""The page's reader: a thread that follows a namespace's topics while somebody looks at the page, and only then.

It reads committed records of all partitions, so that every worker's page shows the whole namespace. Nothing that goes
wrong here ends the worker: it is told on the page, and tried again.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from unmask.schemas.kafka import client_config, consumer_config
from unmask.schemas.topics import Topics
from unmask.streams.web.page.intake import Intake
from unmask.streams.web.page.limits import Limits
from unmask.streams.web.page.memory import Memory
from unmask.streams.web.page.pulse import Pulse
from unmask.streams.web.page.reading import Reading, ReadingState
from unmask.streams.web.page.spans import Stretch, Wanted, spans

__all__ = ["PageReader"]

_BATCH = 500
_POLL_S = 0.1
_QUESTION_S = 10.0
_AGAIN_S = 2.0
_Answer = TypeVar("_Answer")
_logger = logging.getLogger(__name__)
_PASSING = {
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._RESOLVE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
}


class PageReader:
    """Keeps a memory up to date. All methods may be called from any thread."""

    def __init__(
        self, bootstrap: str, topics: Topics, groups: tuple[str, ...], limits: Limits,
        wall_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:  # fmt: skip
        self._bootstrap = bootstrap
        self._topics = topics
        self._groups = groups
        self._limits = limits
        self._wall_ms = wall_ms
        self._lock = threading.Lock()
        self._memory = Memory(limits)
        self._reading = Reading()
        self._wanted_at = 0.0
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self.caught_up = threading.Event()
        """Set while everything that stood when the reader began has been read."""

    def touch(self) -> None:
        """Says that somebody looks: the reader runs from now on, and for a while."""
        with self._lock:
            self._wanted_at = time.monotonic()
            if self._thread is None and not self._stopping.is_set():
                self._reading = Reading(ReadingState.READING)
                self._thread = threading.Thread(target=self._run, name="unmask-page", daemon=True)
                self._thread.start()

    def read(self, question: Callable[[Memory, Reading], _Answer]) -> _Answer:
        """The answer of a function that is given what is known while nobody changes it."""
        with self._lock:
            return question(self._memory, self._reading)

    def stop(self, timeout: float = 5.0) -> None:
        """Ends the thread."""
        self._stopping.set()
        thread = self._thread
        if thread is not None:
            thread.join(timeout)

    def _run(self) -> None:
        while True:
            try:
                self._follow()
            except Exception as error:
                _logger.warning("the page's reader starts anew: %s", error)
                with self._lock:
                    self._reading = Reading(
                        ReadingState.FAILED, error=_text(error), silent_since=self._reading.silent_since
                    )
                self.caught_up.clear()
                self._stopping.wait(_AGAIN_S)
            with self._lock:
                if self._over():
                    self._memory, self._reading, self._thread = Memory(self._limits), Reading(), None
                    self.caught_up.clear()
                    return

    def _over(self) -> bool:
        return self._stopping.is_set() or time.monotonic() - self._wanted_at > self._limits.idle_s

    def _follow(self) -> None:
        admin = AdminClient({"log_level": 2, **client_config(self._bootstrap)})
        stretches = spans(admin, self._wanted(), _QUESTION_S)
        consumer = Consumer(
            consumer_config(
                "unmask-page", self._bootstrap, enable_partition_eof=True, fetch_wait_max_ms=100, log_level=2,
                queued_max_messages_kbytes=8_192,
            )
        )  # fmt: skip
        pulse = Pulse(admin, self._topics, self._groups)
        intake = Intake(self._topics)
        memory = Memory(self._limits)
        behind = {(one.topic, one.partition) for one in stretches if one.start < one.end}
        with self._lock:
            self._memory = memory
        try:
            consumer.assign([_place(one) for one in stretches])
            while not self._over():
                messages = consumer.consume(_BATCH, _POLL_S)
                pulse.beat(time.monotonic())
                with self._lock:
                    intake.take(memory, [message for message in messages if message.error() is None])
                    behind -= _ends_reached(messages)
                    self._reading = Reading(
                        ReadingState.READING if behind else ReadingState.LIVE,
                        done=len(stretches) - len(behind),
                        of=len(stretches),
                        undecodable=intake.undecodable,
                        silent_since=pulse.silent_since,
                        ends=pulse.ends,
                        groups=pulse.groups,
                    )
                if not behind:
                    self.caught_up.set()
        finally:
            consumer.close()

    def _wanted(self) -> list[Wanted]:
        topics, now = self._topics, self._wall_ms()
        windows = now - self._limits.look_back_s * 1000
        sessions = now - self._limits.sessions_look_back_s * 1000
        since = {
            topics.windows.name: windows,
            topics.sessions.name: sessions,
            topics.verdicts.name: sessions,
            topics.admissions.name: sessions,
            topics.alerts.name: None,
        }
        wanted = [Wanted(name, p, at) for name, at in since.items() for p in range(topics.table_partitions)]
        return wanted + [Wanted(topics.ledger.name, p) for p in range(topics.events_partitions)]


def _place(one: Stretch) -> TopicPartition:
    return TopicPartition(one.topic, one.partition, one.start)


def _ends_reached(messages: list[Any]) -> set[tuple[str, int]]:
    """Whose ends the messages tell of. Raises KafkaException for what does not pass by itself."""
    reached = set()
    for message in messages:
        error = message.error()
        if error is None or error.code() in _PASSING:
            continue
        if error.code() == KafkaError._PARTITION_EOF:
            reached.add((message.topic(), message.partition()))
        elif error.fatal() or not error.retriable():
            raise KafkaException(error)
    return reached


def _text(error: BaseException) -> str:
    cause = error.args[0] if isinstance(error, KafkaException) and error.args else None
    return cause.str() if isinstance(cause, KafkaError) else f"{type(error).__name__}: {error}"
