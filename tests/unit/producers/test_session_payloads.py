"""What a substitute delivered beside what the primary last delivered: proof of equality, and drift of the shape."""

import asyncio
from functools import partial
from typing import Any

import pytest
from tests.unit.producers.recorded import RecordingHost, fails

from unmask.producers import Session, Substitute
from unmask.producers.options import Asked
from unmask.producers.payloads import KnownPayloads, Sight
from unmask.schemas.codes import Equivalence

DOWN = fails(TimeoutError())
FULL = {"price": 1.5, "venue": {"name": "x"}, "history": [1, 2]}


def fall_back(session: Session, upstream: str, primary: Any, substitute: Any, **options: Any) -> None:
    """The primary answers once, then its substitute does."""
    session.call(upstream, lambda: primary, **options)
    session.call(upstream, DOWN, lambda: substitute, **options)


def last(host: RecordingHost, session: Session) -> dict[str, Any]:
    return host.masked(session)[-1]


@pytest.mark.parametrize(
    ("substitute", "equivalence", "drifted"),
    [
        ({"history": [1, 2], "venue": {"name": "x"}, "price": 1.5}, "bit_for_bit", False),
        ({**FULL, "price": 1.6}, "different", False),
        ({"price": 1.5}, "different", True),
        ({**FULL, "venue": None}, "different", True),
        (object(), "unproven", None),
    ],
)
def test_an_answer_is_compared_with_the_primarys_last_one_to_the_same_request(
    host: RecordingHost, substitute: Any, equivalence: str, drifted: bool | None
) -> None:
    with host.session() as session:
        fall_back(session, "prices", FULL, substitute, request={"symbol": "x"})
    masked = last(host, session)
    assert masked["equivalence"] == equivalence
    assert masked["primary_shape"] is not None
    if drifted is None:
        assert masked["fallback_shape"] is None
    else:
        assert (masked["primary_shape"] != masked["fallback_shape"]) is drifted


def test_without_a_request_equality_is_not_proven_but_drift_is_seen(host: RecordingHost) -> None:
    with host.session() as session:
        fall_back(session, "unasked", FULL, FULL)
        assert last(host, session)["equivalence"] == "unproven"
        assert last(host, session)["primary_shape"] == last(host, session)["fallback_shape"] is not None
        fall_back(session, "unasked", FULL, {"price": 1})
    assert last(host, session)["primary_shape"] != last(host, session)["fallback_shape"]


def test_answers_to_other_requests_and_of_other_upstreams_prove_nothing(host: RecordingHost) -> None:
    with host.session() as session:
        session.call("one", lambda: FULL, request="x")
        session.call("one", DOWN, lambda: FULL, request="y")
        assert last(host, session)["equivalence"] == "unproven"
        session.call("other", DOWN, lambda: FULL, request="x")
    assert last(host, session)["equivalence"] == "unproven"
    assert last(host, session)["primary_shape"] is None


def test_shapes_are_compared_within_a_capability(host: RecordingHost) -> None:
    with host.session() as session:
        session.call("both", lambda: FULL, capability="payloads-quote")
        session.call("both", lambda: ["x"], capability="payloads-search")
        session.call("both", DOWN, lambda: ["y"], capability="payloads-search")
        assert last(host, session)["primary_shape"] == last(host, session)["fallback_shape"]
        session.call("both", DOWN, lambda: ["y"], capability="payloads-quote")
    assert last(host, session)["primary_shape"] != last(host, session)["fallback_shape"]


def test_shapes_are_compared_within_a_request_where_it_is_known(host: RecordingHost) -> None:
    with host.session() as session:
        session.call("mixed", lambda: FULL, request="x")
        session.call("mixed", lambda: ["other"], request="y")
        session.call("mixed", DOWN, lambda: {**FULL, "price": 2}, request="x")
    assert last(host, session)["primary_shape"] == last(host, session)["fallback_shape"] is not None


def test_it_is_the_last_answer_that_counts(host: RecordingHost) -> None:
    with host.session() as session:
        for price in (1, 2):
            session.call("last", partial(dict, price=price), request="x")
        for price in (1, 2):
            session.call("last", DOWN, partial(dict, price=price), request="x")
        session.call("last", object, request="x")
        session.call("last", DOWN, lambda: {"price": 2}, request="x")
    assert [each["equivalence"] for each in host.masked(session)] == ["different", "bit_for_bit", "unproven"]


