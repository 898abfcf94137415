"""Which batches go to the client, and which wait."""

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError

from unmask.producers import EmitterSettings
from unmask.producers.store import StoredBatch
from unmask.producers.transport import KafkaTransport


class Told:
    """Who is told what became of a batch."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, int]] = []

    def delivered(self, batch_seq: int) -> None:
        self.heard.append(("delivered", batch_seq))

    def returned(self, batch_seq: int) -> None:
        self.heard.append(("returned", batch_seq))

    def refused_as_too_large(self, batch_seq: int) -> None:
        self.heard.append(("refused", batch_seq))


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def transport(told: Told) -> Iterator[KafkaTransport]:
    """To a broker that nobody runs: what becomes of a batch, the test says."""
    made = KafkaTransport(EmitterSettings(bootstrap_servers="127.0.0.1:1"), "e-1", told, partition=2)
    yield made
    made.close()


def _batch(batch_seq: int) -> StoredBatch:
    return StoredBatch("e-1", batch_seq, b"batch", {}, closing=False, sent_at=0)


def test_until_a_partition_has_acknowledged_one_batch_it_gets_no_second(transport: KafkaTransport, told: Told) -> None:
    """A leader that is new to its office and to this client could refuse the first and take the second."""
    assert transport.may_send(2)
    assert transport.send(_batch(1))
    assert not transport.may_send(2)
    assert transport.may_send(3), "which has nothing to do with the other one"
    transport._on_delivery(told, 1, 2, None, None)
    assert transport.may_send(2)
    assert transport.send(_batch(2))
    assert transport.send(_batch(3))
    assert transport.may_send(2), "it is known there now"
    assert told.heard == [("delivered", 1)]


def test_a_first_batch_that_comes_back_is_tried_again_alone(transport: KafkaTransport, told: Told) -> None:
    assert transport.send(_batch(1))
    transport._on_delivery(told, 1, 2, KafkaError(KafkaError._MSG_TIMED_OUT), None)
    assert told.heard == [("returned", 1)]
    assert transport.may_send(2)
    assert transport.send(_batch(1))
    assert not transport.may_send(2)
