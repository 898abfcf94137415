"""What is wrong with topics: a pure comparison of what a cluster has with what the contract asks for.

Nothing here talks to a broker. Each fault carries its fix, since a topic is never altered silently.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from unmask.schemas.topics import Topics, TopicSpec

__all__ = ["ObservedTopic", "ProblemKind", "TopicProblem", "find_problems"]


class ProblemKind(StrEnum):
    """In which way a topic is wrong."""

    MISSING = "missing"
    """It does not exist."""
    CLEANUP_POLICY = "cleanup_policy"
    """Records that must stay are deleted, or records that must go are kept."""
    PARTITIONS = "partitions"
    """Too few partitions, or another number than its neighbours or the settings."""
    RETENTION = "retention"
    """Kept for ever, or too short."""
    TIMESTAMP_TYPE = "timestamp_type"
    """Records carry the sender's clock where the broker's is needed, or the other way round."""
    RECORD_SIZE = "record_size"
    """A record of the allowed size would be refused."""


@dataclass(frozen=True, slots=True)
class ObservedTopic:
    """A topic as the cluster has it."""

    partitions: int
    config: Mapping[str, str] = field(default_factory=dict)
    """All its settings, defaults of the broker included."""


@dataclass(frozen=True, slots=True)
class TopicProblem:
    """One fault of one topic."""

    topic: str
    kind: ProblemKind
    what: str
    """What was found and what is needed."""
    fix: str
    """A command, or a sentence where no command can do it."""


def find_problems(topics: Topics, observed: Mapping[str, ObservedTopic], bootstrap: str) -> list[TopicProblem]:
    """Every fault of the topics, in the order of the flow; empty where all is well.

    `observed` holds the topics that exist, by name; `bootstrap` is only named in the commands of the fixes.
    """
    problems: list[TopicProblem] = []
    for spec in topics.all():
        topic = observed.get(spec.name)
        if topic is None:
            fix = f"unmask topics create (it makes all missing topics of the namespace {topics.namespace})"
            problems.append(TopicProblem(spec.name, ProblemKind.MISSING, "the topic does not exist", fix))
            continue
        problems.extend(_policy(spec, topic, bootstrap))
        problems.extend(_partitions(topics, spec, observed, bootstrap))
        problems.extend(_retention(spec, topic, bootstrap))
        problems.extend(_timestamps(spec, topic, bootstrap))
        problems.extend(_size(spec, topic, bootstrap))
    return problems


def _alter(spec: TopicSpec, bootstrap: str, setting: str, value: str) -> str:
    # Kafka's own tool wants lists in brackets.
    shown = f"[{value}]" if "," in value else value
    return (
        f"kafka-configs.sh --bootstrap-server {bootstrap} --alter --entity-type topics --entity-name {spec.name} "
        f"--add-config '{setting}={shown}'"
    )


def _policy(spec: TopicSpec, topic: ObservedTopic, bootstrap: str) -> Iterator[TopicProblem]:
    needed = spec.config["cleanup.policy"]
    found = topic.config.get("cleanup.policy", "delete")
    if _policies(found) == _policies(needed):
        return
    what = f"cleanup.policy is {found or 'empty'}, needed is {needed}"
    fix = _alter(spec, bootstrap, "cleanup.policy", needed)
    if spec.compacted and _policies(found) == {"delete"}:
        fix += "  # values older than the retention may be gone already"
    yield TopicProblem(spec.name, ProblemKind.CLEANUP_POLICY, what, fix)


def _policies(text: str) -> set[str]:
    return {policy.strip() for policy in text.split(",") if policy.strip()}


def _partitions(
    topics: Topics, spec: TopicSpec, observed: Mapping[str, ObservedTopic], bootstrap: str
) -> Iterator[TopicProblem]:
    found = observed[spec.name].partitions
    needed = spec.partitions
    if spec.name != topics.events.name and topics.events.name in observed and spec in (topics.ledger, topics.fallbacks):
        # Events decide: the ledger keeps the state of events' partition p on its own partition p.
        needed = max(needed, observed[topics.events.name].partitions)
    if found == needed or (spec is topics.quarantine and found > needed):
        return
    what = f"it has {found} partitions, needed are {needed}"
    if topics.is_table(spec):
        fix = (
            f"keys would move if partitions were added: stop the workers, delete the topic and create it again with "
            f"{needed} partitions, or, where all table topics have {found}, set the table partitions to {found}"
        )
    elif found < needed:
        fix = f"kafka-topics.sh --bootstrap-server {bootstrap} --alter --topic {spec.name} --partitions {needed}"
    else:
        fix = f"set the events partitions to {found}, or take the numbers from the cluster (discover_topics)"
    yield TopicProblem(spec.name, ProblemKind.PARTITIONS, what, fix)


def _retention(spec: TopicSpec, topic: ObservedTopic, bootstrap: str) -> Iterator[TopicProblem]:
    needed = spec.config.get("retention.ms")
    if needed is None:
        return
    found = int(topic.config.get("retention.ms", "-1"))
    fix = _alter(spec, bootstrap, "retention.ms", needed)
    if found < 0:
        what = f"retention.ms is {found}: it grows for ever; needed is {needed}"
        yield TopicProblem(spec.name, ProblemKind.RETENTION, what, fix)
    elif found < int(needed):
        what = f"retention.ms is {found}, needed is at least {needed}"
        yield TopicProblem(spec.name, ProblemKind.RETENTION, what, fix)
    size = int(topic.config.get("retention.bytes", "-1"))
    if spec.compacted and size >= 0:
        what = f"retention.bytes is {size}: newest values would be deleted by size"
        yield TopicProblem(spec.name, ProblemKind.RETENTION, what, _alter(spec, bootstrap, "retention.bytes", "-1"))


def _timestamps(spec: TopicSpec, topic: ObservedTopic, bootstrap: str) -> Iterator[TopicProblem]:
    setting = "message.timestamp.type"
    needed = spec.config.get(setting)
    found = topic.config.get(setting, "CreateTime")
    if needed is not None and found != needed:
        what = f"{setting} is {found}, needed is {needed}"
        yield TopicProblem(spec.name, ProblemKind.TIMESTAMP_TYPE, what, _alter(spec, bootstrap, setting, needed))


def _size(spec: TopicSpec, topic: ObservedTopic, bootstrap: str) -> Iterator[TopicProblem]:
    setting = "max.message.bytes"
    needed = spec.config.get(setting)
    found = topic.config.get(setting)
    if needed is not None and found is not None and int(found) < int(needed):
        what = f"{setting} is {found}, needed is at least {needed}"
        yield TopicProblem(spec.name, ProblemKind.RECORD_SIZE, what, _alter(spec, bootstrap, setting, needed))
