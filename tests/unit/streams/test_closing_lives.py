"""A life of either ledger that closes: what its client calls back then asks the client nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from unmask.schemas.framing import SingleObjectFraming
from unmask.schemas.topics import Topics
from unmask.streams.effects.life import EffectsLife
from unmask.streams.effects.service import rules_from as effect_rules
from unmask.streams.effects.status import EffectsProgress
from unmask.streams.ledger.life import Life
from unmask.streams.ledger.membership import Membership
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.status import Progress
from unmask.streams.settings import StreamSettings

_SETTINGS = StreamSettings(bootstrap="127.0.0.1:1", instance="w-0")
_TOPICS = Topics("unmask")


class ClosingClient:
    """Calls back while it closes, as a group's consumer does; to ask it for its membership then may never end."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[Any, list[TopicPartition]], None]] = []
        self.asked: list[str] = []
        self.drained = self.closed = False

    def consumer_group_metadata(self) -> bytes:
        self.asked.append("membership")
        return b""

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        self.asked.append("assign")

    def consume(self, most: int, timeout: float) -> list[object]:
        """What waits in the queue is called back before anything is closed."""
        for callback in self.callbacks:
            callback(self, [TopicPartition("unmask.events", 0)])
        self.drained = True
        return []

    def close(self) -> None:
        assert self.drained
        for callback in self.callbacks:
            callback(self, [TopicPartition("unmask.events", 0)])
        self.closed = True


def _ledger() -> Life:
    return Life(_SETTINGS, _TOPICS, FoldRules(), SingleObjectFraming(), Progress())


def _effects() -> EffectsLife:
    return EffectsLife(_SETTINGS, _TOPICS, effect_rules(_SETTINGS), SingleObjectFraming(), EffectsProgress())


@pytest.mark.parametrize("begin", [_ledger, _effects])
def test_a_rebalance_while_a_life_closes_asks_its_client_for_nothing(begin: Callable[[], Any]) -> None:
    life, client = begin(), ClosingClient()
    life._consumer, life._membership = client, Membership(client)  # type: ignore[arg-type]
    client.callbacks = [life._on_assign, life._on_revoke]
    life.close()
    assert client.closed
    assert client.asked == []
