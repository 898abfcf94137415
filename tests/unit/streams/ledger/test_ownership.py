"""Partitions that the group has given to nobody are noticed, and by whom something is done about them."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from confluent_kafka import ConsumerGroupState, KafkaException, TopicPartition

from unmask.streams.ledger.ownership import Ownership


class Group:
    """A group's coordinator, with a clock that stands until it is told to go on."""

    def __init__(self) -> None:
        self.now = 100.0
        self.state = ConsumerGroupState.STABLE
        self.owned = {"w-b": [0, 1], "w-a": [2]}
        self.asked = 0
        self.answers = True
        self.fails = False
        self.ownership = Ownership(self, "g", "events", 4, lambda: self.now)  # type: ignore[arg-type]

    def describe_consumer_groups(self, groups: list[str], request_timeout: float) -> dict[str, Future[Any]]:
        self.asked += 1
        future: Future[Any] = Future()
        if self.fails:
            future.set_exception(KafkaException("coordinator moves"))
        elif self.answers:
            members = [
                SimpleNamespace(
                    member_id=name,
                    assignment=SimpleNamespace(topic_partitions=[
                        *(TopicPartition("events", partition) for partition in owned), TopicPartition("other", 3),
                    ]),
                )
                for name, owned in self.owned.items()
            ]  # fmt: skip
            future.set_result(SimpleNamespace(state=self.state, members=members))
        return dict.fromkeys(groups, future)

    def goes_on(self, seconds: float) -> list[int]:
        """Looks every tenth of a second, as a worker does; what has no owner then."""
        for _ in range(round(seconds * 10)):
            self.now += 0.1
            self.ownership.look()
        return self.ownership.orphans()


def test_a_partition_without_an_owner_is_told_of_once_that_has_lasted() -> None:
    group = Group()
    assert group.goes_on(10) == []
    assert group.goes_on(10) == [3]
    assert group.ownership.first_member == "w-a"


def test_nothing_is_told_where_everything_has_an_owner() -> None:
    group = Group()
    group.owned["w-c"] = [3]
    assert group.goes_on(60) == []


def test_a_rebalance_that_is_under_way_has_its_time() -> None:
    group = Group()
    for _ in range(5):
        assert group.goes_on(9) == []
        group.state = ConsumerGroupState.PREPARING_REBALANCING
        assert group.goes_on(9) == []
        group.state = ConsumerGroupState.STABLE


def test_a_question_that_fails_changes_nothing_and_is_asked_again() -> None:
    group = Group()
    group.goes_on(10)
    group.fails = True
    assert group.goes_on(10) == [3]
    group.fails, group.owned["w-c"] = False, [3]
    assert group.goes_on(10) == []


def test_no_second_question_is_asked_while_one_is_under_way() -> None:
    group = Group()
    group.answers = False
    group.goes_on(60)
    assert group.asked == 1
