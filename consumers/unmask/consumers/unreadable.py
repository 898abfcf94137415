"""Why a topic cannot be read, each as a named error whose text says what to do."""

from confluent_kafka import KafkaError, KafkaException

__all__ = [
    "BrokerSilent",
    "TopicForbidden",
    "TopicNotThere",
    "TopicRewound",
    "TopicUnreadable",
    "TopicWrongPolicy",
    "explain",
]

_FORBIDDEN = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
}
_NOT_THERE = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.UNKNOWN_TOPIC_ID,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._NOENT,
}
_REWOUND = {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE}


class TopicUnreadable(Exception):
    """A topic cannot be read to its end. The text is a sentence or two: the cause, and what to do."""


class BrokerSilent(TopicUnreadable):
    """No broker answered in time, or the connection was refused."""

    def __init__(self, bootstrap: str, detail: str) -> None:
        super().__init__(
            f"No Kafka broker at {bootstrap} answered ({detail}). Check the address in KAFKA_BOOTSTRAP_SERVERS, that "
            "the broker runs, and the UNMASK_KAFKA_* security settings."
        )


class TopicNotThere(TopicUnreadable):
    """The topic does not exist."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"The topic {topic} does not exist. Create it with: unmask topics create")


class TopicForbidden(TopicUnreadable):
    """The broker does not let this client read or describe the topic."""

    def __init__(self, topic: str, detail: str) -> None:
        super().__init__(
            f"This client may not read {topic} ({detail}). Grant its principal Read, Describe and DescribeConfigs on "
            "that topic."
        )


class TopicWrongPolicy(TopicUnreadable):
    """The topic is not compacted, so that what it holds may be gone without a trace."""

    def __init__(self, topic: str, found: str) -> None:
        super().__init__(
            f"The topic {topic} has cleanup.policy={found or 'none'}, not compact: newest values may be deleted, so "
            "that it proves nothing. See the fix that `unmask topics check` names."
        )


class TopicRewound(TopicUnreadable):
    """The topic's offsets went backwards or were trimmed while it was read: it was recreated, or its head deleted."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"The topic {topic} was recreated or trimmed while it was read. It is read again.")


def explain(error: KafkaError | KafkaException | TimeoutError, topic: str, bootstrap: str) -> TopicUnreadable:
    """The named error behind what the client reported about `topic`."""
    if isinstance(error, KafkaException):
        inner = error.args[0] if error.args else None
        if not isinstance(inner, KafkaError):
            return BrokerSilent(bootstrap, type(error).__name__)
        error = inner
    if isinstance(error, TimeoutError):
        return BrokerSilent(bootstrap, "timed out")
    code = error.code()
    if code in _FORBIDDEN:
        return TopicForbidden(topic, error.name())
    if code in _NOT_THERE:
        return TopicNotThere(topic)
    if code in _REWOUND:
        return TopicRewound(topic)
    return BrokerSilent(bootstrap, f"{error.name()}: {error.str()}")
