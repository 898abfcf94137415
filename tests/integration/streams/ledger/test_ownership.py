"""A member that dies between the two rounds of a rebalance leaves partitions to nobody; the group gets over it."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from confluent_kafka import ConsumerGroupState
from tests.integration.streams.ledger.rig import Rig, wait_until

from unmask.streams.ledger import ownership
from unmask.streams.ledger.service import LedgerService

pytestmark = pytest.mark.integration

# A member of the ledger's group with a static name. Told so, it dies as soon as it has given partitions up.
_MEMBER = """
import os, sys
from confluent_kafka import Consumer
bootstrap, namespace, topic, dies = sys.argv[1:]

def given(consumer, partitions):
    consumer.incremental_assign(partitions)

def taken(consumer, partitions):
    consumer.incremental_unassign(partitions)
    if dies == "dies":
        os._exit(0)

consumer = Consumer({
    "bootstrap.servers": bootstrap, "group.id": f"{namespace}.ledger", "group.instance.id": f"{namespace}.ledger.zzz",
    "partition.assignment.strategy": "cooperative-sticky", "session.timeout.ms": 45000, "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
})
consumer.subscribe([topic], on_assign=given, on_revoke=taken)
while True:
    consumer.poll(0.1)
"""


class Members:
    """The group as its coordinator describes it, and members that count nothing."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._group = f"{rig.topics.namespace}.ledger"
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, *, dies: bool) -> subprocess.Popen[bytes]:
        rig = self._rig
        arguments = [rig.bootstrap, rig.topics.namespace, rig.topics.events.name, "dies" if dies else "lives"]
        process = subprocess.Popen([sys.executable, "-c", _MEMBER, *arguments], stderr=subprocess.DEVNULL)
        self._processes.append(process)
        return process

    def owned(self) -> dict[str, set[int]] | None:
        """Partitions by the static name of their owner; None while the group is made or rebalanced."""
        asked = self._rig.admin.describe_consumer_groups([self._group], request_timeout=5)[self._group]
        if asked.exception() is not None or (group := asked.result()).state is not ConsumerGroupState.STABLE:
            return None
        return {
            str(member.group_instance_id).rpartition(".")[2]: {
                place.partition for place in member.assignment.topic_partitions
            }
            for member in group.members
        }

    def without_owner(self) -> set[int] | None:
        owned = self.owned()
        return None if owned is None else set(range(3)).difference(*owned.values())

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait(10)


@pytest.fixture
def members(rig: Rig) -> Iterator[Members]:
    made = Members(rig)
    yield made
    made.end()


def test_partitions_that_belong_to_nobody_get_an_owner(
    rig: Rig, members: Members, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownership, "_LOOK_S", 0.5)
    monkeypatch.setattr(ownership, "_ORPHANED_S", 2.0)
    doomed = members.start(dies=True)
    wait_until(lambda: members.owned() == {"zzz": {0, 1, 2}}, "one member owns everything")
    service = LedgerService(rig.settings("a", static_membership=True), rig.topics)
    service.start()
    try:
        assert doomed.wait(30) == 0
        members.start(dies=False)
        # It is given what the first round left it, and nothing tells the group that anything is missing.
        wait_until(lambda: bool(members.without_owner()), "partitions without an owner")
        wait_until(lambda: members.without_owner() == set(), "all partitions owned", timeout=60)
        wait_until(lambda: service.status().ready and bool(service.status().partitions), "the worker ready")
        assert service.status().error is None
    finally:
        service.stop()
