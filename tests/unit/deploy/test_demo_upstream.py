"""The demo's upstream really stalls, refuses, limits, fails and recovers, and its client tells these apart."""

import threading
import time
from collections.abc import Iterator

import pytest

from demo.client import ask, outcome_of
from demo.plan import Behaviour, Phase, Plan
from demo.upstream import Upstream
from unmask.consumers.devbroker.ports import free_ports

_STEP_S = 0.8


@pytest.fixture
def upstream() -> Iterator[tuple[str, float]]:
    """Address and start of an upstream that changes its behaviour every 0.8 s."""
    order = [Behaviour.REFUSES, Behaviour.ANSWERS, Behaviour.RATE_LIMITS, Behaviour.FAILS, Behaviour.TIMES_OUT]
    phases = tuple(Phase(behaviour, n * _STEP_S, (n + 1) * _STEP_S) for n, behaviour in enumerate(order))
    start = time.time()
    (port,) = free_ports(1)
    serving = Upstream(port, Plan(phases, (), phases[-1].end), start)
    stop = threading.Event()
    thread = threading.Thread(target=serving.run, args=(stop,))
    thread.start()
    yield f"http://127.0.0.1:{port}", start
    stop.set()
    thread.join()


def seen_at(base: str, at: float) -> str:
    time.sleep(max(0.0, at - time.time()))
    try:
        return str(ask(base, "search", timeout=0.3)["answer"])
    except Exception as error:
        return outcome_of(error)


def test_an_upstream_behaves_by_its_plan_and_comes_back_on_its_port(upstream: tuple[str, float]) -> None:
    base, start = upstream
    seen = [seen_at(base, start + (n + 0.4) * _STEP_S) for n in range(6)]
    assert seen == ["refused", "search", "status 429", "status 503", "timed out", "search"]
