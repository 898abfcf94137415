"""Offsets of a topic are those that the broker told, or an error."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, TopicPartition
from confluent_kafka.admin import AdminClient

from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import BrokerSilent


@pytest.mark.parametrize("which", ["start_offsets", "end_offsets"])
def test_an_answer_that_did_not_come_in_time_is_no_offset(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client resolves such a question with an invalid offset and no error, as a stopped broker shows."""
    told = {0: 7, 1: OFFSET_INVALID}

    def list_offsets(_: AdminClient, wanted: dict[TopicPartition, Any], **__: Any) -> dict[TopicPartition, Any]:
        answers: dict[TopicPartition, Any] = {}
        for place in wanted:
            answers[place] = Future()
            answers[place].set_result(SimpleNamespace(offset=told[place.partition]))
        return answers

    monkeypatch.setattr(AdminClient, "list_offsets", list_offsets)
    ask = getattr(TopicSource("unmask.verdicts", "localhost:1"), which)
    assert ask([0], 1.0) == {0: 7}
    with pytest.raises(BrokerSilent, match="did not tell the offsets in time"):
        ask([0, 1], 1.0)
