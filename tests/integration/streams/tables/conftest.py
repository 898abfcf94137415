"""Workers that run the tables, and topics to feed them by."""

import signal
import time
from collections.abc import Callable, Iterator

import pytest
from tests.tables_on_kafka import Stream, WorkerProcess

from unmask.schemas.windowing import MICROS


@pytest.fixture
def stream(kafka: str, namespace: str) -> Stream:
    """A namespace with its topics."""
    return Stream(kafka, namespace)


@pytest.fixture
def worker(kafka: str, namespace: str) -> Iterator[Callable[..., WorkerProcess]]:
    """Start workers with further arguments, of the tables alone unless `only` is None; all end with the test."""
    started: list[WorkerProcess] = []

    def start(*arguments: str, only: str | None = "tables", bootstrap: str = kafka) -> WorkerProcess:
        part = () if only is None else ("--only", only)
        made = WorkerProcess(bootstrap, namespace, *part, *arguments)
        started.append(made)
        return made

    yield start
    for one in started:
        if not one.ended():
            one.end(signal.SIGKILL)


@pytest.fixture
def minute() -> Callable[[int], int]:
    """The start of a recent minute: 0 is ten minutes ago."""
    now = int(time.time()) // 60 * 60
    return lambda n: (now - 600 + 60 * n) * MICROS
