"""Which leases are asked to end, and when: by the broker's clock, and until they have."""

from typing import Any

from tests.unit.streams.effects.asking import KEY, Asked

from unmask.schemas.codec import decode
from unmask.schemas.testing import SAMPLE_INSTANT
from unmask.streams.effects.expiry import Expiry
from unmask.streams.ledger.broker_clock import BrokerClock


class Sent:
    """A producer that keeps what it is given; acknowledgements come when the test says so."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.places: list[tuple[bytes, int]] = []
        self.full = False
        self.reports: list[Any] = []

    def produce(self, _topic: str, value: bytes, key: bytes, partition: int, on_delivery: Any) -> None:
        if self.full:
            raise BufferError
        self.requests.append(decode("effect_request", value))
        self.places.append((key, partition))
        self.reports.append(on_delivery)

    def poll(self, _seconds: float) -> None: ...

    def flush(self, _seconds: float) -> None: ...


class Acknowledged:
    def __init__(self, append_ms: int) -> None:
        self._append_ms = append_ms

    def timestamp(self) -> tuple[int, int]:
        return 2, self._append_ms


class Rig:
    """Leases of 10 s, a clock that is set by hand."""

    def __init__(self, *, told: bool = True) -> None:
        self.seconds = 0.0
        self.sent = Sent()
        self.asked = Asked()
        clock = BrokerClock(lambda: self.seconds)
        if told:
            clock.observe(SAMPLE_INSTANT // 1000)
        self.expiry = Expiry(
            "nowhere:9", "requests", "w", clock, monotonic=lambda: self.seconds, producer=self.sent  # type: ignore[arg-type]
        )  # fmt: skip

    def watch(self) -> None:
        touched = self.asked.state.take_touched()
        self.expiry.watch(self.asked.state, touched.effects)

    def tick(self, seconds: float) -> list[int]:
        """Tokens whose ends were asked for at so many seconds."""
        self.seconds = seconds
        before = len(self.sent.requests)
        self.expiry.tick({0: self.asked.state})
        return [request["fencing_token"] for request in self.sent.requests[before:]]


def test_a_lease_is_asked_to_end_once_its_time_is_over_and_again_until_it_has() -> None:
    rig = Rig()
    token = rig.asked.claim(0).fencing_token
    rig.watch()
    assert rig.tick(9.99) == []
    assert rig.tick(10) == [token]
    assert rig.tick(11) == [], "it is on its way"
    assert rig.tick(12.1) == [token], "nothing was heard of it"
    rig.asked.say(12.2, "expire", token)
    rig.watch()
    assert rig.tick(20) == []
    request = rig.sent.requests[0]
    assert (request["kind"], request["holder"], request["failure"]) == ("expire", "w", KEY.failure)
    assert rig.sent.places[0] == (b"acme|conversation-7", 0)


def test_what_was_settled_is_not_asked_for() -> None:
    rig = Rig()
    rig.asked.commit(1, rig.asked.claim(0).fencing_token)
    other = KEY._replace(failure="other")
    rig.asked.say(1, "release", rig.asked.claim(0, other).fencing_token, other)
    rig.watch()
    assert rig.tick(99) == []


def test_a_renewed_lease_is_asked_for_at_its_new_end() -> None:
    rig = Rig()
    token = rig.asked.claim(0).fencing_token
    rig.watch()
    rig.asked.say(9, "renew", token, lease_ms=20_000)
    rig.watch()
    assert rig.tick(28) == []
    assert rig.tick(29) == [token]


def test_the_leases_of_a_partition_that_was_taken_over_end_too_and_those_of_one_that_was_given_up_do_not() -> None:
    rig = Rig()
    token = rig.asked.claim(0).fencing_token
    rig.expiry.begin(rig.asked.state)
    assert rig.tick(10) == [token]
    rig.expiry.end(0)
    assert rig.tick(99) == []


def test_where_the_brokers_time_is_not_known_the_first_request_tells_it() -> None:
    rig = Rig(told=False)
    token = rig.asked.claim(0).fencing_token
    rig.watch()
    assert rig.tick(0) == [token], "too early, which does no harm"
    assert rig.tick(0.5) == [], "one at a time"
    rig.sent.reports[0](None, Acknowledged(SAMPLE_INSTANT // 1000 + 500))
    assert rig.tick(9) == []
    assert rig.tick(10) == [token]


def test_a_full_queue_is_tried_again_soon() -> None:
    rig = Rig()
    token = rig.asked.claim(0).fencing_token
    rig.watch()
    rig.sent.full = True
    assert rig.tick(10) == []
    rig.sent.full = False
    assert rig.tick(10.1) == []
    assert rig.tick(10.2) == [token]
