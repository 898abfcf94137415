"""One topic as its broker sees it: how many partitions, by which policy, from which offset to which.

All questions go through one admin client, whose answers are bounded in time, so that callers of any thread may ask
while another thread reads.
"""

import time
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it re-exports these without saying so
    AdminClient,
    ConfigResource,
    OffsetSpec,
    ResourceType,
)

from unmask.consumers.unreadable import BrokerSilent, TopicUnreadable, TopicWrongPolicy, explain
from unmask.schemas.kafka import client_config

__all__ = ["TopicShape", "TopicSource"]

# How long a verified policy is taken as still holding. Partition counts only grow, and a grown topic answers with
# refusals, so that both may be remembered for a while.
_SHAPE_SECONDS = 60.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TopicShape:
    """Partition count and cleanup policy of a topic that exists."""

    partitions: int
    policy: str


_MOVING_S = 0.1
_FORMER_LEADER = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
}


def _of_a_former_leader(error: KafkaException | TimeoutError) -> bool:
    """Whether a partition's leader has moved, or is about to answer."""
    cause = error.args[0] if isinstance(error, KafkaException) and error.args else None
    return isinstance(cause, KafkaError) and cause.code() in _FORMER_LEADER


class TopicSource:
    """Bounded questions about one topic. Every method raises a TopicUnreadable that names the cause.

    `timeout` is in seconds everywhere.
    """

    def __init__(self, topic: str, bootstrap: str | None = None, *, compacted: bool = True) -> None:
        self.topic = topic
        self.config = client_config(bootstrap)
        self.bootstrap = str(self.config["bootstrap.servers"])
        self._compacted = compacted
        self._trouble: str | None = None
        self._shape: tuple[float, TopicShape] | None = None
        # Log lines go to standard error and say again what the raised errors say.
        self._settings: dict[str, Any] = {"log_level": 2, **self.config, "error_cb": self._note}
        self._admin = AdminClient(self._settings)

    def shape(self, timeout: float) -> TopicShape:
        """Partitions and policy. Where the topic has to be compacted and is not, TopicWrongPolicy is raised."""
        if self._shape is not None and time.monotonic() - self._shape[0] < _SHAPE_SECONDS:
            return self._shape[1]
        deadline = time.monotonic() + timeout
        names = TopicCollection([self.topic])
        resource = ConfigResource(ResourceType.TOPIC, self.topic)
        described = self._ask(lambda left: self._admin.describe_topics(names, request_timeout=left), deadline)
        configs = self._ask(lambda left: self._admin.describe_configs([resource], request_timeout=left), deadline)
        entry = next(iter(configs.values())).get("cleanup.policy")
        policy = "" if entry is None else str(entry.value or "")
        if self._compacted and "compact" not in policy:
            raise TopicWrongPolicy(self.topic, policy)
        shape = TopicShape(len(next(iter(described.values())).partitions), policy)
        self._shape = (time.monotonic(), shape)
        return shape

    def forget_shape(self) -> None:
        """Ask the broker for partitions and policy the next time."""
        self._shape = None

    def end_offsets(self, partitions: Iterable[int], timeout: float, *, committed: bool = False) -> dict[int, int]:
        """The offset after the newest record of each partition, now.

        With `committed`, what follows an open transaction does not count: nobody has published it yet, and a reader of
        committed records cannot reach it.
        """
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        return self._offsets(partitions, OffsetSpec.latest(), timeout, isolation)  # type: ignore[no-untyped-call]

    def start_offsets(self, partitions: Iterable[int], timeout: float) -> dict[int, int]:
        """The first offset that each partition still has, now; above 0 where its head was deleted."""
        return self._offsets(partitions, OffsetSpec.earliest(), timeout)  # type: ignore[no-untyped-call]

    def _offsets(
        self,
        partitions: Iterable[int],
        spec: OffsetSpec,
        timeout: float,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> dict[int, int]:
        wanted = {TopicPartition(self.topic, partition): spec for partition in partitions}
        if not wanted:
            return {}
        deadline = time.monotonic() + timeout
        found = self._ask(
            lambda left: self._admin.list_offsets(wanted, request_timeout=left, isolation_level=isolation), deadline
        )
        offsets = {place.partition: answer.offset for place, answer in found.items()}
        # A broker that does not answer in time, or a partition without a leader, comes back as an invalid offset and no
        # error. Taken for an end, it would pass everything for read; for a start, it would begin behind everything.
        if any(offset < 0 for offset in offsets.values()):
            raise BrokerSilent(self.bootstrap, "it did not tell the offsets in time")
        return offsets

    def _ask(self, request: Any, deadline: float) -> dict[Any, Any]:
        while True:
            # The client refuses a timeout of 0, and may take twice the one it is given: the wait is bounded here.
            left = max(0.01, deadline - time.monotonic())
            answers: dict[Any, Future[Any]] = request(left)
            try:
                return {key: self._await(answer, deadline) for key, answer in answers.items()}
            except (KafkaException, TimeoutError) as error:
                if not _of_a_former_leader(error) or time.monotonic() + _MOVING_S > deadline:
                    raise self._named(error) from error
            # A client keeps what it knows of leaders for a minute; a new one asks.
            time.sleep(_MOVING_S)
            self._admin = AdminClient(self._settings)

    @staticmethod
    def _await(answer: "Future[T]", deadline: float) -> T:
        return answer.result(timeout=max(0.01, deadline - time.monotonic()))

    def _named(self, error: KafkaException | TimeoutError) -> TopicUnreadable:
        self._admin.poll(0)
        named = explain(error, self.topic, self.bootstrap)
        if isinstance(named, BrokerSilent) and self._trouble is not None:
            named = BrokerSilent(self.bootstrap, self._trouble)
        self._trouble = None
        return named

    def _note(self, error: KafkaError) -> None:
        # "All brokers are down" says less than the refused connection before it.
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._trouble = error.str()
