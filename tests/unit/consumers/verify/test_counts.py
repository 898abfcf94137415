"""Counts: which window an event falls into, and what is late, skewed or seen again."""

from tests.unit.consumers.verify.hosts import BLUE, Host, Log, at, window_at
from tests.unit.consumers.verify.recounting import recount_of

from unmask.consumers.verify.counts import Counts
from unmask.consumers.verify.rules import RecountRules


def counts(log: Log, second: float, size: int = 60) -> Counts:
    recount = recount_of(log, RecountRules(window_seconds=(60, 3600, 0)))
    start = 0 if size == 0 else window_at(second, size)
    return recount.counts.windows.get((start, size), {}).get(BLUE, Counts())


def test_events_are_counted_by_their_own_time_in_every_size() -> None:
    host, log = Host("e-1"), Log()
    host.attempt(10, 59.999999, 60, 3_700)
    host.fallback(61, "rate_limited")
    host.masked(62, "s-1", "op-1", masked_upstream_signature="HTTP_429")
    host.teardown(63, "s-1")
    log.append(3_701, host.cut(3_701))
    assert counts(log, 0).by_code("route_attempt") == {"api": 2}
    assert counts(log, 60).by_code("route_attempt") == {"api": 1}
    assert counts(log, 60).by_code("masked_error") == {"rate_limited": 1}
    assert counts(log, 60).by_code("session_teardown") == {"success": 1}
    assert counts(log, 0, 3_600).by_code("route_attempt") == {"api": 3}
    assert counts(log, 0, 0).by_code("route_attempt") == {"api": 4}
    assert counts(log, 60).by_code("kernel_fallback", "search") == {"rate_limited": 1}
    assert counts(log, 60).by_code("kernel_fallback", "other") == {}
    assert counts(log, 60).capabilities() == {"search"}


def test_events_of_a_window_that_had_closed_are_late() -> None:
    host, log = Host("e-1"), Log()
    host.attempt(10, 59)
    log.append(64.9, host.cut(60))
    host.attempt(59.5, 61)
    log.append(65, host.cut(62))
    assert counts(log, 0).late == 1
    assert counts(log, 60).late == 0


def test_lateness_is_decided_by_the_newest_record_of_the_partition() -> None:
    host, other, log = Host("e-1"), Host("e-2"), Log()
    log.append(500, other.cut(500))
    host.attempt(10)
    log.append(20, host.cut(20))
    assert counts(log, 0).late == 1


def test_an_event_from_the_future_counts_in_the_brokers_window() -> None:
    host, log = Host("e-1"), Log()
    host.attempt(10, 320, 321, 90_000)
    log.append(20, host.cut(10))
    assert counts(log, 0).by_code("route_attempt") == {"api": 3}
    assert counts(log, 0).skewed == 2
    assert counts(log, 320).by_code("route_attempt") == {"api": 1}
    assert counts(log, 320).skewed == 0


def test_a_host_whose_clock_is_a_day_ahead_counts_in_the_brokers_window_altogether() -> None:
    host, log = Host("e-1", started=86_400), Log()
    host.attempt(86_410, 86_419)
    log.append(20, host.cut(86_420))
    assert counts(log, 0).by_code("route_attempt") == {"api": 2}
    assert counts(log, 0).skewed == 2


def test_a_batch_seen_again_is_counted_once_wherever_it_comes_from() -> None:
    host, log = Host("e-1"), Log()
    host.attempt(10)
    batch = host.cut(11)
    log.append(12, batch, 0)
    log.append(70, batch, 0)
    log.append(80, batch, 1)
    recount = recount_of(log)
    assert (recount.totals.batches, recount.totals.events, recount.totals.duplicates) == (1, 1, 2)
    assert counts(log, 0).by_code("route_attempt") == {"api": 1}
    assert counts(log, 60).duplicates == 2


def test_offsets_that_hold_nothing_are_told_and_spoil_nothing() -> None:
    host, log = Host("e-1"), Log()
    log.append(1, host.cut(1))
    log.skip(3)
    log.append(2, host.cut(2))
    recount = recount_of(log)
    assert (recount.totals.holes, recount.unclear) == (3, [])
    assert recount.partitions[0].head == at(1)
