"""Which decision is for whom; and what is done with a lease that came when nobody waited any more."""

from typing import Any

import pytest
from tests.unit.producers.effects.decided import decision

from unmask.producers.effects import questions as module
from unmask.producers.effects.questions import Question, Questions


class Asked:
    def __init__(self) -> None:
        self.stray: list[dict[str, Any]] = []
        self.questions = Questions(self.stray.append)

    def open(self) -> Question:
        return self.questions.open({"request_id": "q-1"})


def test_the_first_decision_is_the_answer() -> None:
    asked = Asked()
    question = asked.open()
    asked.questions.take(decision("HELD_BY_ANOTHER"))
    asked.questions.take(decision("BUDGET_SPENT"))
    assert question.answered.is_set()
    assert asked.questions.close(question) == decision("HELD_BY_ANOTHER")
    assert asked.stray == []


def test_a_repeated_grant_of_the_lease_that_was_taken_is_nothing_new() -> None:
    asked = Asked()
    question = asked.open()
    granted = decision("GRANTED", fencing_token=8)
    asked.questions.take(granted)
    asked.questions.take(granted)
    asked.questions.close(question)
    asked.questions.take(granted)
    assert asked.stray == []


@pytest.mark.parametrize("closed", [True, False])
def test_a_lease_that_follows_another_answer_is_given_back(*, closed: bool) -> None:
    asked = Asked()
    question = asked.open()
    asked.questions.take(decision("HELD_BY_ANOTHER"))
    if closed:
        asked.questions.close(question)
    granted = decision("GRANTED", fencing_token=8)
    asked.questions.take(granted)
    assert asked.stray == [granted]


def test_a_lease_that_comes_after_the_timeout_is_given_back() -> None:
    asked = Asked()
    assert asked.questions.close(asked.open()) is None
    granted = decision("GRANTED", fencing_token=8)
    asked.questions.take(granted)
    assert asked.stray == [granted]


def test_a_decision_about_what_nobody_asked_here_is_passed_over() -> None:
    asked = Asked()
    asked.questions.take(decision("GRANTED", fencing_token=8))
    assert asked.stray == []


def test_only_so_many_answered_questions_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED", 2)
    asked = Asked()
    for number in range(3):
        asked.questions.close(asked.questions.open({"request_id": f"q-{number}"}))
    asked.questions.take(decision("GRANTED", fencing_token=8, request_id="q-0"))
    assert asked.stray == [], "its lease ends by its time"
    asked.questions.take(decision("GRANTED", fencing_token=8, request_id="q-1"))
    assert len(asked.stray) == 1


def test_a_lease_is_measured_from_the_sending_of_the_copy_that_was_decided() -> None:
    question = Question({})
    granted = decision("GRANTED", offset=7, decided_at=5_000_000, lease_until=8_000_000)
    assert question.lease_deadline(granted) == 0.0, "never sent: never held"
    question.sent_at = 100.0
    assert question.lease_deadline(granted) == 102.999, "where the copy is not known, the first counts"
    question.delivered(7, 110.0)
    assert question.lease_deadline(granted) == 112.999, "a millisecond less: append times are cut off at whole ones"
    assert question.lease_deadline(decision("COMMITTED")) == 0.0
