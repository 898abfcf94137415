"""What a tenant's effects came to, as the decisions tell it."""

from typing import Any

from tests.unit.streams.effects.asking import KEY, Asked

from unmask.consumers.effects import Book, State
from unmask.consumers.effects.book import EffectLine
from unmask.schemas.models import EffectDecision, from_avro


class Told(Asked):
    """A ledger whose decisions a book reads."""

    def book(self, tenant: str = "acme") -> Book:
        book = Book(tenant)
        for decision in self.state.touched.decisions:
            book.take(from_avro(EffectDecision, decision))
        return book

    def only(self) -> tuple[State, EffectLine]:
        book = self.book()
        (line,) = book
        return book.state_of(line), line


def test_each_end_of_a_lease_is_a_state_of_its_own() -> None:
    told = Told()
    token = told.claim(0).fencing_token
    assert told.only()[0] is State.HELD
    told.say(1, "release", token)
    assert told.only()[0] is State.RELEASED
    token = told.claim(2).fencing_token
    told.say(12, "expire", token)
    assert told.only()[0] is State.LAPSED
    told.commit(14, told.claim(13).fencing_token)
    state, line = told.only()
    assert (state, line.newest.receipt, line.newest.attempts) == (State.COMMITTED, "receipt-1", 3)
    told.claim(15, holder="other")
    told.commit(16, token, "late")
    state, newest = told.only()[0], told.only()[1]
    assert (state, newest.token) == (State.COMMITTED, line.token), "what comes later changes nothing"


def test_a_lease_is_over_by_the_logs_time_before_anybody_says_so() -> None:
    told = Told()
    told.claim(0)
    told.claim(9, KEY._replace(tenant="beta"))
    assert told.only()[0] is State.HELD
    told.claim(10, KEY._replace(tenant="beta"), holder="other")
    assert told.only()[0] is State.LAPSED


def test_a_late_commit_says_that_the_lease_was_over() -> None:
    told = Told()
    told.commit(11, told.claim(0).fencing_token)
    state, line = told.only()
    assert (state, line.newest.late_receipt) == (State.LAPSED, "receipt-1")


def test_what_was_never_granted_is_refused() -> None:
    told = Told()
    told.claim(0, KEY._replace(failure="other"), budget_limit=1)
    told.claim(0, budget_limit=1)
    book = told.book()
    states = {line.failure: book.state_of(line) for line in book}
    assert states == {"other": State.HELD, "quota": State.REFUSED}
    assert book.budgets() == {"conversation-7": (1, 1)}


def test_a_commit_whose_grant_is_no_longer_in_the_log_is_known_all_the_same() -> None:
    told = Told()
    token = told.claim(0).fencing_token
    told.commit(1, token)
    told.claim(2, holder="other")
    del told.state.touched.decisions[:2]
    state, line = told.only()
    assert (state, line.token, line.newest.receipt) == (State.COMMITTED, token, "receipt-1")


def test_a_book_holds_nothing_of_other_tenants() -> None:
    told = Told()
    told.claim(0)
    told.claim(1, KEY._replace(tenant="beta"))
    assert [line.tenant for line in told.book()] == ["acme"]
    assert [line.tenant for line in told.book("beta")] == ["beta"]
    assert len(told.book("gamma")) == 0


def test_an_effect_is_found_by_its_id_or_the_beginning_of_it() -> None:
    told = Told()
    for number in range(20):
        told.claim(number, KEY._replace(failure=f"failure-{number}"))
    book = told.book()
    lines: list[Any] = list(book)
    assert [line.failure for line in lines] == [f"failure-{number}" for number in range(19, -1, -1)], "newest first"
    for line in lines:
        assert book.find(line.effect_id) == [line]
        assert line in book.find(line.effect_id[: len("sha256-") + 2])
        assert book.find(line.effect_id.removeprefix("sha256-")[:12]) == [line]
    assert book.find("sha256-nothing") == []
    assert book.find("") == lines
