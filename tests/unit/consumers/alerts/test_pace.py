"""Back-off: exponential, with jitter, bounded; one request at a time while a receiver fails."""

from hypothesis import given
from hypothesis import strategies as st

from unmask.consumers.alerts.pace import Backoff, Pace

JITTER = st.floats(0.0, 1.0, exclude_max=True)


@given(st.integers(1, 10_000), JITTER)
def test_a_delay_is_never_longer_than_the_longest_and_never_shorter_than_half_of_what_it_doubled_to(
    failures: int, jitter: float
) -> None:
    backoff = Backoff(first=0.5, longest=60.0)
    doubled = min(60.0, 0.5 * 2 ** min(failures - 1, 20))
    assert doubled / 2 <= backoff.delay(failures, jitter) <= doubled


def test_delays_double() -> None:
    backoff = Backoff(first=1.0, longest=60.0)
    assert [backoff.delay(n, 1.0) for n in range(1, 9)] == [1, 2, 4, 8, 16, 32, 60, 60]


def test_two_watchers_do_not_come_back_at_the_same_moment() -> None:
    backoff = Backoff(first=1.0)
    assert backoff.delay(3, 0.1) != backoff.delay(3, 0.9)


def test_a_receiver_that_fails_gets_one_request_at_a_time_after_a_growing_pause() -> None:
    pace = Pace(Backoff(first=1.0, longest=60.0), at_once=4)
    assert pace.may_send(0.0, 3)
    assert not pace.may_send(0.0, 4)
    assert pace.failed(10.0, 1.0, None) == 1.0
    assert not pace.may_send(10.9, 0)
    assert pace.may_send(11.0, 0)
    assert not pace.may_send(11.0, 1)
    assert pace.failed(11.0, 1.0, None) == 2.0
    pace.accepted()
    assert pace.may_send(11.0, 3)


def test_a_receiver_that_asks_for_a_longer_pause_gets_it() -> None:
    pace = Pace(Backoff(first=1.0, longest=60.0), at_once=4)
    assert pace.failed(0.0, 1.0, 120.0) == 120.0
    assert not pace.may_send(119.0, 0)
    assert pace.may_send(120.0, 0)
