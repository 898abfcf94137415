"""What of the alerts goes out."""

from typing import Any

from tests.table_records import at

from unmask.schemas.codes import AlertKind
from unmask.streams.tables.alert_board import AlertBoard
from unmask.streams.tables.alerts import alert, alert_id, resolved

IDENTITY = alert_id(AlertKind.SILENT_EMITTER, "e1")


def firing(since: float = 0, **facts: int) -> dict[str, Any]:
    return alert(IDENTITY, AlertKind.SILENT_EMITTER, since=at(since), emitter_id="e1", facts=facts)


def test_a_new_condition_is_published_once() -> None:
    board = AlertBoard()
    assert board.offer(firing(), 1) == {**firing(), "revision": 1}
    assert board.offer(firing(), 2) is None


def test_a_condition_that_never_fired_is_not_reported_as_resolved() -> None:
    assert AlertBoard().offer(resolved(firing(), at(1)), 1) is None


def test_a_resolution_is_published_once() -> None:
    board = AlertBoard()
    board.offer(firing(), 1)
    first = board.offer(resolved(firing(), at(1)), 2)
    assert first is not None
    assert (first["state"], first["until"]) == ("RESOLVED", at(1))
    assert board.offer(resolved(firing(), at(2)), 3) is None
    assert board.firing() == []


def test_what_fires_again_is_published_again() -> None:
    board = AlertBoard()
    board.offer(firing(), 1)
    board.offer(resolved(firing(), at(1)), 2)
    again = board.offer(firing(since=3), 3)
    assert again is not None
    assert (again["state"], again["since"]) == ("FIRING", at(3))


def test_what_still_fires_keeps_its_beginning_over_a_restart() -> None:
    board = AlertBoard()
    board.note(IDENTITY, {**firing(since=0), "revision": 5})
    assert board.offer(firing(since=4), 9) is None


def test_new_facts_are_published() -> None:
    board = AlertBoard()
    board.offer(firing(missing=1), 1)
    changed = board.offer(firing(missing=2), 2)
    assert changed is not None
    assert changed["facts"] == {"missing": 2}


def test_a_newer_word_of_another_worker_stands() -> None:
    board = AlertBoard()
    board.note(IDENTITY, {**firing(missing=9), "revision": 50})
    assert board.offer(firing(missing=1), 40) is None


def test_whatever_of_a_kind_no_longer_holds_is_resolved() -> None:
    board = AlertBoard()
    board.offer(firing(), 1)
    (over,) = board.settle(AlertKind.SILENT_EMITTER.value, [], until=at(2), revision=2)
    assert (over["state"], over["until"]) == ("RESOLVED", at(2))
    assert board.settle(AlertKind.SILENT_EMITTER.value, [], until=at(3), revision=3) == []


def test_what_holds_and_what_is_of_another_kind_is_left_alone() -> None:
    board = AlertBoard()
    board.offer(firing(), 1)
    assert board.settle(AlertKind.SILENT_EMITTER.value, [IDENTITY], until=at(2), revision=2) == []
    assert board.settle(AlertKind.FALLBACK_RATE.value, [], until=at(2), revision=2) == []


def test_a_resolution_never_lies_before_the_beginning() -> None:
    assert resolved(firing(since=5), at(1))["until"] == at(5)


def test_old_resolutions_are_forgotten() -> None:
    board = AlertBoard()
    board.offer(firing(), 1)
    board.offer(resolved(firing(), at(1)), 2)
    board.prune(at(1 + 24 * 60 + 1))
    assert board.get(IDENTITY) is None


def test_a_condition_that_was_over_before_it_could_be_told_is_told_with_its_end() -> None:
    board = AlertBoard()
    past = resolved(firing(), at(1))
    said = board.offer_past(past, 5)
    assert [(record["state"], record["until"]) for record in said] == [("FIRING", None), ("RESOLVED", at(1))]
    assert board.offer_past(past, 6) == []
    assert board.firing() == []


def test_a_condition_that_was_told_already_is_only_resolved() -> None:
    board = AlertBoard()
    board.offer(firing(), 1)
    assert [record["state"] for record in board.offer_past(resolved(firing(), at(1)), 2)] == ["RESOLVED"]


def test_what_a_session_still_tells_of_is_not_forgotten() -> None:
    """Else it would be told once more."""
    board = AlertBoard()
    record = {**firing(), "session_id": "s1"}
    board.offer_past(resolved(record, at(1)), 1)
    board.prune(at(10 * 24 * 60), {"s1"})
    assert board.get(IDENTITY) is not None
    board.prune(at(10 * 24 * 60), {"s2"})
    assert board.get(IDENTITY) is None
