"""Outputs: what one transaction publishes of a partition, as (topic, partition, key, value) records."""

from collections.abc import Iterator
from typing import Any

from unmask.schemas.framing import Framing, SingleObjectFraming
from unmask.schemas.keys import effect_route
from unmask.schemas.topics import Topics
from unmask.streams.effects.pieces import budget_piece, effect_piece, head_piece
from unmask.streams.effects.state import PartitionState, Touched
from unmask.streams.ledger.outputs import Record

__all__ = ["Outputs"]


class Outputs:
    """Makes a partition's records."""

    def __init__(self, topics: Topics, writer: str, framing: Framing | None = None) -> None:
        self._encode = (framing or SingleObjectFraming()).encode
        self._topics = topics
        self._writer = writer

    def records(self, state: PartitionState, touched: Touched) -> Iterator[Record]:
        """Everything that a transaction must hold for this partition."""
        topic, partition = self._topics.effects_state.name, state.partition
        # The head goes first: whoever finds the transaction unfinished learns from it whose it is.
        yield Record(topic, partition, *head_piece(state, self._writer))
        for key in touched.effects:
            yield Record(topic, partition, *effect_piece(key, state.effects.get(key)))
        for budget in touched.budgets:
            yield Record(topic, partition, *budget_piece(budget, state.budgets.get(budget)))
        for decision in touched.decisions:
            yield self._decision(partition, decision)
        for entry in touched.quarantined:
            place = f"{entry['topic']}|{entry['partition']}|{entry['offset']}".encode()
            yield Record(self._topics.quarantine.name, 0, place, self._encode("quarantine", entry))

    def _decision(self, partition: int, decision: dict[str, Any]) -> Record:
        key = effect_route(decision["tenant"], decision["budget_key"]).encode()
        value = self._encode("effect_decision", decision)
        # On the partition of its request, where the host that asked is listening.
        return Record(self._topics.effects_decisions.name, partition, key, value)
