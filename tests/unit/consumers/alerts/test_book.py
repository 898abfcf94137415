"""The Alertmanager's outbox: states, repeated while they fire, the newest of each."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.alert_records import FIRING, RESOLVED, SINCE, alert, change

from unmask.consumers.alerts.book import Book
from unmask.consumers.alerts.change import Place
from unmask.consumers.alerts.outbox import Parcel
from unmask.consumers.alerts.pace import Backoff
from unmask.schemas.instants import from_micros
from unmask.schemas.windowing import MICROS

NOW = datetime(2026, 1, 1, 13, tzinfo=UTC)
"""An hour after the tests' alerts began."""


def book(**settings: int) -> Book:
    return Book(
        "unmask",
        wall_clock=lambda: NOW,
        jitter=lambda: 1.0,
        resolve_after=300.0,
        backoff=Backoff(first=1.0, longest=60.0),
        **settings,
    )


def taken(outbox: Book, now: float) -> Parcel:
    parcel = outbox.take(now)
    assert parcel is not None
    return parcel


def posted(outbox: Book, parcel: Parcel) -> dict[str, dict[str, Any]]:
    return {one["labels"]["upstream"]: one for one in json.loads(outbox.pack(parcel).body)}


def test_what_fires_is_repeated_well_before_it_would_be_taken_for_resolved() -> None:
    outbox = book()
    outbox.add(change("a", offset=0))
    times, now = [], 0.0
    while now < 1_000.0:
        parcel = outbox.take(now)
        if parcel is not None:
            times.append(now)
            assert posted(outbox, parcel)["a"]["endsAt"] == "2026-01-01T13:05:00Z"
            outbox.accepted(parcel, now)
        now += 10.0
    assert times == [0.0, 100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0, 900.0]


def test_what_is_resolved_is_told_with_its_end_repeated_for_a_while_and_forgotten() -> None:
    outbox = book()
    outbox.add(change("a", FIRING, 1, offset=0))
    outbox.accepted(taken(outbox, 0.0), 0.0)
    outbox.add(change("a", RESOLVED, 2, offset=1))
    times, now = [], 10.0
    while now < 2_000.0:
        parcel = outbox.take(now)
        if parcel is not None:
            times.append(now)
            assert posted(outbox, parcel)["a"]["endsAt"] == "2026-01-01T12:01:00Z"
            outbox.accepted(parcel, now)
        now += 10.0
    assert times == [10.0, 110.0, 210.0, 310.0]
    assert len(outbox) == 0


def test_only_the_newest_state_of_an_alert_is_told_and_pays_for_all_before() -> None:
    outbox = book()
    for offset, state in enumerate((FIRING, RESOLVED, FIRING, RESOLVED)):
        outbox.add(change("a", state, offset, offset=offset))
    parcel = taken(outbox, 0.0)
    assert [found.state.value for found in parcel.alerts] == [RESOLVED]
    assert parcel.places == tuple(Place(0, offset) for offset in range(4))
    assert outbox.waiting == 4
    outbox.accepted(parcel, 0.0)
    assert outbox.waiting == 0


def test_a_change_that_comes_while_its_alert_is_on_the_way_is_told_next_and_not_taken_for_told() -> None:
    outbox = book()
    outbox.add(change("a", FIRING, 1, offset=0))
    under_way = taken(outbox, 0.0)
    outbox.add(change("a", RESOLVED, 2, offset=1))
    assert outbox.take(0.0) is None, "one post at a time, or an older state could arrive last"
    outbox.accepted(under_way, 0.1)
    assert outbox.waiting == 1
    assert taken(outbox, 0.1).places == (Place(0, 1),)


def test_many_alerts_go_in_few_posts_and_changes_before_repetitions() -> None:
    outbox = book()
    for number in range(150):
        outbox.recall(alert(f"old-{number}"), 0)
    for number in range(60):
        outbox.add(change(f"new-{number}", offset=number))
    sizes = []
    first = taken(outbox, 0.0)
    assert first.fresh == 60
    assert all((found.upstream or "").startswith("new") for found in first.alerts[:60])
    outbox.accepted(first, 0.0)
    while (parcel := outbox.take(0.0)) is not None:
        sizes.append(len(parcel.alerts))
        outbox.accepted(parcel, 0.0)
    assert [len(first.alerts), *sizes] == [100, 100, 10]


def test_what_was_told_before_a_restart_is_repeated_at_once_where_it_fires() -> None:
    outbox = book()
    outbox.recall(alert("a", FIRING, 1), 0)
    outbox.recall(alert("b", FIRING, 1), 0)
    outbox.recall(alert("b", RESOLVED, 2), 0)
    parcel = taken(outbox, 0.0)
    assert (set(posted(outbox, parcel)), parcel.places, parcel.fresh) == ({"a"}, (), 0)


def test_counts_that_grow_are_told_with_the_next_repetition() -> None:
    outbox = book()
    outbox.add(change("a", offset=0))
    outbox.accepted(taken(outbox, 0.0), 0.0)
    outbox.update(alert("a", revision=2, facts={"sessions": 99, "masked_errors": 1}), 0)
    outbox.update(alert("never-told", revision=2), 0)
    assert outbox.take(50.0) is None
    told = posted(outbox, taken(outbox, 100.0))
    assert set(told) == {"a"}
    assert "99 sessions" in told["a"]["annotations"]["summary"]


