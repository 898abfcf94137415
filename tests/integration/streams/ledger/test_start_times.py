"""How long a ledger takes until its first commit, under the settings that workers have by default."""

import logging
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.integration.streams.ledger.rig import Hosts, Rig, now, wait_until
from tests.unit.streams.ledger.emitting import MINUTE, Life

from unmask.consumers.devbroker import JvmBroker
from unmask.schemas.kafka import consumer_config
from unmask.streams.settings import StreamSettings

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

_DEFAULTS = StreamSettings()
DEFAULTS: dict[str, Any] = {
    name: getattr(_DEFAULTS, name)
    for name in ("session_timeout_ms", "transaction_timeout_ms", "snapshot_ms", "grace_ms", "window_seconds")
}


def _took(began: float, what: str) -> float:
    """Seconds since then; `pytest --log-cli-level=INFO` shows them."""
    seconds = time.monotonic() - began
    logging.getLogger(__name__).info("%s took %.2f s", what, seconds)
    return seconds


class _Fallbacks:
    """Watches for committed fallbacks."""

    def __init__(self, rig: Rig) -> None:
        spec = rig.topics.fallbacks
        self._consumer = Consumer(consumer_config("watch", bootstrap=rig.bootstrap, fetch_wait_max_ms=20))
        self._consumer.assign([TopicPartition(spec.name, partition, 0) for partition in range(spec.partitions)])
        self._told: set[str] = set()

    def wait(self, lives: list[Life], timeout: float) -> None:
        """Until a fallback of each was told."""
        wanted = {life.emitter_id for life in lives}

        def told() -> bool:
            for message in self._consumer.consume(1000, 0.02):
                if message.error() is None:
                    self._told.add((message.key() or b"").decode())
            return wanted <= self._told

        wait_until(told, "fallbacks committed", timeout)

    def close(self) -> None:
        self._consumer.close()


def _fallback_on_each(rig: Rig, lives: list[Life]) -> None:
    for partition, life in enumerate(lives):
        life.fallback(now())
        rig.send(life.cut(now()), partition)
    rig.flush()


def _lives(rig: Rig) -> list[Life]:
    return [Life(f"life-{partition}", now()) for partition in range(rig.topics.events_partitions)]


def test_an_empty_ledger_commits_within_five_seconds_even_on_a_fresh_broker(
    jvm_broker: Callable[..., JvmBroker],
    namespace: str,
    rigged: Callable[..., Rig],
) -> None:
    broker = jvm_broker()
    for cluster in ("fresh", "used"):
        rig = rigged(broker.bootstrap, f"{namespace}-{cluster}")
        lives = _lives(rig)
        _fallback_on_each(rig, lives)
        watch = _Fallbacks(rig)
        began = time.monotonic()
        rig.worker("a", **DEFAULTS)
        watch.wait(lives, 15)
        took = _took(began, f"the first commit on a {cluster} broker")
        watch.close()
        assert took < 5, cluster


def test_a_ledger_with_a_hundred_thousand_open_cells_commits_within_fifteen_seconds(
    rig: Rig,
) -> None:
    lives = _lives(rig)
    at = now()
    for part in range(6):
        life = lives[part % 3]
        for label in range(280):
            for minute in range(60):
                life.attempt(at - minute * MINUTE, capability=f"capability-{part}-{label}")
        rig.send(life.cut(now()), part % 3)
    rig.flush()
    first = rig.worker("a", **DEFAULTS)
    first.wait_ready(partitions=3)
    rig.settle()
    first.end(signal.SIGTERM)
    pieces = {(p, key) for p, key, value in rig.read(rig.topics.ledger) if key.startswith(b"c|") and value}
    assert len(pieces) > 100_000
    watch = _Fallbacks(rig)
    _fallback_on_each(rig, lives)
    began = time.monotonic()
    rig.worker("b", **DEFAULTS)
    watch.wait(lives, 30)
    took = _took(began, f"the first commit with {len(pieces)} open cells")
    watch.close()
    assert took < 15


@pytest.mark.parametrize("transaction", ["none open", "open"])
def test_a_ledger_goes_on_within_fifteen_seconds_after_another_worker_was_killed(rig: Rig, transaction: str) -> None:
    at = {"at": ["offsets", 0, "SIGKILL"]} if transaction == "open" else {}
    doomed = rig.worker("a", **DEFAULTS, **at)
    doomed.wait_ready(partitions=3)
    heir = rig.worker("b", **DEFAULTS)

    def shared() -> bool:
        return bool(heir.told.get("partitions")) and bool(doomed.told["partitions"])

    wait_until(shared, "partitions shared")
    hosts = Hosts(rig, 2)
    rig.flush()
    hosts.stream(1.0)
    if transaction == "open":
        doomed.signal(signal.SIGUSR2)
        for partition, life in enumerate(_lives(rig)):
            rig.send(life.cut(now()), partition)
        rig.flush()
        wait_until(doomed.struck.is_set, "struck within a transaction")
    doomed.end(signal.SIGKILL)
    began = time.monotonic()
    watch = _Fallbacks(rig)
    lives = [Life(f"after-{partition}", now()) for partition in range(3)]
    _fallback_on_each(rig, lives)
    watch.wait(lives, 30)
    took = _took(began, f"the first commit after a kill, with its transaction {transaction}")
    watch.close()
    assert took < 15
