"""What the client reports, as errors that say what to do."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from unmask.consumers.unreadable import (
    BrokerSilent,
    TopicForbidden,
    TopicNotThere,
    TopicRewound,
    TopicUnreadable,
    explain,
)


@pytest.mark.parametrize(
    ("code", "named", "advice"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, TopicForbidden, "Grant"),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, TopicForbidden, "Grant"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, TopicNotThere, "unmask topics create"),
        (KafkaError._UNKNOWN_PARTITION, TopicNotThere, "unmask topics create"),
        (KafkaError._AUTO_OFFSET_RESET, TopicRewound, "read again"),
        (KafkaError._TRANSPORT, BrokerSilent, "KAFKA_BOOTSTRAP_SERVERS"),
        (KafkaError._TIMED_OUT, BrokerSilent, "KAFKA_BOOTSTRAP_SERVERS"),
    ],
)
def test_each_trouble_has_a_name_and_an_advice(code: int, named: type[TopicUnreadable], advice: str) -> None:
    for error in (KafkaError(code), KafkaException(KafkaError(code))):
        explained = explain(error, "unmask.verdicts", "kafka:9092")
        assert type(explained) is named
        assert advice in str(explained)


def test_a_timeout_of_the_client_is_a_silent_broker() -> None:
    explained = explain(TimeoutError(), "unmask.verdicts", "kafka:9092")
    assert isinstance(explained, BrokerSilent)
    assert "kafka:9092" in str(explained)
