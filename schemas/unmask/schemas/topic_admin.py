"""Topics on a cluster: found, created in one call, verified. A topic that exists is never altered."""

import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it re-exports these without saying so
    AdminClient,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from unmask.schemas.errors import BrokerUnreachable, TopicCreationFailed, TopicMissing, TopicPolicyMismatch
from unmask.schemas.kafka import client_config
from unmask.schemas.topic_problems import ObservedTopic, ProblemKind, TopicProblem, find_problems
from unmask.schemas.topics import Topics, TopicSpec

__all__ = [
    "CreatedTopics",
    "create_topics",
    "discover_topics",
    "observe_topics",
    "require_topics",
    "verify_topics",
]

_TIMEOUT = 30.0
_UNKNOWN = KafkaError.UNKNOWN_TOPIC_OR_PART


@dataclass(frozen=True, slots=True)
class CreatedTopics:
    """What one call of create_topics did."""

    created: tuple[str, ...]
    existed: tuple[str, ...]
    replication: int


def create_topics(
    bootstrap: str | None,
    topics: Topics,
    replication: int | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    timeout: float = _TIMEOUT,
) -> CreatedTopics:
    """Create all missing topics in one call with their full configuration, then verify all of them.

    `replication` is by default the number of brokers, at most 3; from 3 on a write needs two replicas. `config` holds
    further client options. Raises TopicPolicyMismatch before anything is created where an existing topic is wrong;
    TopicCreationFailed, BrokerUnreachable.
    """
    admin = _admin(bootstrap, config)
    address = _address(bootstrap, config)
    observed, brokers = _observe(admin, topics, timeout)
    wrong = [p for p in find_problems(topics, observed, address) if p.kind is not ProblemKind.MISSING]
    if wrong:
        raise TopicPolicyMismatch(wrong)
    replicas = replication or min(3, brokers)
    missing = [spec for spec in topics.all() if spec.name not in observed]
    durable = {"min.insync.replicas": "2"} if replicas >= 3 else {}
    if missing:
        new = [NewTopic(s.name, s.partitions, replicas, config={**s.config, **durable}) for s in missing]
        _await_creation(admin.create_topics(new, operation_timeout=timeout, request_timeout=timeout))
    _await_verified(admin, topics, address, timeout)
    _await_leaders(admin, missing, timeout)
    made = {spec.name for spec in missing}
    return CreatedTopics(
        tuple(s.name for s in topics.all() if s.name in made),
        tuple(s.name for s in topics.all() if s.name not in made),
        replicas,
    )


def verify_topics(
    bootstrap: str | None,
    topics: Topics,
    *,
    config: Mapping[str, Any] | None = None,
    timeout: float = _TIMEOUT,
) -> list[TopicProblem]:
    """Every fault of the topics, each with its fix; empty where all is well. Raises BrokerUnreachable."""
    observed, _ = _observe(_admin(bootstrap, config), topics, timeout)
    return find_problems(topics, observed, _address(bootstrap, config))


def require_topics(
    bootstrap: str | None,
    topics: Topics,
    *,
    config: Mapping[str, Any] | None = None,
    timeout: float = _TIMEOUT,
) -> None:
    """Refuse to go on with topics that are not as they must be.

    Raises TopicMissing where one does not exist, else TopicPolicyMismatch, both with all problems; BrokerUnreachable.
    """
    _refuse(verify_topics(bootstrap, topics, config=config, timeout=timeout))


def observe_topics(
    bootstrap: str | None,
    topics: Topics,
    *,
    config: Mapping[str, Any] | None = None,
    timeout: float = _TIMEOUT,
) -> dict[str, ObservedTopic]:
    """Those of the topics that exist, with partitions and settings. Raises BrokerUnreachable."""
    return _observe(_admin(bootstrap, config), topics, timeout)[0]


