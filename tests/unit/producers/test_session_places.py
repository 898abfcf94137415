"""Nested and concurrent calls: which operation and which session a call belongs to."""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from tests.unit.producers.recorded import RecordingHost, fails

from unmask.producers import Session, Substitute, current_session
from unmask.producers.place import here


def _counts(host: RecordingHost, session: Session) -> tuple[int, int]:
    teardown = host.teardown(session)
    return teardown["operations"], teardown["degraded_operations"]


def test_a_call_inside_of_a_call_is_the_same_operation(host: RecordingHost) -> None:
    def outer(session: Session) -> Any:
        return session.call("openai", fails(TimeoutError()), Substitute("azure", lambda: "inner"))

    with host.session() as session:
        assert session.call("agent", lambda: outer(session), lambda: "outer") == "inner"
        assert session.call("agent", lambda: "clean") == "clean"
    (masked,) = host.masked(session)
    assert masked["upstream"] == "openai"
    assert _counts(host, session) == (2, 1)


def test_faults_at_both_levels_degrade_their_operation_once(host: RecordingHost) -> None:
    def outer(session: Session) -> Any:
        session.call("openai", fails(TimeoutError()), Substitute("azure", lambda: "inner"))
        raise ConnectionRefusedError

    with host.session() as session:
        session.call("agent", lambda: outer(session), Substitute("legacy", lambda: 1))
    masked = host.masked(session)
    assert [each["upstream"] for each in masked] == ["openai", "agent"]
    assert len({each["operation_id"] for each in masked}) == 1
    assert _counts(host, session) == (1, 1)


def test_all_calls_inside_of_an_operation_are_that_operation(host: RecordingHost) -> None:
    with host.session() as session:
        with session.operation("op-7"):
            for _ in range(3):
                with pytest.raises(TimeoutError):
                    session.call("openai", fails(TimeoutError()))
            session.call("openai", fails(TimeoutError()), lambda: 1)
        session.call("openai", lambda: 1)
    assert {each["operation_id"] for each in host.masked(session)} == {"op-7"}
    assert _counts(host, session) == (2, 1)


def test_an_operation_id_that_is_given_is_an_operation_of_its_own(host: RecordingHost) -> None:
    with host.session() as session, session.operation("op-1"):
        session.call("openai", fails(TimeoutError()), lambda: 1, operation_id="op-2")
    assert {each["operation_id"] for each in host.masked(session)} == {"op-2"}
    assert _counts(host, session) == (2, 1)


def test_another_capability_inside_of_an_operation_is_one_of_its_own(host: RecordingHost) -> None:
    def answer(session: Session) -> Any:
        session.call("search", fails(TimeoutError()), lambda: 1, capability="places-retrieval")
        raise TimeoutError

    with host.session() as session:
        session.call("openai", lambda: answer(session), lambda: 1, capability="places-answer")
    fallbacks = host.fallbacks(session)
    assert {each["capability"] for each in fallbacks} == {"places-answer", "places-retrieval"}
    assert len({each["operation_id"] for each in fallbacks}) == 2
    assert host.attempts("places-answer") == host.attempts("places-retrieval") == 1
    assert _counts(host, session) == (2, 2)


def test_a_capability_that_is_entered_again_in_one_operation_is_one_attempt(host: RecordingHost) -> None:
    with host.session() as session, session.operation(capability="places-again"):
        with pytest.raises(TimeoutError):
            session.call("openai", fails(TimeoutError()), capability="places-again")
        session.call("openai", fails(TimeoutError()), lambda: 1, capability="places-again")
    assert host.attempts("places-again") == len(host.fallbacks(session)) == 1
    assert host.teardown(session)["claims"]["route_attempt"] == 1


def test_sessions_inside_of_one_another_keep_their_own_operations(host: RecordingHost) -> None:
    with host.session() as outer, outer.operation("op-1"):
        with host.session() as inner:
            assert current_session() is inner
            inner.call("openai", fails(TimeoutError()), lambda: 1)
            outer.call("openai", fails(TimeoutError()), lambda: 1)
        assert current_session() is outer
    assert current_session() is None
    assert {each["operation_id"] for each in host.masked(outer)} == {"op-1"}
    assert "op-1" not in {each["operation_id"] for each in host.masked(inner)}


def test_sessions_may_be_left_in_another_order_than_they_were_entered(host: RecordingHost) -> None:
    first, second = host.session(), host.session()
    first.begin()
    second.begin()
    first.end()
    assert current_session() is second
    second.end()
    assert current_session() is None
    assert here() is None


