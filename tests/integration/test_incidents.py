"""Published incidents from end to end, in one run: a host's records, a worker, and what it then says of each.

Each session below is one incident. What is looked at is what anybody can look at: the alerts, the session's verdict and
the commands.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.tables_on_kafka import Stream, WorkerProcess, eventually
from typer.testing import CliRunner

from unmask.consumers.cli._commands import app
from unmask.producers import Budget, DelegationAnswer, Emitter, EmitterSettings
from unmask.producers.effects import EffectsClient
from unmask.schemas.breaker import Spent

pytestmark = pytest.mark.integration

_EFFECT: dict[str, Any] = {
    "tenant": "acme", "failure": "build-broken", "strategy": "revert", "strategy_version": "v2",
    "fingerprint": "revert abc", "lease": 60,
}  # fmt: skip
_TURNS = 107

_KILLED = r"""
import os, signal, sys
from pathlib import Path
from unmask.producers import Budget, Emitter, EmitterSettings
from unmask.producers.effects import EffectsClient
bootstrap, namespace, outbox = sys.argv[1:]
emitter = Emitter(EmitterSettings(bootstrap_servers=bootstrap, namespace=namespace, outbox_dir=Path(outbox),
                                  release_line="2026.1", heartbeat_ms=500))
session = emitter.session("six-invocations").begin()
d = emitter.delegation("once", budget=Budget(calls=21), session=session).__enter__()
for n in range(6):
    d.call(tokens=100, state=f"first-{n}")
effect = d.effect(EffectsClient(bootstrap, namespace=namespace), tenant="acme", failure="build-broken",
                  strategy="revert", strategy_version="v2", lease=60, fingerprint="revert abc").__enter__()
assert effect.granted and effect.commit("commit-1")
assert emitter.flush(20)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def stream(kafka: str, namespace: str) -> Stream:
    return Stream(kafka, namespace)


@pytest.fixture
def worker(stream: Stream) -> Iterator[WorkerProcess]:
    process = WorkerProcess(
        stream.bootstrap, stream.topics.namespace, "--instance", "one", "--window-seconds", "1",
        "--grace-seconds", "0.3",
    )  # fmt: skip
    yield process
    process.end(signal.SIGKILL)


@pytest.fixture
def emitter(stream: Stream, tmp_path: Path) -> Iterator[Emitter]:
    emitter = Emitter(
        EmitterSettings(
            bootstrap_servers=stream.bootstrap, namespace=stream.topics.namespace, outbox_dir=tmp_path / "outbox",
            release_line="2026.1", flush_interval_ms=50, heartbeat_ms=500,
        )
    )  # fmt: skip
    yield emitter
    emitter.close(5)


def standstill(emitter: Emitter) -> int:
    """54 calls in a row succeed and change nothing; at which of them the host would have been told to stop."""
    told = 0
    with emitter.session("standstill") as session, emitter.delegation("still", session=session, signal="tree") as d:
        assert d.calibrate("tree", before="a", after="b")
        for n in range(1, 55):
            d.call(state="the same tree")
            if not d.allowed() and not told:
                assert d.allowed().answer is DelegationAnswer.TRIPPED
                told = n
    return told


def constant(emitter: Emitter) -> None:
    """The signal is an exit code that is 0 by construction."""
    with emitter.session("constant") as session, emitter.delegation("exit", session=session, signal="exit-code") as d:
        for _ in range(54):
            d.call(state=0)
            assert d.allowed()


def converging(emitter: Emitter) -> None:
    """A repair that needs several calls for each step, from five failures to two."""
    with emitter.session("converging") as session, emitter.delegation("repair", session=session, signal="red") as d:
        for failing in (5, 4, 3, 2):
            for _ in range(7):
                d.call(state=[f"test-{n}" for n in range(failing)], measure=failing)
                assert d.allowed()


def stuck_replay(emitter: Emitter) -> int:
    """It goes through three old states again and again: each call differs from the one before."""
    told = 0
    with emitter.session("replay") as session, emitter.delegation("loop", session=session, signal="tree") as d:
        for n in range(30):
            d.call(state=f"tree {n % 3}")
            if not d.allowed() and not told:
                told = n + 1
    return told


def five_more_invocations(emitter: Emitter, client: EffectsClient) -> None:
    """The first one was killed once its effect had been committed; these have 15 calls, and each wants it again."""
    with emitter.session("six-invocations") as session:
        for turn in range(2, 7):
            with emitter.delegation("once", budget=Budget(calls=21), session=session) as d:
                for n in range(3):
                    assert d.allowed()
                    d.call(tokens=100, state=f"{turn} {n}", turn=turn)
                with d.effect(client, turn=turn, **_EFFECT) as effect:
                    assert (effect.granted, effect.claim.receipt) == (False, "commit-1")
    assert d.spent == Spent(21, 2_100, 1)
    assert d.allowed().answer is DelegationAnswer.BUDGET_SPENT