def discover_topics(
    bootstrap: str | None,
    namespace: str,
    *,
    events_partitions: int = 6,
    table_partitions: int = 6,
    config: Mapping[str, Any] | None = None,
    timeout: float = _TIMEOUT,
) -> Topics:
    """The topics of a namespace with the partition counts that the cluster has.

    The given counts hold only for what does not exist yet. Where table topics disagree, the smallest count is taken,
    and verify_topics names the others. Raises BrokerUnreachable.
    """
    asked = Topics(namespace, events_partitions=events_partitions, table_partitions=table_partitions)
    counts, _ = _partition_counts(_admin(bootstrap, config), timeout)
    tables = [counts[spec.name] for spec in asked.tables() if spec.name in counts]
    return Topics(
        namespace,
        events_partitions=counts.get(asked.events.name, events_partitions),
        table_partitions=min(tables, default=table_partitions),
    )


def _admin(bootstrap: str | None, config: Mapping[str, Any] | None) -> AdminClient:
    # Its log lines go to standard error and say again what the raised error says.
    return AdminClient({"log_level": 2, **client_config(bootstrap, **(config or {}))})


def _address(bootstrap: str | None, config: Mapping[str, Any] | None) -> str:
    return str(client_config(bootstrap, **(config or {}))["bootstrap.servers"])


def _partition_counts(admin: AdminClient, timeout: float) -> tuple[dict[str, int], int]:
    try:
        metadata = admin.list_topics(timeout=timeout)
    except KafkaException as error:
        raise BrokerUnreachable("list its topics", _words(error)) from error
    counts = {name: len(t.partitions) for name, t in metadata.topics.items() if t.error is None and t.partitions}
    return counts, len(metadata.brokers)


def _observe(admin: AdminClient, topics: Topics, timeout: float) -> tuple[dict[str, ObservedTopic], int]:
    counts, brokers = _partition_counts(admin, timeout)
    present = [spec.name for spec in topics.all() if spec.name in counts]
    if not present:
        return {}, brokers
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in present]
    observed: dict[str, ObservedTopic] = {}
    for resource, answer in admin.describe_configs(resources, request_timeout=timeout).items():
        try:
            entries = answer.result()
        except KafkaException as error:
            # A topic that was made a moment ago may not be known to the broker that answers.
            if error.args[0].code() == _UNKNOWN:
                continue
            raise BrokerUnreachable(f"describe the topic {resource.name}", _words(error)) from error
        settings = {name: str(entry.value) for name, entry in entries.items() if entry.value is not None}
        observed[resource.name] = ObservedTopic(counts[resource.name], settings)
    return observed, brokers


def _await_creation(answers: Mapping[str, "Future[None]"]) -> None:
    refusals: dict[str, str] = {}
    for name, answer in answers.items():
        try:
            answer.result()
        except KafkaException as error:
            # Two starts at once: whoever came second finds it made, and verifies it like any other.
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                refusals[name] = _words(error)
    if refusals:
        raise TopicCreationFailed(refusals)


def _await_leaders(admin: AdminClient, made: list[TopicSpec], timeout: float) -> None:
    """Waits until every new partition's leader answers: metadata names it some time before it knows of its office."""
    deadline = time.monotonic() + timeout
    waiting = [TopicPartition(spec.name, number) for spec in made for number in range(spec.partitions)]
    while waiting and time.monotonic() < deadline:
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        answers = admin.list_offsets(dict.fromkeys(waiting, latest), request_timeout=timeout)
        waiting = [place for place, answer in answers.items() if answer.exception(timeout) is not None]
        if waiting:
            time.sleep(0.05)


def _await_verified(admin: AdminClient, topics: Topics, address: str, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while True:
        observed, _ = _observe(admin, topics, timeout)
        problems = find_problems(topics, observed, address)
        # Brokers learn of a new topic one after the other, so that missing ones are waited for, and nothing else.
        waiting = any(problem.kind is ProblemKind.MISSING for problem in problems)
        if not waiting or time.monotonic() >= deadline:
            _refuse(problems)
            return
        time.sleep(0.1)


def _refuse(problems: list[TopicProblem]) -> None:
    if any(problem.kind is ProblemKind.MISSING for problem in problems):
        raise TopicMissing(problems)
    if problems:
        raise TopicPolicyMismatch(problems)


def _words(error: KafkaException) -> str:
    cause = error.args[0]
    return f"{cause.name()}: {cause.str()}" if isinstance(cause, KafkaError) else str(cause)
