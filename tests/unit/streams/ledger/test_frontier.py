"""The frontier: what an answer about the log's end proves, and when."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from unmask.streams.ledger.broker_clock import BrokerClock
from unmask.streams.ledger.frontier import Frontier


class _Admin:
    """Holds questions back until the test answers them."""

    def __init__(self) -> None:
        self.questions: list[dict[TopicPartition, Future[Any]]] = []

    def list_offsets(self, wanted: dict[TopicPartition, Any], **_: Any) -> dict[TopicPartition, Future[Any]]:
        question: dict[TopicPartition, Future[Any]] = {target: Future() for target in wanted}
        self.questions.append(question)
        return question

    def answer(self, **ends: int | None) -> None:
        for target, future in self.questions[-1].items():
            end = ends[f"p{target.partition}"]
            if end is None:
                future.set_exception(KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE)))
            else:
                future.set_result(SimpleNamespace(offset=end))


class _Local:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _frontier() -> tuple[Frontier, _Admin, _Local]:
    local, admin = _Local(), _Admin()
    clock = BrokerClock(local)
    clock.observe(1_000)
    return Frontier(admin, "events", clock, local), admin, local  # type: ignore[arg-type]


def test_a_partition_read_to_the_end_that_stood_there_has_been_read_up_to_the_time_of_asking() -> None:
    frontier, admin, local = _frontier()
    frontier.ask({0: 3})
    local.now = 5.0
    admin.answer(p0=7)
    frontier.collect()
    assert frontier.ends == {0: 7}
    assert frontier.reached(0, 6) is None
    assert frontier.reached(0, 7) == 1_000_000
    assert frontier.reached(0, 7) is None


def test_without_the_brokers_time_nothing_is_asked() -> None:
    admin = _Admin()
    frontier = Frontier(admin, "events", BrokerClock(_Local()))  # type: ignore[arg-type]
    frontier.ask({0: 0})
    assert admin.questions == []


def test_one_question_at_a_time() -> None:
    frontier, admin, _ = _frontier()
    frontier.ask({0: 0})
    frontier.collect()
    frontier.ask({0: 0})
    assert len(admin.questions) == 1
    admin.answer(p0=0)
    frontier.collect()
    frontier.ask({0: 0})
    assert len(admin.questions) == 2


def test_under_steady_load_the_older_target_is_kept_until_it_is_reached() -> None:
    frontier, admin, local = _frontier()
    for second, end in ((0.0, 100), (1.0, 200), (2.0, 300)):
        local.now = second
        frontier.ask({0: 50})
        admin.answer(p0=end)
        frontier.collect()
    assert frontier.ends == {0: 300}
    assert frontier.reached(0, 120) == 1_000_000
    local.now = 3.0
    frontier.ask({0: 120})
    admin.answer(p0=400)
    frontier.collect()
    assert frontier.reached(0, 400) == 4_000_000


def test_a_partition_whose_leader_does_not_answer_holds_no_other_back() -> None:
    frontier, admin, local = _frontier()
    frontier.ask({0: 0, 1: 5})
    local.now = 9.0
    admin.answer(p0=None, p1=5)
    frontier.collect()
    assert frontier.reached(0, 10) is None
    assert frontier.reached(1, 5) == 1_000_000
    assert frontier.answered_at == 9.0


def test_a_partition_between_two_leaders_has_no_end_and_was_not_rewound() -> None:
    frontier, admin, _ = _frontier()
    for _ in range(3):
        frontier.ask({0: 9})
        admin.answer(p0=-1001)
        frontier.collect()
    assert frontier.rewound == {}
    assert frontier.ends == {}
    assert frontier.reached(0, 9) is None


def test_silence_of_the_broker_can_be_seen_and_is_not_mistaken_for_having_no_partitions() -> None:
    frontier, admin, local = _frontier()
    frontier.ask({0: 0})
    local.now = 30.0
    admin.answer(p0=None)
    frontier.collect()
    assert frontier.answered_at == 0.0
    frontier.ask({})
    assert frontier.answered_at == 30.0


def test_a_log_that_is_twice_found_shorter_than_what_was_read_of_it_was_rewound() -> None:
    frontier, admin, _ = _frontier()
    for expected in ({}, {0: (4, 9)}):
        frontier.ask({0: 9})
        admin.answer(p0=4)
        frontier.collect()
        assert frontier.rewound == expected


def test_a_log_that_is_found_short_once_was_a_replica_catching_up() -> None:
    frontier, admin, _ = _frontier()
    for end in (4, 9, 4, 9):
        frontier.ask({0: 9})
        admin.answer(p0=end)
        frontier.collect()
    assert frontier.rewound == {}


def test_a_partition_that_was_given_away_leaves_nothing_behind() -> None:
    frontier, admin, _ = _frontier()
    frontier.ask({0: 9})
    admin.answer(p0=9)
    frontier.collect()
    frontier.forget(0)
    assert frontier.ends == {}
    assert frontier.reached(0, 9) is None
