"""The decorator: a function gets its substitutes, and its callers need to know of nothing."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import pytest
from tests.unit.producers.recorded import RecordingHost, fails

from unmask.producers import Emitter, NullSink, Substitute, current_session, get_sink, set_sink, tracked
from unmask.schemas.codes import Family


def cached(symbol: str, *, currency: str = "EUR") -> dict[str, str]:
    return {"symbol": symbol, "currency": currency, "from": "cache"}


@tracked("prices", Substitute("cache", cached), capability="tracked-quote", request=lambda symbol, **_: symbol)
def quote(symbol: str, *, currency: str = "EUR") -> dict[str, str]:
    """The price of a symbol."""
    if symbol == "down":
        raise TimeoutError
    return {"symbol": symbol, "currency": currency, "from": "prices"}


def test_a_decorated_function_is_a_call_of_the_session_that_it_runs_in(host: RecordingHost) -> None:
    with host.session() as session:
        assert quote("up")["from"] == "prices"
        assert quote("down", currency="USD") == {"symbol": "down", "currency": "USD", "from": "cache"}
    (masked,) = host.masked(session)
    assert (masked["upstream"], masked["fallback_execution_receipt"]) == ("prices", "cache")
    assert host.attempts("tracked-quote") == 2
    assert host.teardown(session)["operations"] == 2


def test_a_decorated_function_looks_like_itself() -> None:
    assert quote.__name__ == "quote"
    assert quote.__doc__ == "The price of a symbol."
    assert list(inspect.signature(quote).parameters) == ["symbol", "currency"]


@pytest.fixture
def sink(emitter: Emitter) -> Iterator[Emitter]:
    before = set_sink(emitter)
    yield emitter
    set_sink(before)


def test_outside_of_any_session_the_substitute_stands_in_and_the_capability_is_counted(sink: Emitter) -> None:
    assert quote("up")["from"] == "prices"
    assert quote("down")["from"] == "cache"
    counts = sink.counts()
    assert counts[Family.ROUTE_ATTEMPT].recorded == 2
    assert counts[Family.KERNEL_FALLBACK].recorded == 1
    assert counts[Family.MASKED_ERROR].recorded == 0


def test_without_any_sink_the_function_works_all_the_same() -> None:
    assert get_sink().wired is False
    assert quote("down")["from"] == "cache"


def test_where_nothing_is_wired_a_session_works_and_records_nothing() -> None:
    with NullSink().session("s-1", primary_paths=[("a", "b")]) as session:
        assert current_session() is not None
        assert session.call("prices", fails(TimeoutError()), lambda: "cached", capability="quote") == "cached"
        assert list(session.stream("prices", lambda: [1, 2])) == [1, 2]
        with session.operation() as operation:
            operation.fell_back("prices", "cache")
        assert quote("down")["from"] == "cache"
        assert (session.operations, session.degraded_operations) == (4, 3)
    assert not session.delivery(0).acknowledged
    with pytest.raises(KeyError), NullSink().session("s-1"):
        raise KeyError


async def cached_later(symbol: str) -> str:
    return f"{symbol} from cache"


def test_coroutine_functions_stay_coroutine_functions(host: RecordingHost) -> None:
    @tracked("prices", cached_later)
    async def quote_later(symbol: str) -> str:
        await asyncio.sleep(0)
        raise TimeoutError

    async def work() -> str:
        async with host.session() as found:
            sessions.append(found)
            return await quote_later("x")

    sessions: list[Any] = []
    assert inspect.iscoroutinefunction(quote_later)
    assert asyncio.run(work()) == "x from cache"
    assert host.signatures(sessions[0]) == ["TIMEOUT"]


def test_generator_functions_become_streams(host: RecordingHost) -> None:
    def rest(handed: int, upto: int) -> Iterator[int]:
        yield from range(handed, upto)

    @tracked("numbers", Substitute("mirror", rest, resumes=True))
    def numbers(upto: int) -> Iterator[int]:
        yield from range(upto // 2)
        raise ConnectionResetError

    with host.session() as session:
        assert list(numbers(6)) == [0, 1, 2, 3, 4, 5]
    assert host.signatures(session) == ["CONNECTION_RESET"]
    assert list(numbers(4)) == [0, 1, 2, 3]


def test_async_generator_functions_become_async_streams(host: RecordingHost) -> None:
    @tracked("numbers", lambda upto: range(upto))
    async def numbers(upto: int) -> AsyncIterator[int]:
        yield -1
        raise ConnectionResetError

    async def work() -> list[int]:
        return [number async for number in numbers(2)]

    with host.session() as session:
        assert asyncio.run(work()) == [-1, 0, 1]
    assert host.teardown(session)["degraded_operations"] == 1


def test_methods_partials_and_callable_objects_may_be_decorated(host: RecordingHost) -> None:
    class Client:
        @tracked("prices", lambda self, symbol: f"{symbol} by {type(self).__name__}")
        def ask(self, symbol: str) -> str:
            raise TimeoutError

        async def __call__(self, symbol: str) -> str:
            raise TimeoutError

    ask = tracked("prices", lambda symbol: "cached")(Client())
    half = tracked("prices", cached_later)(partial(Client.__call__, Client()))
    with host.session():
        assert Client().ask("x") == "x by Client"
        assert asyncio.run(ask("x")) == "cached"
        assert asyncio.run(half("x")) == "x from cache"


def test_the_same_function_as_its_own_substitute_is_a_retry(host: RecordingHost) -> None:
    tries: list[str] = []

    def flaky(symbol: str) -> str:
        tries.append(symbol)
        if len(tries) == 1:
            raise TimeoutError
        return "answer"

    with host.session() as session:
        assert tracked("prices", flaky)(flaky)("x") == "answer"
    assert host.masked(session) == []


def test_a_request_that_cannot_be_told_disturbs_nothing(host: RecordingHost) -> None:
    @tracked("prices", lambda symbol: "cached", request=lambda symbol: 1 / 0)
    def ask(symbol: str) -> str:
        raise TimeoutError

    with host.session() as session:
        assert ask("x") == "cached"
    assert [each["equivalence"] for each in host.masked(session)] == ["unproven"]
