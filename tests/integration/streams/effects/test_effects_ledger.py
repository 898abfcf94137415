"""The effects ledger on a real broker: durable before it answers, one lease at a time, and every lease ends."""

import os
import signal
import subprocess
import sys
import threading
import urllib.request
from contextlib import suppress

import pytest
from confluent_kafka import Producer
from tests.integration.streams.effects.asking_hosts import EffectsRig, claim_of, granted
from tests.integration.streams.ledger.rig import wait_until

from unmask.consumers.devbroker.ports import free_ports
from unmask.consumers.effects_check import Rules, check_history, read_history
from unmask.producers.effects import Claim, EffectsClient, Settlement
from unmask.schemas.codec import decode
from unmask.schemas.kafka import producer_config

pytestmark = pytest.mark.integration


def test_an_effect_is_claimed_committed_and_remembered_over_a_killed_worker_and_every_lease_ends(
    rig: EffectsRig,
) -> None:
    worker = rig.effects_worker()
    client, other = rig.client(), rig.client()
    _put_nonsense(rig)
    claim = granted(client.claim(**claim_of(1)))
    assert 25 < claim.remaining() <= 30
    assert other.claim(**claim_of(1)).answer == "HELD_BY_ANOTHER"
    assert client.commit(claim, "receipt-1")
    granted(client.claim(**claim_of(3, lease=0.5)))
    worker.end(signal.SIGKILL)
    rig.effects_worker()
    again = other.claim(**claim_of(1))
    assert (again.answer, again.receipt) == ("ALREADY_COMMITTED", "receipt-1")
    assert other.claim(**claim_of(1, fingerprint="another")).reason == "fingerprint_conflict"
    assert client.commit(claim, "receipt-1"), "said again"
    released = granted(other.claim(**claim_of(6, budget_limit=2)))
    assert other.release(released)
    assert client.claim(**claim_of(11, budget_limit=2)).answer == "BUDGET_SPENT"
    assert client.claim(**claim_of(11, tenant="beta", budget_limit=2)).granted
    # Nobody asks for it again, and who granted it is dead.
    wait_until(lambda: any(d["answer"] == "EXPIRED" for d in rig.decisions()), "the short lease ended")
    told = [decode("quarantine", value) for _, _, value in rig.read(rig.topics.quarantine)]
    assert [(entry["topic"], entry["reason"]) for entry in told] == [
        (rig.topics.effects_requests.name, "BAD_MAGIC")
    ] * 2


def _put_nonsense(rig: EffectsRig) -> None:
    producer = Producer(producer_config(rig.bootstrap))
    for partition in range(2):
        producer.produce(rig.topics.effects_requests.name, b"nonsense", b"acme|budget-1", partition)
    assert producer.flush(20) == 0


class _Racer(threading.Thread):
    """A host that wants each of so many effects, in its own order."""

    def __init__(self, client: EffectsClient, name: str, numbers: list[int]) -> None:
        super().__init__(daemon=True)
        self._client, self._host, self._numbers = client, name, numbers
        self.claims: list[Claim] = []
        self.committed: dict[int, Settlement] = {}

    def run(self) -> None:
        for number in self._numbers:
            claim = self._client.claim(**claim_of(number, timeout=60.0))
            self.claims.append(claim)
            if claim.granted:
                self.committed[number] = self._client.commit(claim, f"{self._host}-{number}", timeout=60.0)


def test_two_hosts_race_for_200_effects_over_killed_workers_and_each_is_made_once(rig: EffectsRig) -> None:
    numbers = list(range(200))
    racers = [_Racer(rig.client(), "one", numbers), _Racer(rig.client(), "two", numbers[::-1])]
    doomed = rig.effects_worker(at=["offsets", 30, "SIGKILL"])
    for racer in racers:
        racer.start()
    for point in ("sent", "committed"):
        wait_until(doomed.struck.is_set, "the worker struck", 60)
        doomed.process.wait(10)
        doomed = rig.effects_worker(at=[point, 20, "SIGKILL"])
    wait_until(doomed.struck.is_set, "the worker struck", 60)
    rig.effects_worker()
    for racer in racers:
        racer.join(90)
        assert not racer.is_alive()
    one, two = (racer.committed for racer in racers)
    assert not one.keys() & two.keys(), "nothing was granted to both"
    assert sorted([*one, *two]) == numbers
    assert all(one.values())
    assert all(two.values())
    for key, decisions in rig.by_key().items():
        receipts = {d["receipt"] for d in decisions if d["answer"] == "COMMITTED"}
        assert len(receipts) == 1, key
        tokens = [d["fencing_token"] for d in decisions if d["answer"] == "GRANTED"]
        assert len(set(tokens)) == 1, key
    # And everything else, by code that knows nothing of the ledger's.
    assert check_history(read_history(rig.topics, rig.bootstrap), Rules()).problems == []


