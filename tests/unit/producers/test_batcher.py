"""Cutting events into batches, with explicit instants."""

import itertools
from typing import Any

import pytest

from unmask.producers.account import Account
from unmask.producers.batcher import Batcher
from unmask.producers.events import ATTEMPT, LANES, Cleaner, Event
from unmask.producers.testing import account_faults, events_in
from unmask.producers.wire import Identity
from unmask.schemas.codec import decode
from unmask.schemas.codes import DropCause, Family
from unmask.schemas.scope import Scope

START = 1_767_225_600_000_000


class Bench:
    """A batcher and what it has cut."""

    def __init__(self, max_bytes: int = 900_000, max_events: int = 10_000) -> None:
        self.account = Account()
        identity = Identity("e1", START, Scope("r1", "c", "k", "p", "s"), 10_000, "test")
        self.batcher = Batcher(identity, self.account, max_bytes=max_bytes, max_events=max_events)
        self.batches: list[dict[str, Any]] = []
        self.sizes: list[int] = []

    def cut(
        self, events: list[Event], now: int, closing: bool = False, room: int | None = None
    ) -> list[dict[str, Any]]:
        made = self.batcher.cut(events, now, closing=closing, room=room)
        decoded = [decode("event_batch", batch.data) for batch in made]
        self.batches += decoded
        self.sizes += [len(batch.data) for batch in made]
        assert [dict(batch.events) for batch in made] == [
            {Family(family): count for family, count in events_in(batch).items()} for batch in decoded
        ]
        assert account_faults(self.batches) == []
        return decoded


def attempt(micros: int, capability: str = "answer", run_id: str = "") -> Event:
    return micros, ATTEMPT, ((capability, "api"), run_id)


def fallback(micros: int) -> Event:
    raw = (micros * 1000, "answer", "timeout", None, None, None, None, None, None)
    return Cleaner(10).clean(Family.KERNEL_FALLBACK, raw)


def test_a_cut_without_events_is_a_heartbeat() -> None:
    (batch,) = Bench().cut([], START + 5)
    assert batch["batch_seq"] == 1
    assert batch["sent_at"] == START + 5
    assert events_in(batch) == {}
    assert batch["accounts"] == []


def test_attempts_are_grouped_and_keep_their_instants_and_runs() -> None:
    bench = Bench()
    (batch,) = bench.cut([attempt(START + 3, "a", "r3"), attempt(START + 1, "a"), attempt(START + 2, "b")], START + 10)
    groups = {group["capability"]: group for group in batch["route_attempts"]}
    assert groups["a"]["occurred_at"] == [START + 1, START + 3]
    assert groups["a"]["run_id"] == ["", "r3"]
    assert groups["b"]["run_id"] == []


def test_accounts_are_cumulative_and_include_drops_by_cause() -> None:
    bench = Bench()
    bench.cut([attempt(START + 1), attempt(START + 2)], START + 10)
    bench.account.told_by_lane(Family.ROUTE_ATTEMPT, {DropCause.BUFFER_FULL: 3})
    (batch,) = bench.cut([attempt(START + 11)], START + 20)
    assert batch["accounts"] == [
        {"family": "route_attempt", "recorded": 6, "dropped": [{"cause": "buffer_full", "count": 3}]}
    ]
    (later,) = bench.cut([], START + 30)
    assert later["accounts"] == batch["accounts"]


def test_the_clock_of_the_host_may_step_back() -> None:
    bench = Bench()
    bench.cut([], START + 100)
    (batch,) = bench.cut([attempt(START + 40)], START + 50)
    assert batch["sent_at"] == START + 101
    assert batch["route_attempts"][0]["occurred_at"] == [START + 101]


def test_events_from_before_the_previous_cut_and_after_this_one_are_moved_into_it() -> None:
    bench = Bench()
    bench.cut([], START + 100)
    (batch,) = bench.cut([attempt(START + 99), attempt(START + 150), attempt(START + 250)], START + 200)
    assert batch["route_attempts"][0]["occurred_at"] == [START + 101, START + 150, START + 200]