def test_a_session_may_be_left_in_another_context_than_it_was_entered(host: RecordingHost) -> None:
    session = host.session()
    elsewhere = contextvars.copy_context()
    elsewhere.run(session.begin)
    assert elsewhere.run(current_session) is session
    assert current_session() is None
    session.end()
    assert elsewhere.run(current_session) is None


def test_a_session_around_a_generator_ends_with_it(host: RecordingHost) -> None:
    @contextmanager
    def resource() -> Iterator[Session]:
        with host.session() as session:
            yield session

    with resource() as session:
        assert current_session() is session
    assert current_session() is None
    assert host.teardown(session)["outcome"] == "success"


def test_tasks_of_one_operation_count_together_and_those_beside_it_for_themselves(host: RecordingHost) -> None:
    async def fetch(session: Session) -> int:
        await asyncio.sleep(0.001)
        return await session.acall("openai", fails(TimeoutError()), lambda: 1)

    async def fan_out(session: Session) -> int:
        return sum(await asyncio.gather(*(fetch(session) for _ in range(5))))

    async def work() -> Session:
        async with host.session() as session:
            assert await session.acall("agent", lambda: fan_out(session)) == 5
            async with session.operation():
                await fan_out(session)
            await fan_out(session)
        return session

    session = asyncio.run(work())
    assert len(host.masked(session)) == 15
    assert _counts(host, session) == (7, 7)


def test_tasks_that_outlive_their_operation_are_operations_of_their_own(host: RecordingHost) -> None:
    async def later(session: Session, go: asyncio.Event) -> None:
        await go.wait()
        assert current_session() is session
        session.call("openai", fails(TimeoutError()), lambda: 1)

    async def work() -> Session:
        go = asyncio.Event()
        with host.session() as session:
            with session.operation("op-1"):
                task = asyncio.create_task(later(session, go))
                await asyncio.sleep(0)
            go.set()
            await task
        return session

    session = asyncio.run(work())
    assert "op-1" not in {each["operation_id"] for each in host.masked(session)}
    assert _counts(host, session) == (2, 1)


def test_sessions_side_by_side_in_tasks_do_not_mix(host: RecordingHost) -> None:
    async def one(number: int) -> Session:
        async with host.session() as session:
            for _ in range(number):
                await asyncio.sleep(0)
                assert current_session() is session
                await session.acall("openai", fails(TimeoutError()), lambda: 1)
        return session

    async def work() -> list[Session]:
        return await asyncio.gather(*(one(number) for number in range(1, 6)))

    for number, session in enumerate(asyncio.run(work()), 1):
        assert _counts(host, session) == (number, number)


def test_a_thread_knows_its_session_only_when_it_was_carried_there(host: RecordingHost) -> None:
    found: list[Session | None] = []

    def run(work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    with host.session() as session:
        run(lambda: found.append(current_session()))
        run(session.carry(lambda: found.append(current_session())))
    assert found == [None, session]


def test_work_carried_into_a_pool_belongs_to_the_operation_that_sent_it(host: RecordingHost) -> None:
    def work(number: int) -> int:
        session = current_session()
        assert session is not None
        answer: int = session.call("openai", fails(TimeoutError()), lambda: number)
        return answer

    with ThreadPoolExecutor(4) as pool, host.session() as session:
        with session.operation("op-1"):
            assert sorted(pool.map(session.carry(work), range(20))) == list(range(20))
            late = session.carry(work)
        assert pool.submit(late, 7).result() == 7
        assert pool.submit(current_session).result() is None
    ids = [each["operation_id"] for each in host.masked(session)]
    assert ids.count("op-1") == 20
    assert _counts(host, session) == (2, 2)


def test_what_is_carried_returns_and_raises_what_it_did_before(host: RecordingHost) -> None:
    error, answer = KeyError("mine"), object()

    async def soon() -> object:
        assert current_session() is not None
        return answer

    with host.session() as session:
        with pytest.raises(KeyError) as raised:
            session.carry(fails(error))()
        assert raised.value is error
        assert session.carry(lambda: answer)() is answer
        carried = session.carry(soon)
    assert asyncio.run(carried()) is answer


def test_asyncio_to_thread_carries_by_itself(host: RecordingHost) -> None:
    async def work() -> Session:
        async with host.session() as session, session.operation("op-1"):
            await asyncio.to_thread(session.call, "openai", fails(TimeoutError()), lambda: 1)
        return session

    session = asyncio.run(work())
    assert {each["operation_id"] for each in host.masked(session)} == {"op-1"}
