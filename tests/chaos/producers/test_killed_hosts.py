"""Hosts killed at random moments, with the broker there, away, or dying itself; then one start that tidies up.

What each host's journal says must be what was delivered plus what was dropped, per family and to the last event.
"""

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message
from tests.integration.producers.conftest import _read_all
from tests.journalling_host import KillableHost, assert_journals_are_accounted_for, journalled

from unmask.consumers.devbroker import JvmBroker
from unmask.producers import Emitter, EmitterSettings
from unmask.schemas.codec import decode
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

pytestmark = [pytest.mark.chaos, pytest.mark.integration, pytest.mark.timeout(400)]


class Place:
    """A broker of this test's own, a host's folder, and what comes of it."""

    def __init__(self, broker: JvmBroker, namespace: str, folder: Path) -> None:
        self.broker = broker
        self.topics = Topics(namespace, events_partitions=3, table_partitions=1)
        create_topics(broker.bootstrap, self.topics)
        self.box = folder / "box"
        self.journals = folder / "journals"

    def host(self, **settings: Any) -> KillableHost:
        return KillableHost(self.broker.bootstrap, self.topics.namespace, self.box, self.journals, **settings)

    def adopt_all(self) -> None:
        """A start on this host that stays until nothing of the dead is left."""
        emitter = Emitter(
            EmitterSettings(
                bootstrap_servers=self.broker.bootstrap, namespace=self.topics.namespace, outbox_dir=self.box,
                release_line="r1",
            )
        )  # fmt: skip
        lives = self.box / self.topics.events.name
        deadline = time.monotonic() + 120
        while [path.name for path in lives.iterdir()] != [emitter.emitter_id]:
            assert time.monotonic() < deadline, sorted(path.name for path in lives.iterdir())
            time.sleep(0.05)
        assert emitter.close(20).complete
        assert not list(lives.iterdir())

    def batches(self) -> tuple[dict[str, list[dict[str, Any]]], int]:
        """Every emitter's batches, each once, in order; and how many came more than once."""
        found: dict[str, dict[int, Message]] = {}
        places: dict[str, set[int | None]] = {}
        again = 0
        for message in _read_all(self.broker.bootstrap, self.topics.events.name):
            batch = decode("event_batch", message.value())
            emitter_id = batch["emitter"]["emitter_id"]
            assert message.key() == emitter_id.encode()
            places.setdefault(emitter_id, set()).add(message.partition())
            first = found.setdefault(emitter_id, {}).setdefault(batch["batch_seq"], message)
            again += first is not message
            assert first.value() == message.value()
        assert all(len(partitions) == 1 for partitions in places.values())
        decoded = {
            emitter_id: [decode("event_batch", by_seq[seq].value()) for seq in sorted(by_seq)]
            for emitter_id, by_seq in found.items()
        }
        return decoded, again

    def check(self) -> Counter[str]:
        """Everything is accounted for; what was lost, by cause."""
        decoded, _ = self.batches()
        return assert_journals_are_accounted_for(self.journals, decoded)


@pytest.fixture
def place(jvm_broker: Callable[..., JvmBroker], namespace: str, tmp_path: Path) -> Place:
    return Place(jvm_broker(), namespace, tmp_path)


@pytest.mark.parametrize("seed", [1, 2])
def test_hosts_killed_at_random_moments_are_accounted_for_to_the_last_event(place: Place, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(10):
        host = place.host(pause_s=dice.choice([0, 0.001, 0.01]), flush_interval_ms=dice.choice([5, 50, 500]))
        time.sleep(dice.uniform(0, 0.8))
        if dice.random() < 0.8:
            host.kill()
        else:
            host.end()
    place.adopt_all()
    lost = place.check()
    assert set(lost) <= {"host_died"}
    assert len(journalled(place.journals)) == 10


def test_an_outage_under_load_with_hosts_that_die_in_it_loses_only_what_it_says(place: Place) -> None:
    """Case P09: an outage under load, per life of a host."""
    steady = place.host(pause_s=0.002)
    time.sleep(1)
    place.broker.kill()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        host = place.host(pause_s=0.001)
        time.sleep(1.2)
        host.kill()
    place.broker.restart()
    time.sleep(1)
    steady.end()
    place.adopt_all()
    lost = place.check()
    assert set(lost) <= {"host_died"}
    decoded, _ = place.batches()
    # The one that lived through it has lost nothing at all.
    assert not any(account["dropped"] for account in decoded[steady.emitter_id][-1]["accounts"])


def test_hosts_and_the_broker_die_at_the_same_time_over_and_over(place: Place) -> None:
    dice = random.Random(7)
    for _ in range(4):
        hosts = [place.host(pause_s=0, flush_interval_ms=5) for _ in range(2)]
        time.sleep(dice.uniform(0.5, 1.5))
        if dice.random() < 0.5:
            place.broker.kill()
            time.sleep(dice.uniform(0, 0.5))
        for host in hosts:
            host.kill()
        place.broker.restart()
    place.adopt_all()
    lost = place.check()
    assert set(lost) <= {"host_died"}


def test_adopters_are_killed_too_and_the_next_one_goes_on(place: Place) -> None:
    """Every start adopts what those before it have left, and is killed in the middle of that."""
    dice = random.Random(11)
    place.broker.pause()
    for _ in range(5):
        host = place.host(pause_s=0, flush_interval_ms=5, urgent_spacing_ms=0)
        time.sleep(0.7)
        host.kill()
    place.broker.resume()
    for _ in range(8):
        host = place.host(pause_s=0.01)
        time.sleep(dice.uniform(0.05, 0.4))
        host.kill()
    place.adopt_all()
    lost = place.check()
    assert set(lost) <= {"host_died"}
    assert len(journalled(place.journals)) == 13
