"""Streams that fail after they began: who completes them decides what the session is."""

import asyncio
import contextlib
import gc
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from itertools import islice
from typing import Any

import pytest
from tests.unit.producers.recorded import RecordingHost, fails

from unmask.producers import NotAttempted, Session, Substitute
from unmask.schemas.codes import Equivalence


class Cut(Exception):
    """As a provider's client says that a stream broke."""


Cut.__name__ = "RemoteProtocolError"


def broken_after(items: int, error: Exception | None = None) -> Callable[..., Iterator[int]]:
    def stream(*_: object) -> Iterator[int]:
        yield from range(items)
        raise Cut if error is None else error

    return stream


def whole(items: int = 5) -> Callable[..., Iterator[int]]:
    def stream(*_: object) -> Iterator[int]:
        yield from range(items)

    return stream


def behind(handed: int) -> Iterator[int]:
    return islice(iter(range(5)), handed, None)


def later(stream: Callable[..., Iterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
    async def items(*args: object) -> AsyncIterator[Any]:
        for item in stream(*args):
            await asyncio.sleep(0)
            yield item

    return items


Run = Callable[..., list[Any]]


def _plainly(session: Session, upstream: str, primary: Any, *substitutes: Any, **options: Any) -> list[Any]:
    return list(session.stream(upstream, primary, *substitutes, **options))


def _asynchronously(session: Session, upstream: str, primary: Any, *substitutes: Any, **options: Any) -> list[Any]:
    def turned(way: Any) -> Any:
        if isinstance(way, Substitute):
            return Substitute(way.target, later(way.call), way.receipt, way.equivalence, way.resumes)
        return None if way is None else later(way)

    async def collect() -> list[Any]:
        stream = session.astream(upstream, turned(primary), *map(turned, substitutes), **options)
        return [item async for item in stream]

    return asyncio.run(collect())


@pytest.fixture(params=[_plainly, _asynchronously], ids=["plain", "async"])
def run(request: pytest.FixtureRequest) -> Run:
    return request.param  # type: ignore[no-any-return]


def test_a_stream_that_a_backup_completes_is_a_degraded_success(host: RecordingHost, run: Run) -> None:
    with host.session() as session:
        items = run(session, "openai", broken_after(3), Substitute("azure", behind, resumes=True), capability="chat")
    assert items == [0, 1, 2, 3, 4]
    (masked,) = host.masked(session)
    assert (masked["upstream"], masked["masked_upstream_signature"]) == ("openai", "STREAM_BROKEN")
    assert masked["fallback_execution_receipt"] == "azure"
    (fallback,) = host.fallbacks(session)
    assert fallback["operation_id"] == masked["operation_id"]
    teardown = host.teardown(session)
    assert (teardown["outcome"], teardown["operations"], teardown["degraded_operations"]) == ("success", 1, 1)


def test_a_stream_that_no_backup_completes_misses_its_objective_even_if_the_host_goes_on(
    host: RecordingHost, run: Run
) -> None:
    last = RuntimeError("the last one")
    with host.session() as session, pytest.raises(RuntimeError) as raised:
        run(session, "openai", broken_after(3), Substitute("azure", broken_after(0, last)))
    assert raised.value is last
    assert host.teardown(session)["outcome"] == "failure"
    assert host.masked(session) == []


def test_items_of_a_backup_that_broke_off_too_have_hidden_what_was_before(host: RecordingHost, run: Run) -> None:
    with host.session() as session, pytest.raises(TimeoutError):
        run(session, "openai", broken_after(2), Substitute("azure", broken_after(2, TimeoutError())))
    assert [each["upstream"] for each in host.masked(session)] == ["openai"]
    teardown = host.teardown(session)
    assert (teardown["outcome"], teardown["degraded_operations"]) == ("failure", 1)


def test_only_what_was_before_the_items_of_a_backup_was_hidden_by_them(host: RecordingHost, run: Run) -> None:
    ways = (Substitute("azure", broken_after(1, TimeoutError())), Substitute("mistral", broken_after(0, KeyError())))
    with host.session() as session, pytest.raises(KeyError):
        run(session, "openai", broken_after(1), *ways)
    masked = host.masked(session)
    assert [(each["upstream"], each["fallback_execution_receipt"]) for each in masked] == [("openai", "azure")]
    assert host.teardown(session)["outcome"] == "failure"


def test_a_stream_that_fails_before_its_first_item_is_an_ordinary_fallback(host: RecordingHost, run: Run) -> None:
    with host.session() as session:
        assert run(session, "openai", broken_after(0, TimeoutError()), Substitute("azure", whole())) == [0, 1, 2, 3, 4]
    assert host.signatures(session) == ["TIMEOUT"]
    assert host.teardown(session)["outcome"] == "success"


def test_streams_that_never_began_fail_by_their_error_alone(host: RecordingHost, run: Run) -> None:
    with host.session() as session, pytest.raises(TimeoutError):
        run(session, "openai", broken_after(0), Substitute("azure", broken_after(0, TimeoutError())))
    teardown = host.teardown(session)
    assert (teardown["outcome"], teardown["degraded_operations"]) == ("success", 0)


def test_a_broken_stream_without_a_backup_reaches_its_consumer_and_hides_nothing(host: RecordingHost, run: Run) -> None:
    error = TimeoutError("mine")
    with host.session() as session, pytest.raises(TimeoutError) as raised:
        run(session, "openai", broken_after(3, error))
    assert raised.value is error
    assert host.masked(session) == []
    assert host.teardown(session)["outcome"] == "success"


def test_both_hops_of_a_stream_are_in_the_receipts(host: RecordingHost, run: Run) -> None:
    ways = (Substitute("azure", broken_after(1, TimeoutError())), Substitute("mistral", whole(), receipt="m-1"))
    with host.session() as session:
        assert run(session, "openai", broken_after(1), *ways) == [0, 0, 0, 1, 2, 3, 4]
    masked = host.masked(session)
    assert [(each["upstream"], each["fallback_execution_receipt"]) for each in masked] == [
        ("openai", "m-1"),
        ("azure", "m-1"),
    ]
    assert host.teardown(session)["degraded_operations"] == 1


def test_the_same_stream_begun_again_is_a_retry(host: RecordingHost, run: Run) -> None:
    with host.session() as session:
        assert len(run(session, "openai", broken_after(2), Substitute("openai", whole()))) == 7
    assert host.masked(session) == []
    assert host.teardown(session)["degraded_operations"] == 0


def test_a_stream_that_was_not_attempted_invents_no_error(host: RecordingHost, run: Run) -> None:
    with host.session() as session:
        assert run(session, "openai", None, Substitute("azure", whole(2)), capability="chat") == [0, 1]
    assert host.signatures(session) == ["NOT_ATTEMPTED"]
    assert [each["reason_code"] for each in host.fallbacks(session)] == ["circuit_open"]


def test_a_stream_with_nothing_to_call_says_so(host: RecordingHost, run: Run) -> None:
    with host.session() as session, pytest.raises(NotAttempted, match="nothing stands in"):
        run(session, "openai", None)


def test_a_stream_that_nobody_reads_is_no_operation(host: RecordingHost) -> None:
    with host.session() as session:
        session.stream("openai", fails(AssertionError()), capability="unread")
    assert host.teardown(session)["operations"] == 0
    assert host.attempts("unread") == 0


def test_a_consumer_that_leaves_early_gets_no_error_and_closes_the_source(host: RecordingHost) -> None:
    closed: list[str] = []

    def source() -> Iterator[int]:
        try:
            yield from range(100)
        finally:
            closed.append("source")

    with host.session() as session:
        for item in session.stream("openai", source):
            if item == 2:
                break
        gc.collect()
        assert closed == ["source"]
    assert host.masked(session) == []
    assert host.teardown(session)["outcome"] == "success"


def test_a_consumer_that_leaves_while_a_backup_delivers_went_through_a_fallback(host: RecordingHost) -> None:
    with host.session() as session:
        stream = session.stream("openai", broken_after(1), Substitute("azure", whole()), receipt="unused")
        assert [next(stream), next(stream)] == [0, 0]
        stream.close()
    assert host.signatures(session) == ["STREAM_BROKEN"]
    assert host.teardown(session)["degraded_operations"] == 1


def test_an_async_consumer_that_leaves_early_closes_the_source(host: RecordingHost) -> None:
    closed: list[str] = []

    async def source() -> AsyncIterator[int]:
        try:
            for number in range(100):
                yield number
        finally:
            await asyncio.sleep(0)
            closed.append("source")

    async def work(session: Session) -> None:
        stream = session.astream("openai", broken_after(1), Substitute("azure", source))
        async with contextlib.aclosing(stream):
            assert [await anext(stream), await anext(stream)] == [0, 0]

    with host.session() as session:
        asyncio.run(work(session))
    assert closed == ["source"]
    assert host.signatures(session) == ["STREAM_BROKEN"]


def test_a_cancelled_stream_is_not_gone_on_with(host: RecordingHost) -> None:
    async def slow() -> AsyncIterator[int]:
        yield 1
        await asyncio.sleep(3_600)

    async def work(session: Session) -> None:
        stream = session.astream("openai", slow, Substitute("azure", later(whole())))
        assert await anext(stream) == 1
        async with asyncio.timeout(0.01):
            await anext(stream)

    with host.session() as session, pytest.raises(TimeoutError):
        asyncio.run(work(session))
    assert host.masked(session) == []


def test_what_a_consumer_sends_and_throws_reaches_the_source_and_is_no_fault_of_it(host: RecordingHost) -> None:
    heard: list[object] = []

    def echo() -> Generator[str, Any, str]:
        while True:
            try:
                heard.append((yield "ready"))
            except KeyError as thrown:
                heard.append(thrown)
                return "over"

    with host.session() as session:
        stream = session.stream("openai", echo, Substitute("azure", whole()))
        assert next(stream) == "ready"
        assert stream.send("hello") == "ready"
        mine = KeyError("mine")
        with pytest.raises(StopIteration) as end:
            stream.throw(mine)
        assert end.value.value == "over"
        assert heard == ["hello", mine]

        stranger = session.stream("openai", whole(), Substitute("azure", whole()))
        next(stranger)
        with pytest.raises(LookupError) as raised:
            stranger.throw(LookupError("mine too"))
        assert str(raised.value) == "mine too"
    assert host.masked(session) == []


def test_what_an_async_consumer_sends_and_throws_reaches_the_source(host: RecordingHost) -> None:
    heard: list[object] = []

    async def echo() -> AsyncGenerator[str, Any]:
        while True:
            try:
                heard.append((yield "ready"))
            except KeyError as thrown:
                heard.append(thrown)
                return

    async def work(session: Session) -> None:
        stream = session.astream("openai", echo, Substitute("azure", later(whole())))
        assert await anext(stream) == "ready"
        assert await stream.asend("hello") == "ready"
        with pytest.raises(StopAsyncIteration):
            await stream.athrow(KeyError("mine"))

    with host.session() as session:
        asyncio.run(work(session))
    assert heard[0] == "hello"
    assert isinstance(heard[1], KeyError)
    assert host.masked(session) == []


def test_a_generators_result_is_the_streams(host: RecordingHost) -> None:
    def counted() -> Generator[int, None, str]:
        yield 1
        return "done"

    def through(session: Session) -> Generator[int, None, str]:
        result: str = yield from session.stream("openai", counted)
        return result

    with host.session() as session:
        stream = through(session)
        assert next(stream) == 1
        with pytest.raises(StopIteration) as end:
            next(stream)
    assert end.value.value == "done"


def test_items_are_handed_out_as_they_are(host: RecordingHost) -> None:
    items = [object() for _ in range(3)]
    with host.session() as session:
        assert all(given is item for given, item in zip(session.stream("openai", lambda: items), items, strict=True))


def test_coroutines_and_plain_iterables_may_stand_among_async_streams(host: RecordingHost) -> None:
    async def opened() -> AsyncIterator[int]:
        return later(broken_after(1))()

    async def work(session: Session) -> list[int]:
        return [item async for item in session.astream("openai", opened, Substitute("list", lambda: [7, 8]))]

    with host.session() as session:
        assert asyncio.run(work(session)) == [0, 7, 8]
    assert host.signatures(session) == ["STREAM_BROKEN"]


def test_whole_streams_are_compared_item_by_item_where_the_request_is_known(host: RecordingHost, run: Run) -> None:
    with host.session() as session:
        run(session, "openai", whole(), request={"q": 1})
        run(session, "openai", broken_after(2), Substitute("azure", behind, resumes=True), request={"q": 1})
        run(session, "openai", broken_after(2), Substitute("azure", whole(), resumes=False), request={"q": 1})
        run(session, "openai", broken_after(2), Substitute("azure", behind, resumes=True), request={"q": 2})
    found = [each["equivalence"] for each in host.masked(session)]
    assert found == [Equivalence.BIT_FOR_BIT, Equivalence.DIFFERENT, Equivalence.UNPROVEN]


def test_the_shape_of_a_backups_items_is_its_own(host: RecordingHost, run: Run) -> None:
    def rich(*_: object) -> Iterator[Any]:
        yield from [{"text": "a", "tokens": 3}] * 2

    def rich_then_broken(*_: object) -> Iterator[Any]:
        yield {"text": "a", "tokens": 3}
        raise Cut

    def poor(*_: object) -> Iterator[Any]:
        yield {"text": "a"}

    with host.session() as session:
        run(session, "shaped", rich)
        run(session, "shaped", rich_then_broken, Substitute("same", rich))
        run(session, "shaped", rich_then_broken, Substitute("simpler", poor))
    same, simpler = host.masked(session)
    assert same["primary_shape"] == same["fallback_shape"] == simpler["primary_shape"] is not None
    assert simpler["fallback_shape"] not in (None, simpler["primary_shape"])