def test_a_post_that_fails_is_made_again_with_growing_pauses_and_the_newest_states() -> None:
    outbox = book()
    outbox.add(change("a", FIRING, 1, offset=0))
    assert outbox.failed(taken(outbox, 0.0), 0.0, None) == 1.0
    assert outbox.take(0.5) is None
    outbox.add(change("b", FIRING, 1, offset=1))
    assert outbox.failed(taken(outbox, 1.0), 1.0, None) == 2.0
    outbox.add(change("a", RESOLVED, 2, offset=2))
    parcel = taken(outbox, 3.0)
    assert {found.upstream: found.state.value for found in parcel.alerts} == {"a": RESOLVED, "b": FIRING}
    assert outbox.failed(parcel, 3.0, 45.0) == 45.0
    assert outbox.take(47.0) is None
    outbox.accepted(taken(outbox, 48.0), 48.0)
    assert outbox.waiting == 0


def test_one_bad_alert_among_many_is_found_and_given_up_alone() -> None:
    outbox = book()
    for number in range(5):
        outbox.add(change(f"u-{number}", offset=number))
    given_up: list[Place] = []
    told: set[str] = set()
    while (parcel := outbox.take(0.0)) is not None:
        if "u-3" in {found.upstream for found in parcel.alerts}:
            if outbox.refused(parcel, 0.0):
                given_up += parcel.places
        else:
            told |= {found.upstream or "" for found in parcel.alerts}
            outbox.accepted(parcel, 0.0)
    assert given_up == [Place(0, 3)]
    assert told == {"u-0", "u-1", "u-2", "u-4"}
    assert outbox.waiting == 0
    together = taken(outbox, 100.0)
    assert len(together.alerts) == 4, "repeated in one post again, without what was given up"


def test_memory_is_bounded_and_what_is_let_go_fires_on_by_itself_until_it_is_resolved() -> None:
    outbox = book(most_kept=3)
    for number in range(3):
        outbox.add(change(f"u-{number}", offset=number))
        outbox.accepted(taken(outbox, 0.0), 0.0)
    assert outbox.complaint() is None
    outbox.add(change("u-3", offset=3))
    outbox.accepted(taken(outbox, 0.0), 0.0)
    parcel = taken(outbox, 100.0)
    ends = {name: one["endsAt"] for name, one in posted(outbox, parcel).items()}
    assert ends["u-0"] == "2026-01-08T13:00:00Z"
    assert set(ends.values()) == {"2026-01-08T13:00:00Z", "2026-01-01T13:05:00Z"}
    outbox.accepted(parcel, 100.0)
    assert len(outbox) == 3
    assert "More than 3 alerts fire" in (outbox.complaint() or "")
    assert outbox.complaint() is None
    outbox.add(change("u-0", RESOLVED, 2, offset=4))
    assert posted(outbox, taken(outbox, 100.0))["u-0"]["endsAt"] == "2026-01-01T12:01:00Z"


def test_recalling_more_than_is_kept_keeps_the_newest() -> None:
    outbox = book(most_kept=3)
    for number in range(10):
        outbox.recall(alert(f"u-{number}"), 0)
    assert set(posted(outbox, taken(outbox, 0.0))) == {"u-7", "u-8", "u-9"}


def test_no_more_is_read_while_too_many_changes_wait() -> None:
    outbox = book()
    for number in range(1_000):
        assert not outbox.full
        outbox.add(change(f"u-{number % 7}", offset=number))
    assert outbox.full
    outbox.accepted(taken(outbox, 0.0), 0.0)
    assert not outbox.full


def test_alerts_of_partitions_that_went_away_are_another_watcher_s_to_repeat() -> None:
    outbox = book()
    outbox.add(change("a", offset=0, partition=0))
    outbox.add(change("b", offset=0, partition=1))
    stale = taken(outbox, 0.0)
    outbox.forget([0])
    assert outbox.waiting == 1
    outbox.add(change("a", RESOLVED, 2, offset=1, partition=0))
    outbox.accepted(stale, 0.0)
    assert outbox.waiting == 1
    assert {found.upstream for found in taken(outbox, 0.0).alerts} == {"a"}


@pytest.mark.parametrize("ahead", [1, 7_200])
def test_no_alert_ends_before_it_begins_however_far_a_host_s_clock_is_ahead(ahead: int) -> None:
    outbox = book()
    since = SINCE + (3_600 + ahead) * MICROS
    outbox.recall(alert("fires", since=since), 0)
    resolved = change("over", offset=0)
    over = resolved.alert.model_copy(
        update={"state": alert("x", RESOLVED).state, "since": from_micros(since), "until": from_micros(since + MICROS)}
    )
    outbox.add(type(resolved)(over, resolved.place))
    for one in posted(outbox, taken(outbox, 0.0)).values():
        assert datetime.fromisoformat(one["startsAt"]) <= datetime.fromisoformat(one["endsAt"])
    assert datetime.fromisoformat(posted(outbox, Parcel(1, (over,), 1, ()))["over"]["endsAt"]) <= NOW
