"""Topics on a real broker: created in one call, verified, and refused where they exist and are wrong."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # re-exported without saying so

from unmask.consumers.devbroker import JvmBroker
from unmask.schemas import topic_admin
from unmask.schemas.errors import BrokerUnreachable, TopicCreationFailed, TopicMissing, TopicPolicyMismatch
from unmask.schemas.topic_admin import create_topics, discover_topics, observe_topics, require_topics, verify_topics
from unmask.schemas.topic_problems import ProblemKind
from unmask.schemas.topics import Topics, TopicSpec

pytestmark = pytest.mark.integration


def make(bootstrap: str, spec: TopicSpec, partitions: int | None = None, **changed: str) -> None:
    """Somebody else creates a topic, with settings changed from what is needed."""
    config = {**spec.config, **{name.replace("_", "."): value for name, value in changed.items()}}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    new = NewTopic(spec.name, partitions or spec.partitions, 1, config=config)
    admin.create_topics([new], operation_timeout=30)[spec.name].result()


def test_all_topics_are_created_in_one_call_with_a_configuration_that_kafka_takes(
    kafka: str, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case V02."""
    calls: list[int] = []

    class Counting(AdminClient):
        def create_topics(self, new_topics: Any, **options: Any) -> Any:  # type: ignore[override]
            calls.append(len(new_topics))
            return super().create_topics(new_topics, **options)

    monkeypatch.setattr(topic_admin, "AdminClient", Counting)
    topics = Topics(namespace, events_partitions=3, table_partitions=2)
    done = create_topics(kafka, topics)
    assert calls == [len(topics.all())]
    assert done.created == tuple(spec.name for spec in topics.all())
    assert done.existed == ()
    assert verify_topics(kafka, topics) == []
    require_topics(kafka, topics)
    for name, topic in observe_topics(kafka, topics).items():
        spec = next(spec for spec in topics.all() if spec.name == name)
        assert topic.partitions == spec.partitions
        assert spec.config.items() <= topic.config.items()


def test_creating_again_changes_nothing(kafka: str, namespace: str) -> None:
    topics = Topics(namespace, events_partitions=1, table_partitions=1)
    create_topics(kafka, topics)
    again = create_topics(kafka, topics)
    assert again.created == ()
    assert len(again.existed) == len(topics.all())


def test_a_verdict_topic_with_the_delete_policy_is_refused_and_not_altered(kafka: str, namespace: str) -> None:
    """Case V01."""
    topics = Topics(namespace, events_partitions=1, table_partitions=1)
    make(kafka, topics.verdicts, cleanup_policy="delete")
    with pytest.raises(TopicPolicyMismatch) as refused:
        create_topics(kafka, topics)
    (problem,) = refused.value.problems
    assert problem.topic == topics.verdicts.name
    assert problem.kind is ProblemKind.CLEANUP_POLICY
    assert "kafka-configs.sh" in problem.fix
    assert problem.fix in str(refused.value)
    observed = observe_topics(kafka, topics)
    assert list(observed) == [topics.verdicts.name], "nothing else was created beside a wrong topic"
    assert observed[topics.verdicts.name].config["cleanup.policy"] == "delete"


def test_a_topic_that_the_broker_made_by_itself_is_refused(kafka: str, namespace: str) -> None:
    topics = Topics(namespace, events_partitions=2, table_partitions=2)
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([NewTopic(topics.events.name, 1, 1)], operation_timeout=30)[topics.events.name].result()
    kinds = {p.kind for p in verify_topics(kafka, topics) if p.topic == topics.events.name}
    assert kinds == {ProblemKind.PARTITIONS, ProblemKind.TIMESTAMP_TYPE}


def test_missing_topics_are_another_error_than_wrong_ones(kafka: str, namespace: str) -> None:
    topics = Topics(namespace)
    with pytest.raises(TopicMissing) as refused:
        require_topics(kafka, topics)
    assert len(refused.value.problems) == len(topics.all())
    assert "unmask topics create" in str(refused.value)


def test_partition_counts_are_taken_from_the_cluster(kafka: str, namespace: str) -> None:
    assert discover_topics(kafka, namespace, events_partitions=5).events_partitions == 5
    create_topics(kafka, Topics(namespace, events_partitions=3, table_partitions=2))
    found = discover_topics(kafka, namespace)
    assert (found.events_partitions, found.table_partitions) == (3, 2)
    assert verify_topics(kafka, found) == []


def test_unequal_tables_are_found_by_discovery_and_named_by_verification(kafka: str, namespace: str) -> None:
    topics = Topics(namespace, events_partitions=1, table_partitions=2)
    make(kafka, topics.tallies)
    make(kafka, topics.windows, partitions=4)
    found = discover_topics(kafka, namespace)
    assert found.table_partitions == 2
    problems = [p for p in verify_topics(kafka, found) if p.kind is not ProblemKind.MISSING]
    assert [(p.topic, p.kind) for p in problems] == [(topics.windows.name, ProblemKind.PARTITIONS)]


def test_more_replicas_than_brokers_are_refused_in_the_brokers_words(kafka: str, namespace: str) -> None:
    with pytest.raises(TopicCreationFailed, match="INVALID_REPLICATION_FACTOR"):
        create_topics(kafka, Topics(namespace), replication=9)


def test_a_cluster_that_does_not_answer_is_named_and_not_mistaken_for_an_empty_one(namespace: str) -> None:
    with pytest.raises(BrokerUnreachable, match="KAFKA_BOOTSTRAP_SERVERS"):
        verify_topics("127.0.0.1:9", Topics(namespace), timeout=1)


def test_with_three_brokers_everything_is_kept_three_times_and_written_twice(
    jvm_broker: Callable[..., JvmBroker], namespace: str
) -> None:
    bootstrap = jvm_broker(nodes=3).bootstrap
    topics = Topics(namespace, events_partitions=1, table_partitions=1)
    assert create_topics(bootstrap, topics).replication == 3
    metadata = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=30)
    for spec in topics.all():
        assert [len(p.replicas) for p in metadata.topics[spec.name].partitions.values()] == [3] * spec.partitions
    for topic in observe_topics(bootstrap, topics).values():
        assert topic.config["min.insync.replicas"] == "2"
