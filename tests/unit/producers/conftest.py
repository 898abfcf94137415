"""An emitter without a broker, whose batches are kept to be looked at."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.unit.producers.recorded import RecordingHost

from unmask.producers import Emitter, EmitterSettings
from unmask.producers.store import MemoryStore, StoredBatch
from unmask.schemas.codec import decode


class KeptBatches:
    """Every batch that an emitter has cut, encoded and decoded."""

    def __init__(self) -> None:
        self.stored: list[StoredBatch] = []

    def store(self, _owner: object) -> MemoryStore:
        kept = self

        class Keeping(MemoryStore):
            def put(self, batch: StoredBatch) -> None:
                kept.stored.append(batch)
                super().put(batch)

        return Keeping()

    @property
    def decoded(self) -> list[dict[str, Any]]:
        return [decode("event_batch", batch.data) for batch in self.stored]

    def all(self, field: str) -> list[dict[str, Any]]:
        """The events of one field of all batches, in order."""
        return [event for batch in self.decoded for event in batch[field]]


@pytest.fixture
def kept() -> KeptBatches:
    return KeptBatches()


@pytest.fixture
def emitter(kept: KeptBatches) -> Iterator[Emitter]:
    made = Emitter(EmitterSettings(bootstrap_servers="127.0.0.1:1", flush_interval_ms=3_600_000), stores=kept.store)
    yield made
    made.close(0)


@pytest.fixture
def cut(emitter: Emitter, kept: KeptBatches) -> Callable[[], list[dict[str, Any]]]:
    """Close the emitter, so that everything recorded has been cut, and give its batches."""

    def close_and_read() -> list[dict[str, Any]]:
        deadline = emitter.begin_closing(2)
        while not kept.stored[-1].closing and time.monotonic() < deadline:
            time.sleep(0.002)
        emitter.finish_closing(0)
        return kept.decoded

    return close_and_read


@pytest.fixture(scope="module")
def host() -> Iterator[RecordingHost]:
    """One emitter for all tests of a module; each takes a session of its own."""
    made = RecordingHost()
    yield made
    made.emitter.close(0)
