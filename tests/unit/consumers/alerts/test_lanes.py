"""The webhook's outbox: in order for each alert, and no alert waits for another's misfortune."""

import json
from datetime import UTC, datetime
from itertools import pairwise

from tests.alert_records import FIRING, RESOLVED, change

from unmask.consumers.alerts.lanes import Lanes
from unmask.consumers.alerts.outbox import Parcel
from unmask.consumers.alerts.pace import Backoff

NOW = datetime(2026, 1, 1, 12, 0, 5, tzinfo=UTC)


def lanes(**settings: int) -> Lanes:
    return Lanes(
        "unmask", wall_clock=lambda: NOW, jitter=lambda: 1.0, backoff=Backoff(first=1.0, longest=60.0), **settings
    )


def shown(parcel: Parcel | None) -> tuple[str, str] | None:
    return None if parcel is None else (parcel.alerts[0].upstream or "", parcel.alerts[0].state.value)


def taken(outbox: Lanes, now: float) -> Parcel:
    parcel = outbox.take(now)
    assert parcel is not None
    return parcel


def test_the_changes_of_one_alert_go_out_one_after_the_other() -> None:
    outbox = lanes()
    outbox.add(change("a", FIRING, 1, offset=0))
    outbox.add(change("a", RESOLVED, 2, offset=1))
    first = taken(outbox, 0.0)
    assert shown(first) == ("a", FIRING)
    assert outbox.take(0.0) is None
    outbox.accepted(first, 0.1)
    assert shown(outbox.take(0.1)) == ("a", RESOLVED)


def test_alerts_go_out_beside_one_another_up_to_a_limit_while_the_receiver_is_well() -> None:
    outbox = lanes()
    for number in range(6):
        outbox.add(change(f"u-{number}", offset=number))
    under_way = [shown(outbox.take(0.0)) for _ in range(6)]
    assert under_way == [("u-0", FIRING), ("u-1", FIRING), ("u-2", FIRING), ("u-3", FIRING), None, None]


def test_a_failed_change_is_tried_again_before_what_follows_it() -> None:
    outbox = lanes()
    outbox.add(change("a", FIRING, 1, offset=0))
    outbox.add(change("a", RESOLVED, 2, offset=1))
    first = taken(outbox, 0.0)
    assert outbox.failed(first, 0.0, None) == 1.0
    assert outbox.take(0.9) is None
    again = taken(outbox, 1.0)
    assert again.places == first.places
    assert outbox.pack(again).headers == outbox.pack(first).headers
    outbox.accepted(again, 1.1)
    assert shown(outbox.take(1.1)) == ("a", RESOLVED)


def test_an_alert_whose_delivery_always_fails_does_not_keep_the_others_back() -> None:
    outbox = lanes()
    outbox.add(change("poison", offset=0))
    for number in range(20):
        outbox.add(change(f"u-{number:02}", offset=number + 1))
    now, arrived, tries = 0.0, [], 0
    while now < 300.0:
        parcel = outbox.take(now)
        if parcel is None:
            now += 0.5
        elif shown(parcel) == ("poison", FIRING):
            tries += 1
            outbox.failed(parcel, now, None)
        else:
            arrived.append(parcel.alerts[0].upstream)
            outbox.accepted(parcel, now)
    assert arrived == [f"u-{number:02}" for number in range(20)]
    assert outbox.waiting == 1
    # 1, 2, 4 ... seconds between tries, then one a minute: never a busy loop.
    assert tries == 10


def test_during_an_outage_there_is_one_request_at_a_time_and_every_alert_gets_its_turn() -> None:
    outbox = lanes()
    for number in range(5):
        outbox.add(change(f"u-{number}", offset=number))
    now = 0.0
    tried: list[tuple[float, str | None]] = []
    while len(tried) < 12:
        parcel = outbox.take(now)
        if parcel is None:
            now += 0.25
            continue
        tried.append((now, parcel.alerts[0].upstream))
        if len(tried) > 4:
            assert outbox.take(now) is None
        outbox.failed(parcel, now, None)
    assert {upstream for _, upstream in tried[:5]} == {f"u-{number}" for number in range(5)}
    pauses = [later - earlier for (earlier, _), (later, _) in pairwise(tried)]
    assert pauses[-3:] == [60.0, 60.0, 60.0]


def test_what_is_refused_makes_way_for_what_follows() -> None:
    outbox = lanes()
    outbox.add(change("a", FIRING, 1, offset=0))
    outbox.add(change("a", RESOLVED, 2, offset=1))
    assert outbox.refused(taken(outbox, 0.0), 0.0)
    assert shown(outbox.take(0.0)) == ("a", RESOLVED)


def test_memory_is_bounded_by_saying_when_no_more_should_be_read() -> None:
    outbox = lanes(most_waiting=2)
    outbox.add(change("a", offset=0))
    fullness = [outbox.full]
    outbox.add(change("b", offset=1))
    fullness.append(outbox.full)
    outbox.accepted(taken(outbox, 0.0), 0.0)
    fullness.append(outbox.full)
    assert fullness == [False, True, False]
    assert outbox.waiting == 1


def test_the_answer_to_what_belonged_to_another_watcher_since_is_passed_over() -> None:
    outbox = lanes()
    outbox.add(change("a", FIRING, 1, offset=0))
    stale = taken(outbox, 0.0)
    outbox.forget([0])
    assert outbox.waiting == 0
    outbox.add(change("a", RESOLVED, 2, offset=1))
    outbox.accepted(stale, 0.0)
    assert outbox.waiting == 1
    assert shown(outbox.take(0.0)) == ("a", RESOLVED)


def test_of_an_alert_on_two_partitions_only_what_went_away_is_forgotten() -> None:
    outbox = lanes()
    outbox.add(change("a", FIRING, 1, offset=0, partition=0))
    outbox.add(change("a", RESOLVED, 2, offset=0, partition=1))
    stale = taken(outbox, 0.0)
    outbox.forget([0])
    kept = taken(outbox, 0.0)
    assert shown(kept) == ("a", RESOLVED)
    outbox.failed(stale, 0.0, None)
    outbox.accepted(kept, 0.0)
    assert outbox.waiting == 0


def test_a_request_carries_its_idempotency_key_in_header_and_body() -> None:
    outbox = lanes()
    outbox.add(change("a", offset=0))
    content = outbox.pack(taken(outbox, 0.0))
    body = json.loads(content.body)
    assert content.headers == {"Idempotency-Key": body["idempotency_key"]}
    assert body["sent_at"] == "2026-01-01T12:00:05Z"