def test_a_holder_that_was_paused_past_its_lease_is_fenced_and_the_lease_ends_without_anybody_asking(
    rig: EffectsRig,
) -> None:
    rig.effects_worker()
    holder = rig.holder(claim_of(1, lease=1.5))
    assert holder.heard()["answer"] == "GRANTED"
    os.kill(holder.process.pid, signal.SIGSTOP)

    def expired() -> bool:
        return any(d["answer"] == "EXPIRED" and d["unsettled"] == 1 for d in rig.decisions())

    wait_until(expired, "the lease ended")
    client = rig.client()
    claim = granted(client.claim(**claim_of(1)))
    assert (claim.attempts, claim.unsettled) == (2, 1)
    os.kill(holder.process.pid, signal.SIGCONT)
    holder.commit("made-late")
    late = holder.heard()
    assert (late["answer"], late["reason"], late["remaining"]) == ("FENCED", "not_the_holder", 0)
    assert client.commit(claim, "made")
    (decisions,) = rig.by_key().values()
    assert [d["receipt"] for d in decisions if d["answer"] == "COMMITTED"] == ["made"]


def test_a_worker_that_was_paused_within_a_transaction_decides_nothing_any_more(rig: EffectsRig) -> None:
    zombie = rig.effects_worker("a", at=["sent", 3, "SIGSTOP"], transaction_timeout_ms=60_000)
    client, other = rig.client(), rig.client()
    for number in (1, 6):
        granted(client.claim(**claim_of(number)))
    waiting = threading.Thread(target=client.claim, kwargs=claim_of(11, timeout=60.0))
    waiting.start()
    wait_until(zombie.struck.is_set, "the worker paused", 30)
    rig.effects_worker("b")
    waiting.join(60)
    assert not waiting.is_alive()
    assert other.claim(**claim_of(11)).answer == "HELD_BY_ANOTHER"
    zombie.signal(signal.SIGCONT)
    zombie.wait_ready(timeout=60)
    assert other.claim(**claim_of(1)).answer == "HELD_BY_ANOTHER"
    for decisions in rig.by_key().values():
        assert len({d["fencing_token"] for d in decisions if d["answer"] == "GRANTED"}) == 1


def test_a_claim_abstains_where_nobody_answers_and_what_is_granted_to_nobody_is_given_back(
    kafka: str, namespace: str, rig: EffectsRig
) -> None:
    with EffectsClient(kafka, namespace=f"{namespace}-nothing") as client:
        assert client.claim(**claim_of(1, timeout=0.5)).reason == "not_ready"
    client = rig.client()
    assert client.claim(**claim_of(1, timeout=1.5)).reason == "timeout", "nobody decides yet"
    rig.effects_worker()
    wait_until(lambda: any(d["answer"] == "RELEASED" for d in rig.decisions()), "the late lease was given back")
    assert rig.client().claim(**claim_of(1)).granted
    client.close()
    assert client.claim(**claim_of(1)).reason == "closed"


def test_a_forked_child_asks_for_itself(rig: EffectsRig) -> None:
    rig.effects_worker()
    client = rig.client()
    claim = granted(client.claim(**claim_of(1)))
    child = os.fork()
    if child == 0:
        held = client.claim(**claim_of(1)).answer == "HELD_BY_ANOTHER"
        committed = bool(client.commit(claim, "by-the-child"))
        os._exit(0 if held and committed else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert client.claim(**claim_of(1)).receipt == "by-the-child"
    assert client.claim(**claim_of(6)).granted


def test_the_command_runs_the_effects_ledger_alone_and_tells_its_condition(kafka: str, rig: EffectsRig) -> None:
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "unmask.consumers.cli.main", "stream", "--only", "effects", "--port", str(port)]
    environment = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": kafka, "UNMASK_NAMESPACE": rig.topics.namespace}
    worker = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ready() -> bool:
        with suppress(OSError):
            return bool(opener.open(f"http://127.0.0.1:{port}/readyz", timeout=2).status == 200)
        return False

    def metrics() -> str:
        text: str = opener.open(f"http://127.0.0.1:{port}/metrics", timeout=5).read().decode()
        return text

    try:
        wait_until(ready, "the worker ready")
        # Asked once there is somebody to answer: a question that is asked again is decided, and counted, again.
        granted(rig.client().claim(**claim_of(1)))
        # Counted after the decision is out.
        wait_until(lambda: 'unmask_effects_decisions_total{answer="GRANTED"} 1.0' in metrics(), "counted")
        assert "unmask_ledger_ready" not in metrics()
    finally:
        worker.terminate()
        assert worker.wait(20) == 0
