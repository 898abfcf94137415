"""What ends a ledger names itself and what to do."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from unmask.streams.ledger.errors import (
    BrokerRefuses,
    LedgerStalled,
    LogRewound,
    PartitionsAdded,
    WorkerNameTaken,
    is_fencing,
    is_refusal,
)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (LogRewound("ns.events", 3, "ends at 4, but 9 records were counted"), ["ns.events", "3", "4", "namespace"]),
        (LedgerStalled(121.5, ValueError("no")), ["122 s", "ValueError", "check the broker", "start the worker again"]),
        (BrokerRefuses(ValueError("no")), ["UNMASK_KAFKA_", "rights"]),
        (WorkerNameTaken("w-1"), ["w-1", "--instance"]),
        (PartitionsAdded("ns.events", 6), ["ns.events", "6", "start all workers"]),
    ],
)
def test_an_error_says_what_is_wrong_and_what_to_do(error: Exception, words: list[str]) -> None:
    assert all(word in str(error) for word in words)


def test_a_missing_right_is_told_from_a_broker_that_is_away() -> None:
    assert is_refusal(KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)))
    assert is_refusal(KafkaException(KafkaError(KafkaError._AUTHENTICATION)))
    assert not is_refusal(KafkaException(KafkaError(KafkaError._TRANSPORT)))
    assert not is_refusal(ValueError("no"))


def test_a_fencing_is_told_from_other_errors() -> None:
    assert is_fencing(KafkaException(KafkaError(KafkaError._FENCED)))
    assert is_fencing(KafkaException(KafkaError(KafkaError.INVALID_PRODUCER_EPOCH)))
    assert not is_fencing(KafkaException(KafkaError(KafkaError.ILLEGAL_GENERATION)))
    assert not is_fencing(KafkaException("no"))