def test_an_answer_that_changes_later_is_known_as_it_was(host: RecordingHost) -> None:
    answer = {"price": 1}
    with host.session() as session:
        session.call("mutable", lambda: answer, request="x")
        answer["price"] = 2
        session.call("mutable", DOWN, lambda: answer, request="x")
    assert last(host, session)["equivalence"] == "different"


def test_a_retry_that_answers_is_the_primarys_answer_and_a_substitutes_is_not(host: RecordingHost) -> None:
    with host.session() as session:
        session.call("again", DOWN, Substitute("again", lambda: "a"), request="x")
        session.call("again", DOWN, lambda: "b", request="x")
        session.call("again", DOWN, lambda: "a", request="x")
    assert [each["equivalence"] for each in host.masked(session)] == ["different", "bit_for_bit"]


def test_the_payload_of_an_answer_may_be_taken_out_of_it(host: RecordingHost) -> None:
    class Response:
        def __init__(self, body: Any) -> None:
            self.body = body

        def json(self) -> Any:
            if isinstance(self.body, Exception):
                raise self.body
            return self.body

    options: dict[str, Any] = {"payload": Response.json, "request": "x"}
    with host.session() as session:
        fall_back(session, "responses", Response(FULL), Response(dict(FULL)), **options)
        fall_back(session, "responses", Response(FULL), Response(ValueError()), **options)
        fall_back(session, "responses", Response(ValueError()), Response(FULL), **options)
    assert [each["equivalence"] for each in host.masked(session)] == ["bit_for_bit", "unproven", "unproven"]
    assert host.teardown(session)["degraded_operations"] == 3


def test_what_is_measured_stands_over_what_the_host_claims(host: RecordingHost) -> None:
    claimed = Substitute("mirror", lambda: "b", equivalence=Equivalence.BIT_FOR_BIT)
    with host.session() as session:
        session.call("claims", lambda: "a", request="x")
        session.call("claims", DOWN, claimed, request="x")
        session.call("claims", DOWN, claimed)
    assert [each["equivalence"] for each in host.masked(session)] == ["different", "bit_for_bit"]


def test_a_comparison_may_be_switched_off(host: RecordingHost) -> None:
    with host.session() as session:
        fall_back(session, "off", FULL, FULL, request="x", compare=False)
    masked = last(host, session)
    assert (masked["equivalence"], masked["primary_shape"], masked["fallback_shape"]) == ("unproven", None, None)


def test_a_request_without_a_canonical_form_is_no_request(host: RecordingHost) -> None:
    with host.session() as session:
        fall_back(session, "strange", FULL, FULL, request=object())
    assert last(host, session)["equivalence"] == "unproven"


def test_awaited_answers_are_compared_too(host: RecordingHost) -> None:
    async def answer() -> dict[str, Any]:
        return FULL

    async def work(session: Session) -> None:
        await session.acall("awaited", answer, request="x")
        await session.acall("awaited", DOWN, answer, request="x")

    with host.session() as session:
        asyncio.run(work(session))
    assert last(host, session)["equivalence"] == "bit_for_bit"


def test_the_primary_is_remembered_from_one_session_to_the_next(host: RecordingHost) -> None:
    with host.session() as first:
        first.call("sessions", lambda: FULL, request="x")
    with host.session() as second:
        second.call("sessions", DOWN, lambda: FULL, request="x")
    assert last(host, second)["equivalence"] == "bit_for_bit"


def _sight(asked: Asked, answer: Any) -> Sight:
    sight = Sight(asked)
    sight.add(answer)
    return sight


def test_memory_of_answers_is_bounded_and_keeps_the_newest() -> None:
    known = KnownPayloads(limit=30)
    for number in range(1_000):
        asked = Asked("u", request=number)
        known.learn(asked, _sight(asked, number))
        assert known.compare(asked, _sight(asked, number)).equivalence is Equivalence.BIT_FOR_BIT
    assert sum(map(len, known._generations)) <= 60
    oldest, newest = Asked("u", request=0), Asked("u", request=995)
    assert known.compare(newest, _sight(newest, 995)).equivalence is Equivalence.BIT_FOR_BIT
    assert known.compare(oldest, _sight(oldest, 0)).equivalence is Equivalence.UNPROVEN
