"""The broker's clock, by explicit local times."""

from unmask.streams.ledger.broker_clock import BrokerClock


class _Local:
    """A local clock that is moved by hand; seconds."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_before_the_first_acknowledgement_no_time_is_known() -> None:
    assert BrokerClock(_Local()).now() is None


def test_time_goes_on_from_the_append_that_an_acknowledgement_told() -> None:
    local = _Local()
    clock = BrokerClock(local)
    clock.observe(5_000_000)
    assert clock.now() == 5_000_000_000
    local.now += 1.5
    assert clock.now() == 5_001_500_000


def test_of_several_acknowledgements_the_fastest_is_believed() -> None:
    local = _Local()
    clock = BrokerClock(local)
    clock.observe(5_000_000 - 400)
    clock.observe(5_000_000 - 10)
    clock.observe(5_000_000 - 300)
    now = clock.now()
    assert now is not None
    # Each acknowledgement took its time, so that the truth (5,000,000 ms) is never passed.
    assert 5_000_000_000 - 20_000 < now <= 5_000_000_000 - 10_000


def test_the_estimate_is_never_ahead_of_the_broker() -> None:
    local = _Local()
    clock = BrokerClock(local)
    for step, delay_ms in enumerate((30, 5, 200, 7, 1, 90, 2) * 20):
        local.now = 100.0 + step
        truth_ms = 5_000_000 + step * 1000
        clock.observe(truth_ms - delay_ms)
        now = clock.now()
        assert now is not None
        assert now <= truth_ms * 1000


def test_it_never_goes_back() -> None:
    local = _Local()
    clock = BrokerClock(local)
    clock.observe(5_000_000)
    before = clock.now()
    for _ in range(1000):
        clock.observe(4_000_000)
    assert clock.now() == before


def test_a_clock_that_was_set_back_is_followed_once_it_has_caught_up() -> None:
    local = _Local()
    clock = BrokerClock(local)
    clock.observe(5_000_000)
    for _ in range(2000):
        clock.observe(4_990_000)
    local.now += 20
    now = clock.now()
    assert now is not None
    assert abs(now - 5_010_000_000) < 1_000_000
