"""A worker that stays alive and idle: the teardown of its session reaches the broker all the same, and it can know."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from unmask.producers import Emitter, EmitterSettings
from unmask.schemas.codes import Family

pytestmark = pytest.mark.integration

Batches = Callable[[], dict[str, list[dict[str, Any]]]]


@pytest.fixture
def idle(settings: EmitterSettings) -> Iterator[Emitter]:
    """An emitter that, left to itself, would send nothing for an hour."""
    made = Emitter(settings.model_copy(update={"flush_interval_ms": 3_600_000, "heartbeat_ms": 3_600_000}))
    yield made
    made.close(5)


def _down() -> str:
    raise TimeoutError


def _teardowns(batches: Batches) -> list[str]:
    return [
        teardown["session_id"]
        for sent in batches().values()
        for batch in sent
        for teardown in batch["session_teardowns"]
    ]


def test_p06_the_end_of_a_session_says_that_its_teardown_was_acknowledged(idle: Emitter, batches: Batches) -> None:
    session = idle.session("by-hand").begin()
    session.call("openai", _down, lambda: "cached", capability="answer")
    begun = time.monotonic()
    delivery = session.end(wait=10)
    assert delivery.acknowledged
    assert (delivery.lost, delivery.pending) == (0, 0)
    assert time.monotonic() - begun < 10
    with idle.session("as-a-context") as other:
        other.call("openai", _down, lambda: "cached")
        assert not other.delivery(5).acknowledged  # it goes on
    assert other.delivery().acknowledged
    assert idle.health().running
    assert _teardowns(batches) == ["by-hand", "as-a-context"]


def test_p06_a_coroutine_learns_it_without_holding_up_its_loop(idle: Emitter, batches: Batches) -> None:
    async def work() -> int:
        async with idle.session("s-1") as session:
            await session.acall("openai", _down, lambda: "cached")
        ticks = 0
        waiting = asyncio.create_task(asyncio.to_thread(session.delivery, 10))
        while not waiting.done():
            ticks += 1
            await asyncio.sleep(0)
        assert (await waiting).acknowledged
        return ticks

    assert asyncio.run(work()) > 1
    assert _teardowns(batches) == ["s-1"]


def test_p06_without_being_asked_the_teardown_arrives_within_moments(idle: Emitter, batches: Batches) -> None:
    with idle.session("unasked"):
        pass
    deadline = time.monotonic() + 20
    while not idle.counts()[Family.SESSION_TEARDOWN].delivered and time.monotonic() < deadline:
        time.sleep(0.01)
    assert idle.counts()[Family.SESSION_TEARDOWN].delivered == 1
    assert _teardowns(batches) == ["unasked"]
