"""Whether a ledger runs, and how far behind the events it is."""

from collections.abc import Iterator
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from unmask.consumers.doctor.finding import Finding, Status
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import TopicNotThere, TopicUnreadable, explain
from unmask.schemas.kafka import client_config
from unmask.schemas.topics import Topics

__all__ = ["check_ledger_group", "lag_by_partition"]


def check_ledger_group(bootstrap: str, namespace: str, timeout: float, *, max_lag: int) -> Iterator[Finding]:
    """Members of the ledger's consumer group and its lag, in records; a failure above `max_lag`."""
    group = f"{namespace}.ledger"
    source = TopicSource(Topics(namespace).events.name, bootstrap, compacted=False)
    settings: dict[str, Any] = {"log_level": 2, **client_config(bootstrap)}
    admin = AdminClient(settings)
    try:
        partitions = range(source.shape(timeout).partitions)
        starts = source.start_offsets(partitions, timeout)
        ends = source.end_offsets(partitions, timeout)
        description = admin.describe_consumer_groups([group], request_timeout=timeout)[group].result(timeout=timeout)
        committed = _committed(admin, group, source.topic, len(partitions), timeout)
    except TopicNotThere:
        # Said already, with its fix, by the check of the topics.
        return
    except (TopicUnreadable, KafkaException, TimeoutError) as error:
        named = error if isinstance(error, TopicUnreadable) else explain(error, f"the group {group}", bootstrap)
        fix = "grant this client's principal Describe on the group and on the event topic"
        yield Finding("ledger", Status.FAILED, str(named), fix)
        return
    members = len(description.members)
    if members == 0:
        detail = f"the group {group} has no member: nothing is counted"
        yield Finding("ledger", Status.WARNING, detail, "start a worker: unmask stream")
    else:
        yield Finding("ledger", Status.OK, f"the group {group} has {members} member(s)")
    lags = lag_by_partition(starts, ends, committed)
    total, worst = sum(lags.values()), max(lags, key=lags.__getitem__)
    detail = f"{total} record(s) behind, at most {lags[worst]} on partition {worst}"
    if total > max_lag:
        fix = "look at the workers' logs and readiness, or start more of them (at most one for each event partition)"
        yield Finding("ledger lag", Status.FAILED, detail, fix)
    else:
        yield Finding("ledger lag", Status.OK, detail)


def lag_by_partition(starts: dict[int, int], ends: dict[int, int], committed: dict[int, int]) -> dict[int, int]:
    """Records that stand on the topic and are not read yet, by partition; without a commit, all of them."""
    return {
        partition: max(0, end - max(committed.get(partition, -1), starts[partition])) for partition, end in ends.items()
    }


def _committed(admin: AdminClient, group: str, topic: str, partitions: int, timeout: float) -> dict[int, int]:
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, p) for p in range(partitions)])
    answer = admin.list_consumer_group_offsets([asked], request_timeout=timeout)[group].result(timeout=timeout)
    return {place.partition: place.offset for place in answer.topic_partitions}
