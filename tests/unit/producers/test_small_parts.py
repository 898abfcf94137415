"""The parts that record calls stand on: counters, memories, bells, labels, buffers."""

import gc
import itertools
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.producers import Emitter, EmitterSettings
from unmask.producers.bell import Bell
from unmask.producers.buffer import Buffer, Lane
from unmask.producers.claims import SessionClaims
from unmask.producers.published import OVERFLOW, UNSPECIFIED, Vocabulary, identifier, optional_identifier
from unmask.producers.report import FAMILIES
from unmask.producers.seen import Seen, SeenPairs
from unmask.producers.store import MemoryStore, StoredBatch
from unmask.producers.tick import Tick
from unmask.producers.worker import Worker
from unmask.schemas.codes import DropCause, Family
from unmask.schemas.tokens import INVALID_LABEL, is_token


def test_a_tick_counts_what_many_threads_add() -> None:
    tick = Tick()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=lambda: [tick.add() for _ in range(5_000)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert tick.value == 20_000
    assert tick.value == 20_000


def test_a_key_is_first_once() -> None:
    seen = Seen()
    assert [seen.first(("s", "o")), seen.first(("s", "o")), seen.first(("s", "p"))] == [True, False, True]
    assert ("s", "o") in seen
    assert ("s", "q") not in seen


def test_a_memory_of_keys_is_bounded_and_keeps_the_newest() -> None:
    seen = Seen(limit=10)
    for number in range(1_000):
        assert seen.first(number)
        assert not seen.first(number)
    assert all(number in seen for number in range(990, 1_000))
    assert sum(number in seen for number in range(1_000)) <= 20


def test_one_of_many_threads_that_ask_at_once_is_first() -> None:
    seen = Seen()
    answers: list[bool] = []
    threads = [threading.Thread(target=lambda: answers.extend(seen.first(n) for n in range(2_000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.count(True) == 2_000


def test_many_rings_wake_once_and_none_is_missed() -> None:
    bell = Bell()
    for _ in range(5):
        bell.ring()
    assert bell.wait(0)
    assert not bell.wait(0)
    bell.ring()
    assert bell.wait(5)
    before = time.monotonic()
    assert not bell.wait(0.02)
    assert time.monotonic() - before < 2


def test_labels_are_bounded_in_number_and_form() -> None:
    labels = Vocabulary(limit=3)
    assert [labels(text) for text in ("a", "b", "a", "c", "d", "b")] == ["a", "b", "a", "c", OVERFLOW, "b"]
    assert labels("an e-mail: a@b.org") == INVALID_LABEL
    assert labels("") == INVALID_LABEL
    assert labels(None) == INVALID_LABEL
    assert labels(object()) == INVALID_LABEL
    assert labels(Family.ROUTE_ATTEMPT) == OVERFLOW


@given(st.lists(st.text()))
def test_any_texts_give_at_most_as_many_labels_as_allowed(texts: list[str]) -> None:
    labels = Vocabulary(limit=2)
    published = {labels(text) for text in texts}
    assert len(published - {INVALID_LABEL, OVERFLOW, UNSPECIFIED}) <= 2
    assert all(map(is_token, published))


def test_identifiers_are_tokens_and_stable() -> None:
    class Silent:
        def __str__(self) -> str:
            raise ValueError

    assert identifier("run-1") == "run-1"
    assert identifier("a@b.org") == identifier("a@b.org") != identifier("b@b.org")
    assert is_token(identifier(Silent()))
    assert is_token(identifier(7))
    assert optional_identifier(None) is None
    assert optional_identifier("") is None


def test_a_lane_is_emptied_from_its_old_end_and_tells_its_drops_by_cause() -> None:
    lane = Lane(Family.ROUTE_ATTEMPT)
    lane.events.extend((number,) for number in range(5))
    assert lane.take(3) == [(0,), (1,), (2,)]
    assert lane.take(10) == [(3,), (4,)]
    assert lane.drops() == {}
    lane.full.add()
    lane.full.add()
    lane.late.add()
    lane.invalid.add()
    assert lane.drops() == {DropCause.BUFFER_FULL: 2, DropCause.INVALID_EVENT: 1, DropCause.CLOSE_DEADLINE: 1}


def test_a_buffer_has_a_lane_for_every_family() -> None:
    buffer = Buffer()
    assert tuple(lane.family for lane in buffer.lanes) == FAMILIES
    buffer.lanes[2].events.append((1,))
    buffer.openings.events.append((1,))
    assert buffer.waiting() == 2


def _batch(seq: int) -> StoredBatch:
    return StoredBatch("e", seq, b"", {Family.ROUTE_ATTEMPT: seq}, False, seq)


def test_a_store_hands_batches_out_once_oldest_first_until_they_come_back() -> None:
    store = MemoryStore(limit=3)
    for seq in (1, 2, 3):
        store.put(_batch(seq))
    assert [store.next_to_send(), store.next_to_send()] == [_batch(1), _batch(2)]
    assert store.returned(1)
    assert [store.next_to_send(), store.next_to_send(), store.next_to_send()] == [_batch(1), _batch(3), None]
    assert store.stalled()
    assert store.removed(2) == _batch(2)
    assert not store.stalled()
    assert store.removed(2) is None
    assert not store.returned(2)
    assert store.oldest() == 1
    assert store.unacknowledged() == 2
    assert store.pending() == {Family.ROUTE_ATTEMPT: 4}
    assert store.settle() == ({Family.ROUTE_ATTEMPT: 4}, DropCause.CLOSE_DEADLINE)
    assert (store.oldest(), store.unacknowledged(), store.pending()) == (None, 0, {})


def test_pairs_are_seen_once_and_a_text_in_another_place_is_another_pair() -> None:
    seen = SeenPairs()
    asked = [("s", "o"), ("s", "o"), ("o", "s"), ("s", "p"), ("so", "")]
    assert [seen.first(*pair) for pair in asked] == [True, False, True, True, True]


def test_a_memory_of_pairs_is_bounded_and_keeps_the_newest() -> None:
    seen = SeenPairs(limit=1_600)
    for number in range(20_000):
        assert seen.first("s", f"o-{number}")
    assert not any(seen.first("s", f"o-{number}") for number in range(19_200, 20_000))
    assert sum(len(part) for generations in seen._parts for part in generations) <= 3_200


def test_one_of_many_threads_that_ask_for_a_pair_at_once_is_first() -> None:
    seen = SeenPairs()
    answers: list[bool] = []

    def ask() -> None:
        answers.extend(seen.first("s", f"o-{n}") for n in range(2_000))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.count(True) == 2_000


def test_an_operation_is_degraded_once_in_whatever_order_it_is_heard_of() -> None:
    for order in itertools.permutations(("operation", "fallback", "masked", "fallback", "masked"), 5):
        claims = SessionClaims("s", frozenset())
        for step in order:
            getattr(claims, step)("op")
        assert (claims.operations, claims.degraded_operations) == (1, 1), order


def test_events_that_wait_are_nothing_that_the_garbage_collector_goes_through_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Worker, "start", lambda worker: None)
    emitter = Emitter(EmitterSettings(bootstrap_servers="127.0.0.1:1"))
    emitter.record_route_attempt("answer", "api", "run-1")
    emitter.record_fallback("answer", TimeoutError(), session_id="s", operation_id="o")
    emitter.record_masked_error("s", "o", "weather", 503, "cache", equivalence="different")
    gc.collect()
    waiting = [event for lane in emitter._life.buffer.lanes for event in lane.events]
    assert len(waiting) == 3
    assert not any(gc.is_tracked(event) for event in waiting)
    emitter.close(0)
