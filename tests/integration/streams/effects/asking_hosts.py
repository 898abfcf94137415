"""What the effects ledger's integration tests share: topics, workers to kill, hosts to pause, what was decided."""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.integration.streams.ledger.rig import Rig, WorkerProcess

from unmask.producers.effects import Claim, EffectsClient
from unmask.schemas.codec import decode
from unmask.schemas.keys import effect_key

__all__ = ["EffectsRig", "Holder", "claim_of", "granted"]

_HOST = Path(__file__).with_name("holder_host.py")


def claim_of(number: int, **changes: Any) -> dict[str, Any]:
    """The arguments of a claim; numbers are spread over a few budgets, and so over partitions."""
    return {
        "tenant": "acme",
        "failure": f"failure-{number}",
        "strategy": "refund",
        "strategy_version": "v1",
        "budget_key": f"budget-{number % 5}",
        "fingerprint": f"content-{number}",
        "lease": 30.0,
        "timeout": 30.0,
        **changes,
    }


class Holder:
    """A host in a process of its own that holds a claim until it is told to commit."""

    def __init__(self, rig: "EffectsRig", claim: dict[str, Any]) -> None:
        given = json.dumps({name: value for name, value in claim.items() if name != "timeout"})
        self.process = subprocess.Popen(
            [sys.executable, str(_HOST), rig.bootstrap, rig.topics.namespace, given],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def heard(self) -> dict[str, Any]:
        """The next answer that it tells."""
        assert self.process.stdout is not None
        told: dict[str, Any] = json.loads(self.process.stdout.readline())
        return told

    def commit(self, receipt: str) -> None:
        """Has it commit."""
        assert self.process.stdin is not None
        self.process.stdin.write(receipt + "\n")
        self.process.stdin.flush()


class EffectsRig(Rig):
    """As the ledger's rig, with workers of the effects ledger and hosts that ask it."""

    def __init__(self, bootstrap: str, namespace: str) -> None:
        super().__init__(bootstrap, namespace, partitions=1, tables=2)
        self.clients: list[EffectsClient] = []
        self.holders: list[Holder] = []

    def effects_worker(self, instance: str = "a", **more: Any) -> WorkerProcess:
        """Starts a worker that keeps its place over restarts."""
        return self.worker(instance, part="effects", static_membership=True, **more)

    def client(self) -> EffectsClient:
        """A host's client."""
        client = EffectsClient(self.bootstrap, namespace=self.topics.namespace)
        self.clients.append(client)
        return client

    def holder(self, claim: dict[str, Any]) -> Holder:
        """A host that holds a claim."""
        holder = Holder(self, claim)
        self.holders.append(holder)
        return holder

    def decisions(self) -> list[dict[str, Any]]:
        """All that was decided by now, each partition in its order."""
        return [decode("effect_decision", value) for _, _, value in self.read(self.topics.effects_decisions)]

    def by_key(self) -> dict[str, list[dict[str, Any]]]:
        """All that was decided by now, by effect; each request decided once."""
        found: dict[str, list[dict[str, Any]]] = defaultdict(list)
        places = set()
        for decision in self.decisions():
            place = (decision["partition"], decision["offset"])
            assert place not in places, "a request was decided twice"
            places.add(place)
            parts = ("tenant", "failure", "strategy", "strategy_version", "budget_key")
            found[effect_key(*(decision[name] for name in parts))].append(decision)
        return found

    def close(self) -> None:
        """Ends everything."""
        for client in self.clients:
            client.close()
        for holder in self.holders:
            holder.process.kill()
            holder.process.wait(10)
        super().close()


def granted(claim: Claim) -> Claim:
    """The claim, which must have been granted."""
    assert claim.granted, claim
    return claim