@pytest.mark.parametrize("max_events", [1, 2, 7, 100])
def test_a_cut_is_divided_so_that_each_batch_accounts_for_its_own_stretch(max_events: int) -> None:
    bench = Bench(max_events=max_events)
    made = bench.cut([attempt(START + n // 3) for n in range(100)], START + 1_000, closing=True)
    assert len(made) == -(-100 // max_events)
    assert [batch["closing"] for batch in made] == [False] * (len(made) - 1) + [True]
    assert made[-1]["sent_at"] >= START + 1_000
    assert sum(events_in(batch)["route_attempt"] for batch in made) == 100
    for batch in made[:-1]:
        assert batch["sent_at"] <= max(batch["route_attempts"][0]["occurred_at"])


@pytest.mark.parametrize("limit", [4_096, 10_000, 50_000])
def test_no_record_is_larger_than_the_limit(limit: int) -> None:
    bench = Bench(max_bytes=limit)
    bench.cut([attempt(START + n, "answer", f"run-{n:060}"[-60:]) for n in range(2_000)], START + 5_000)
    assert max(bench.sizes) <= limit
    assert min(bench.sizes[:-1]) > limit // 8
    assert sum(events_in(batch)["route_attempt"] for batch in bench.batches) == 2_000


def test_a_batch_in_the_band_around_the_limit_is_kept_whole_or_divided() -> None:
    whole = Bench()
    whole.cut([attempt(START + n) for n in range(500)], START + 1_000)
    (size,) = whole.sizes
    for limit, batches in ((size + 1, 1), (size, 1), (size - 1, 2)):
        bench = Bench(max_bytes=limit)
        assert len(bench.cut([attempt(START + n) for n in range(500)], START + 1_000)) == batches


def test_events_that_take_long_to_encode_come_in_smaller_batches() -> None:
    bench = Bench(max_events=1_000)
    made = bench.cut([fallback(START + n) for n in range(120)] + [attempt(START + 200)] * 100, START + 1_000)
    assert [len(batch["kernel_fallbacks"]) for batch in made] == [50, 50, 20]
    assert events_in(made[-1])["route_attempt"] == 100


def test_an_event_that_is_too_large_alone_is_dropped_and_counted() -> None:
    heartbeat = Bench()
    heartbeat.cut([], START)
    bench = Bench(max_bytes=heartbeat.sizes[0] + 40)
    made = bench.cut([fallback(START + 1), attempt(START + 2), fallback(START + 3)], START + 10)
    assert made[-1]["sent_at"] == START + 10
    assert bench.account.dropped(Family.KERNEL_FALLBACK) == {DropCause.TOO_LARGE: 2}
    dropped = {account["family"]: account for account in made[-1]["accounts"]}["kernel_fallback"]
    assert dropped == {
        "family": "kernel_fallback", "recorded": 2, "dropped": [{"cause": "too_large", "count": 2}]
    }  # fmt: skip


def test_an_event_that_cannot_be_encoded_is_dropped_alone_and_counted() -> None:
    bench = Bench()
    broken: Event = (START + 2, LANES.index(Family.MASKED_ERROR), {"session_id": object()})
    (*_, last) = bench.cut([attempt(START + 1), broken, attempt(START + 3)], START + 10)
    assert bench.account.dropped(Family.MASKED_ERROR) == {DropCause.INVALID_EVENT: 1}
    assert bench.account.cut_so_far(Family.ROUTE_ATTEMPT) == 2
    assert last["sent_at"] == START + 10


def test_a_batch_given_up_after_its_cut_is_told_by_the_next() -> None:
    bench = Bench()
    bench.cut([attempt(START + 1)], START + 10)
    bench.account.drop_cut({Family.ROUTE_ATTEMPT: 1}, DropCause.TOO_LARGE)
    (batch,) = bench.cut([attempt(START + 11)], START + 20)
    (account,) = batch["accounts"]
    assert account["recorded"] == bench.account.cut_so_far(Family.ROUTE_ATTEMPT) == 2
    assert account["dropped"] == [{"cause": "too_large", "count": 1}]


def test_an_event_is_recorded_once_whether_it_was_dropped_before_its_cut_or_after_it() -> None:
    bench = Bench()
    bench.cut([attempt(START + 1)], START + 10)
    bench.account.drop_uncut(Family.ROUTE_ATTEMPT, DropCause.OUTBOX_FULL, 2)
    bench.account.drop_cut({Family.ROUTE_ATTEMPT: 1}, DropCause.OUTBOX_EXPIRED)
    (batch,) = bench.cut([attempt(START + 11)], START + 20)
    (account,) = batch["accounts"]
    assert account["recorded"] == 1 + 2 + 1
    assert {each["cause"]: each["count"] for each in account["dropped"]} == {"outbox_full": 2, "outbox_expired": 1}


def test_what_exceeds_the_room_is_dropped_and_told_by_the_next_batch_that_fits() -> None:
    bench = Bench(max_events=10)
    whole = Bench(max_events=10)
    whole.cut([attempt(START + n) for n in range(100)], START + 1_000)
    made = bench.cut([attempt(START + n) for n in range(100)], START + 1_000, room=sum(whole.sizes[:3]))
    assert len(made) == 3
    assert bench.account.dropped(Family.ROUTE_ATTEMPT) == {DropCause.OUTBOX_FULL: 70}
    assert bench.cut([attempt(START + 1_001)], START + 1_100, room=10) == []
    (batch,) = bench.cut([], START + 1_200, room=None)
    (account,) = batch["accounts"]
    assert account["recorded"] == 101
    assert account["dropped"] == [{"cause": "outbox_full", "count": 71}]
    assert batch["sent_at"] == START + 1_200


def test_a_closing_batch_is_made_without_room_for_it_and_without_events() -> None:
    bench = Bench()
    (batch,) = bench.cut([attempt(START + 1), fallback(START + 2)], START + 10, closing=True, room=0)
    assert batch["closing"]
    assert events_in(batch) == {}
    assert {each["family"]: each["recorded"] for each in batch["accounts"]} == {
        "route_attempt": 1, "kernel_fallback": 1
    }  # fmt: skip


def test_many_attempts_are_cleaned_as_each_of_them_would_be() -> None:
    labels = ["answer", "api", "-", "", "no label", "x" * 70, None, 7, "sk-live-0123456789abcdef", "overflow"]
    raws = [
        (START * 1000 + number, capability, entry_point, run_id)
        for number, (capability, entry_point, run_id) in enumerate(
            itertools.product(labels, labels, ["r", None, "a b"])
        )
    ]
    refused: list[None] = []
    many, single = Cleaner(3), Cleaner(3)
    for _ in range(2):
        events = many.clean_attempts([*raws, (None, "answer", "api", None)], lambda: refused.append(None))
        assert events == [single.clean(Family.ROUTE_ATTEMPT, raw) for raw in raws]
    assert len(refused) == 2
