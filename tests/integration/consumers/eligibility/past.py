"""A month as it reaches the pipeline when hosts were cut off all the time: the SDK's own batches, all sent at once.

Each host is a real life of the SDK with a clock of its own that is moved through the month. It cuts a batch every
hour, as its heartbeat says, and keeps all of them until they are delivered, which is now.
"""

import time
from collections import Counter

from confluent_kafka import Producer

from unmask.producers import EmitterSettings
from unmask.producers.life import EmitterLife
from unmask.producers.report import FAMILIES
from unmask.producers.store import MemoryStore
from unmask.schemas.codes import Family, ReasonCode
from unmask.schemas.windowing import MICROS

__all__ = ["HOUR", "PastHost", "now"]

HOUR = 3600 * MICROS
_ROOM = 10_000


def now() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1_000


class PastHost:
    """One host that lived in the past, or lives still."""

    def __init__(self, started_at: int, release_line: str = "2026.1", switchboard: str = "default") -> None:
        self.at = started_at
        self.sent: Counter[str] = Counter()
        settings = EmitterSettings(release_line=release_line, switchboard=switchboard, heartbeat_ms=3_600_000)
        self.life = EmitterLife(settings, lambda: self.at * 1_000, lambda _: MemoryStore(_ROOM))
        self.life.open()
        self.life.cut()

    def attempt(self, capability: str, times: int) -> None:
        """Attempts at the host's time."""
        for _ in range(times):
            self._record(Family.ROUTE_ATTEMPT, (self.at * 1_000, capability, "chat", None))

    def fallback(self, capability: str) -> None:
        """A fallback at the host's time."""
        nothing = (None, None, None, None, None, None)
        self._record(Family.KERNEL_FALLBACK, (self.at * 1_000, capability, ReasonCode.TIMEOUT, *nothing))

    def live_until(self, instant: int, *capabilities: str, attempts: int = 20) -> None:
        """Hour by hour up to the instant, with so many attempts of each capability in each hour."""
        while self.at < instant:
            step = min(self.at - self.at % HOUR + HOUR, instant)
            self.at += (step - self.at) // 2
            for capability in capabilities:
                self.attempt(capability, attempts)
            self.at = step
            self.life.cut()

    def deliver(self, producer: Producer, topic: str, *, lose: bool = False) -> None:
        """Sends everything that was cut; with `lose` the client says so, and nothing arrives."""
        while (batch := self.life.next_to_send()) is not None:
            if not lose:
                producer.produce(topic, batch.data, batch.emitter_id)
                producer.poll(0)
            self.life.delivered(batch.batch_seq)

    def _record(self, family: Family, raw: tuple[object, ...]) -> None:
        lane = self.life.buffer.lanes[FAMILIES.index(family)]
        lane.count()
        lane.events.append(raw)
        self.sent[family] += 1