def blocked(emitter: Emitter, first: int, last: int) -> None:
    """A repair whose every write is refused."""
    with emitter.delegation("blocked-repair", session="blocked") as d:
        for turn in range(first, last + 1):
            d.refused("gate", "RECONCILE_FIRST", reason_code="stale_verdict", turn=turn)


def alerts(stream: Stream) -> dict[str, dict[str, Any]]:
    """The newest record of each alert about what is found of delegations."""
    return {name: alert for name, alert in stream.newest("alert").items() if alert["delegation_id"] is not None}


def test_the_published_incidents_have_their_right_outcomes_from_the_host_to_the_commands(
    stream: Stream, worker: WorkerProcess, emitter: Emitter, tmp_path: Path
) -> None:
    worker.wait_ready()
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, stream.bootstrap, stream.topics.namespace, str(tmp_path / "outbox")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with EffectsClient(stream.bootstrap, namespace=stream.topics.namespace) as client:
        five_more_invocations(emitter, client)
    assert standstill(emitter) == 9
    constant(emitter)
    converging(emitter)
    assert stuck_replay(emitter) == 11

    # Long before turn 107, and while the session runs, somebody is told.
    session = emitter.session("blocked").begin()
    blocked(emitter, 1, 20)
    assert emitter.flush(20)
    name = "ENFORCEMENT_BLOCKED|blocked|blocked-repair"
    early = eventually(lambda: alerts(stream).get(name), 60)
    assert (early["state"], early["causes"], early["facts"]["blocked_turns"]) == ("FIRING", ["gate"], 20)
    blocked(emitter, 21, _TURNS)
    session.end()
    assert emitter.close(20).complete

    judged = ("standstill", "constant", "converging", "replay", "six-invocations", "blocked")

    def verdicts() -> dict[str, dict[str, Any]] | None:
        found = stream.newest("verdict")
        settled = all(name in found and found[name]["evidence"] != "PENDING" for name in judged)
        return found if settled else None

    found = eventually(verdicts, 60)
    beside = {name: {each["delegation_id"]: each["findings"] for each in found[name]["delegations"]} for name in judged}
    assert beside == {
        "standstill": {"still": ["STALLED_DELEGATION"]},
        "constant": {"exit": ["INADEQUATE_SIGNAL"]},
        "converging": {},
        "replay": {"loop": ["STALLED_DELEGATION"]},
        "six-invocations": {},
        "blocked": {"blocked-repair": ["ENFORCEMENT_BLOCKED"]},
    }
    # What is found beside the outcome changes no outcome.
    assert {found[name]["verdict"] for name in judged[:4]} == {"CLEAN_SUCCESS"}

    told = eventually(lambda: _settled(alerts(stream), name), 60)
    assert {name: alert["state"] for name, alert in told.items()} == {
        "STALLED_DELEGATION|standstill|still": "FIRING",
        "STALLED_DELEGATION|replay|loop": "FIRING",
        name: "FIRING",
    }
    assert told["STALLED_DELEGATION|standstill|still"]["facts"]["first_trip_call"] == 9
    assert told["STALLED_DELEGATION|replay|loop"]["facts"]["first_trip_call"] == 11

    run = CliRunner(env={"KAFKA_BOOTSTRAP_SERVERS": stream.bootstrap, "UNMASK_NAMESPACE": stream.topics.namespace})

    def shown(*words: str) -> dict[str, Any]:
        result = run.invoke(app, [*words, "--json"])
        assert result.exit_code == 0, result.output
        document: dict[str, Any] = json.loads(result.stdout)
        return document

    lines = {line["delegation_id"]: line for line in shown("delegations")["delegations"]}
    assert set(lines) == {"still", "exit", "repair", "loop", "once", "blocked-repair"}
    once = lines["once"]
    assert (once["calls"], once["invocations"], once["effects"]["committed"]) == (21, 6, 1)
    effects = shown("effects", "list", "--tenant", "acme")["effects"]
    assert [(effect["state"], effect["receipt"]) for effect in effects] == [("committed", "commit-1")]
    turns = shown("enforcement")["turns_without_accepted_write"]
    assert (turns["current"], turns["longest"]) == (_TURNS, _TURNS)


def _settled(found: dict[str, dict[str, Any]], blocked: str) -> dict[str, dict[str, Any]] | None:
    return found if found[blocked]["facts"]["blocked_turns"] == _TURNS else None
