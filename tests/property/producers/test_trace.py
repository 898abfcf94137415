"""Whatever is swallowed where and in whatever order: an attributed error is the operation's own, or there is none."""

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.producers.recorded import RecordingHost

from unmask.producers import Operation, Session, current_session

UPSTREAMS = ("prices", "model")
SPOTS = 4  # two sessions with two operations each


class Status(Exception):
    def __init__(self, status: int) -> None:
        super().__init__()
        self.status_code = status


@pytest.fixture(scope="module")
def host() -> Iterator[RecordingHost]:
    made = RecordingHost()
    yield made
    made.emitter.close(0)


for name in ("swallowing", *UPSTREAMS):
    logging.getLogger(name).propagate = False
    logging.getLogger(name).addHandler(logging.NullHandler())

steps = st.one_of(
    st.tuples(st.just("swallow"), st.integers(0, SPOTS - 1), st.sampled_from([None, *UPSTREAMS])),
    st.tuples(st.just("retry"), st.integers(0, SPOTS - 1), st.none()),
    st.tuples(st.just("mark"), st.integers(0, SPOTS - 1), st.sampled_from(UPSTREAMS)),
)


@dataclass
class Spot:
    """What the model knows of one operation: errors that no mark and no retry has dealt with."""

    open: list[tuple[str, str | None]] = field(default_factory=list)

    def expected(self, upstream: str) -> str:
        named = [signature for signature, name in self.open if name == upstream]
        anonymous = [signature for signature, name in self.open if name is None]
        if named:
            return named[-1]
        return anonymous[0] if len(anonymous) == 1 else "UNATTRIBUTED"


@settings(deadline=None, max_examples=100)
@given(st.lists(steps, max_size=30))
def test_an_attributed_error_is_one_that_its_own_operation_swallowed_and_that_could_be_no_other(
    host: RecordingHost, program: list[tuple[str, int, Any]]
) -> None:
    with ExitStack() as stack:
        sessions = [stack.enter_context(host.session()) for _ in range(2)]
        for session in sessions:
            for upstream in UPSTREAMS:
                session.call(upstream, lambda: None)
        operations = [session.operation() for session in sessions for _ in range(2)]
        spots = [Spot() for _ in operations]
        expected: dict[str, list[str]] = {operation.operation_id: [] for operation in operations}
        for number, (what, where, about) in enumerate(program):
            _run(what, operations[where], spots[where], 500 + number, about, expected)
    found: dict[str, list[str]] = {operation.operation_id: [] for operation in operations}
    for session in sessions:
        for masked in host.masked(session):
            found[masked["operation_id"]].append(masked["masked_upstream_signature"])
    assert found == expected


def _run(
    what: str, operation: Operation, spot: Spot, status: int, about: str | None, expected: dict[str, list[str]]
) -> None:
    with operation:
        if what == "swallow":
            try:
                raise Status(status)
            except Status:
                logging.getLogger(about or "swallowing").exception("no answer")
            spot.open.append((f"HTTP_{status}", about))
        elif what == "retry":
            logging.getLogger("swallowing").warning("Retrying in %d s", 1)
            spot.open.clear()
        else:
            assert about is not None
            operation.fell_back(about, "cache")
            expected[operation.operation_id].append(spot.expected(about))
            spot.open.clear()


def test_threads_of_one_session_never_get_one_anothers_errors(host: RecordingHost) -> None:
    rounds, threads = 60, 6
    found: dict[str, int] = {}

    def work(number: int) -> None:
        session = current_session()
        assert isinstance(session, Session)
        for round_ in range(rounds):
            try:
                raise Status(500 + number)
            except Status:
                logging.getLogger("swallowing").exception("no answer")
            operation_id = f"op-{number}-{round_}"
            found[operation_id] = number
            session.fell_back("prices", "cache", operation_id=operation_id)

    with host.session() as session:
        workers = [threading.Thread(target=session.carry(work), args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    masked = host.masked(session)
    assert len(masked) == rounds * threads
    own = {each["operation_id"]: f"HTTP_{500 + found[each['operation_id']]}" for each in masked}
    attributed = [each for each in masked if each["masked_upstream_signature"] != "UNATTRIBUTED"]
    assert all(each["masked_upstream_signature"] == own[each["operation_id"]] for each in attributed)
    assert attributed
