"""Delegations on a real broker, with the effects ledger: budgets and effects that outlive processes and retries."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from unmask.producers import Budget, DelegationAnswer, Emitter, EmitterSettings
from unmask.producers.effects import EffectsClient
from unmask.schemas.breaker import Spent
from unmask.schemas.topics import Topics
from unmask.streams.effects.service import EffectsService
from unmask.streams.settings import StreamSettings

pytestmark = pytest.mark.integration

_BUDGET = Budget(calls=21, tokens=2_100)
_KEY: dict[str, Any] = {
    "tenant": "tenant-1", "failure": "build-broken", "strategy": "revert", "strategy_version": "v2", "lease": 30,
}  # fmt: skip

_KILLED = r"""
import faulthandler, os, signal, sys
faulthandler.dump_traceback_later(30)
from pathlib import Path
from unmask.producers import Budget, Emitter, EmitterSettings
from unmask.producers.effects import EffectsClient
bootstrap, namespace, outbox, calls = sys.argv[1:]
emitter = Emitter(EmitterSettings(bootstrap_servers=bootstrap, namespace=namespace, outbox_dir=Path(outbox)))
client = EffectsClient(bootstrap, namespace=namespace)
d = emitter.delegation("repair-7", budget=Budget(calls=21, tokens=2100), session="s-1").__enter__()
for n in range(int(calls)):
    d.call(tokens=100, state=f"killed-{n}")
effect = d.effect(client, tenant="tenant-1", failure="build-broken", strategy="revert", strategy_version="v2", lease=30,
                  fingerprint="revert abc").__enter__()
assert effect.granted
assert effect.commit("commit-1")
assert emitter.flush(20)
os.kill(os.getpid(), signal.SIGKILL)
"""


_FORKED = r"""
import os, sys
from pathlib import Path
from unmask.producers import Budget, Emitter, EmitterSettings
bootstrap, namespace, outbox = sys.argv[1:]
emitter = Emitter(EmitterSettings(bootstrap_servers=bootstrap, namespace=namespace, outbox_dir=Path(outbox)))
with emitter.delegation("forked-1", budget=Budget(calls=9), session="s-1") as d:
    d.call()
    child = os.fork()
    if not child:
        d.call()
        os._exit(0 if d.spent.calls == 2 and d.problem is None and emitter.flush(20) and emitter.close(5).closed else 1)
    assert os.waitpid(child, 0)[1] == 0
    d.call()
    os.write(1, str(d.spent.calls).encode())
assert emitter.close(20).closed
"""


@pytest.fixture
def effects_ledger(kafka: str, topics: Topics) -> Iterator[None]:
    service = EffectsService(StreamSettings(bootstrap=kafka, namespace=topics.namespace, instance="w-0"), topics)
    service.start()
    yield
    service.stop()


@pytest.mark.usefixtures("effects_ledger")
def test_21_calls_over_six_invocations_of_one_delegation_make_one_effect(
    kafka: str, topics: Topics, tmp_path: Path, batches: Callable[[], dict[str, list[dict[str, Any]]]]
) -> None:
    """The first invocation commits the effect and is killed before it can say so to anybody; the others try again."""
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, kafka, topics.namespace, str(tmp_path), "6"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    emitter = Emitter(EmitterSettings(bootstrap_servers=kafka, namespace=topics.namespace, outbox_dir=tmp_path))
    made: list[str] = []
    try:
        with EffectsClient(kafka, namespace=topics.namespace) as client:
            for turn in range(1, 6):
                with emitter.delegation("repair-7", budget=_BUDGET, session="s-1") as d:
                    for n in range(3):
                        assert d.allowed(tokens=100)
                        d.call(tokens=100, state=f"turn-{turn}-{n}", turn=turn)
                    with d.effect(client, fingerprint="revert abc", turn=turn, **_KEY) as effect:
                        if effect.granted:
                            made.append("again")
                            effect.commit("commit-2")
                        assert (effect.claim.receipt, effect.claim.attempts) == ("commit-1", 1)
        assert d.spent == Spent(21, 2_100, 1)
        assert d.allowed().answer is DelegationAnswer.BUDGET_SPENT
        assert d.problem is None
        assert emitter.flush(20)
    finally:
        emitter.close(5)
    assert made == []
    cut = [batch for each in batches().values() for batch in each]
    calls = [call for batch in cut for call in batch["delegation_progress"]]
    assert len(calls) == 21
    assert len({call["invocation_id"] for call in calls}) == 6
    assert {(call["delegation_id"], call["session_id"], call["budget_calls"]) for call in calls} == {
        ("repair-7", "s-1", 21)
    }
    effects = [effect for batch in cut for effect in batch["delegation_effects"]]
    steps = sorted((effect["step"], effect["answer"], effect["receipt"]) for effect in effects)
    assert steps == [
        ("committed", "COMMITTED", "commit-1"),
        ("granted", "GRANTED", None),
        *[("refused", "ALREADY_COMMITTED", "commit-1")] * 5,
    ]
    assert len({effect["effect_key"] for effect in effects}) == 1


def test_a_delegation_that_was_forked_is_two_invocations_of_two_emitters_and_one_account(
    kafka: str, topics: Topics, tmp_path: Path, batches: Callable[[], dict[str, list[dict[str, Any]]]]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FORKED, kafka, topics.namespace, str(tmp_path)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "3", "")
    told = [
        [(call["invocation_id"], call["step"]) for batch in cut for call in batch["delegation_progress"]]
        for cut in batches().values()
    ]
    child, parent = sorted(told, key=len)
    assert [step for _, step in child] == [1]
    assert [step for _, step in parent] == [1, 2]
    assert len({name for name, _ in parent}) == 1
    assert child[0][0] != parent[0][0]
