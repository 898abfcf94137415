"""Every way in which a topic can be wrong is found, and each comes with its fix."""

import dataclasses
from collections.abc import Callable

import pytest

from unmask.schemas.topic_problems import ObservedTopic, ProblemKind, find_problems
from unmask.schemas.topics import Topics, TopicSpec

TOPICS = Topics("test", events_partitions=4, table_partitions=3)


def observed(topics: Topics = TOPICS) -> dict[str, ObservedTopic]:
    """The topics as create_topics would have made them, with the broker's defaults."""
    defaults = {"max.message.bytes": "1048588", "message.timestamp.type": "CreateTime", "retention.bytes": "-1"}
    return {
        spec.name: ObservedTopic(spec.partitions, {"retention.ms": "604800000", **defaults, **spec.config})
        for spec in topics.all()
    }


def with_setting(spec: TopicSpec, setting: str, value: str) -> dict[str, ObservedTopic]:
    topics = observed()
    found = topics[spec.name]
    topics[spec.name] = dataclasses.replace(found, config={**found.config, setting: value})
    return topics


def with_partitions(spec: TopicSpec, partitions: int) -> dict[str, ObservedTopic]:
    topics = observed()
    topics[spec.name] = dataclasses.replace(topics[spec.name], partitions=partitions)
    return topics


def test_topics_as_they_are_created_have_no_problems() -> None:
    assert find_problems(TOPICS, observed(), "b:1") == []


def test_each_missing_topic_is_named() -> None:
    problems = find_problems(TOPICS, {}, "b:1")
    assert [p.topic for p in problems] == [spec.name for spec in TOPICS.all()]
    assert {p.kind for p in problems} == {ProblemKind.MISSING}


def test_a_verdict_topic_that_deletes_is_refused_with_the_command_that_repairs_it() -> None:
    (problem,) = find_problems(TOPICS, with_setting(TOPICS.verdicts, "cleanup.policy", "delete"), "b:1")
    assert problem.topic == "test.verdicts"
    assert problem.kind is ProblemKind.CLEANUP_POLICY
    assert "--bootstrap-server b:1" in problem.fix
    assert "--add-config 'cleanup.policy=[compact,delete]'" in problem.fix
    assert "gone already" in problem.fix


def test_the_order_of_policies_does_not_matter() -> None:
    assert find_problems(TOPICS, with_setting(TOPICS.verdicts, "cleanup.policy", "delete, compact"), "b:1") == []


def test_a_ledger_that_also_deletes_is_refused() -> None:
    (problem,) = find_problems(TOPICS, with_setting(TOPICS.ledger, "cleanup.policy", "compact,delete"), "b:1")
    assert problem.kind is ProblemKind.CLEANUP_POLICY
    assert "cleanup.policy=compact'" in problem.fix


def test_events_that_are_compacted_are_refused() -> None:
    (problem,) = find_problems(TOPICS, with_setting(TOPICS.events, "cleanup.policy", "compact"), "b:1")
    assert problem.kind is ProblemKind.CLEANUP_POLICY


@pytest.mark.parametrize("spec", [TOPICS.ledger, TOPICS.fallbacks], ids=lambda spec: str(spec.name))
def test_too_few_partitions_are_named_with_the_command_that_adds_them(spec: TopicSpec) -> None:
    (problem,) = find_problems(TOPICS, with_partitions(spec, 2), "b:1")
    assert problem.kind is ProblemKind.PARTITIONS
    assert problem.fix == f"kafka-topics.sh --bootstrap-server b:1 --alter --topic {spec.name} --partitions 4"


def test_when_events_grew_the_ledger_must_grow_with_them() -> None:
    grown = Topics("test", events_partitions=8, table_partitions=3)
    topics = observed() | {grown.events.name: ObservedTopic(8, observed()[grown.events.name].config)}
    problems = find_problems(grown, topics, "b:1")
    assert [(p.topic, p.kind) for p in problems] == [
        ("test.ledger", ProblemKind.PARTITIONS),
        ("test.fallbacks", ProblemKind.PARTITIONS),
    ]


def test_settings_that_know_fewer_partitions_than_there_are_would_prove_too_much() -> None:
    problems = find_problems(TOPICS, with_partitions(TOPICS.events, 8), "b:1")
    assert problems[0].topic == "test.events"
    assert "discover_topics" in problems[0].fix


@pytest.mark.parametrize("spec", TOPICS.tables(), ids=lambda spec: str(spec.name))
@pytest.mark.parametrize("partitions", [1, 5])
def test_a_table_with_another_partition_count_than_the_others_is_refused(spec: TopicSpec, partitions: int) -> None:
    (problem,) = find_problems(TOPICS, with_partitions(spec, partitions), "b:1")
    assert (problem.topic, problem.kind) == (spec.name, ProblemKind.PARTITIONS)
    assert "keys would move" in problem.fix


@pytest.mark.parametrize("kept", ["-1", "60000"])
@pytest.mark.parametrize("pick", [lambda t: t.events, lambda t: t.verdicts, lambda t: t.windows])
def test_no_retention_and_too_short_retention_are_refused(pick: Callable[[Topics], TopicSpec], kept: str) -> None:
    spec = pick(TOPICS)
    (problem,) = find_problems(TOPICS, with_setting(spec, "retention.ms", kept), "b:1")
    assert problem.kind is ProblemKind.RETENTION
    assert f"retention.ms={spec.config['retention.ms']}" in problem.fix


def test_longer_retention_is_allowed() -> None:
    assert find_problems(TOPICS, with_setting(TOPICS.events, "retention.ms", str(10**12)), "b:1") == []


def test_a_compacted_topic_that_deletes_by_size_is_refused() -> None:
    (problem,) = find_problems(TOPICS, with_setting(TOPICS.verdicts, "retention.bytes", "1000000"), "b:1")
    assert problem.kind is ProblemKind.RETENTION
    assert "retention.bytes=-1" in problem.fix


@pytest.mark.parametrize("spec", [TOPICS.events, TOPICS.ledger], ids=lambda spec: str(spec.name))
def test_events_and_ledger_must_be_stamped_by_the_broker(spec: TopicSpec) -> None:
    (problem,) = find_problems(TOPICS, with_setting(spec, "message.timestamp.type", "CreateTime"), "b:1")
    assert problem.kind is ProblemKind.TIMESTAMP_TYPE
    assert "message.timestamp.type=LogAppendTime" in problem.fix


def test_events_must_take_records_of_the_allowed_size() -> None:
    (problem,) = find_problems(TOPICS, with_setting(TOPICS.events, "max.message.bytes", "1000"), "b:1")
    assert problem.kind is ProblemKind.RECORD_SIZE


def test_one_topic_may_have_several_problems() -> None:
    topics = with_setting(TOPICS.events, "retention.ms", "-1")
    found = topics[TOPICS.events.name]
    topics[TOPICS.events.name] = ObservedTopic(1, {**found.config, "message.timestamp.type": "CreateTime"})
    kinds = {p.kind for p in find_problems(TOPICS, topics, "b:1") if p.topic == TOPICS.events.name}
    assert kinds == {ProblemKind.PARTITIONS, ProblemKind.RETENTION, ProblemKind.TIMESTAMP_TYPE}
