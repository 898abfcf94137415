"""Workers that sign, gates that trust them, and whoever else writes to the verdict topic."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.table_records import at, masked, session_tally, teardown
from tests.tables_on_kafka import Stream, WorkerProcess, eventually

from unmask.consumers.gate import AdmissionAnswer, Gate
from unmask.consumers.testing import clean_verdict
from unmask.schemas.codec import encode
from unmask.schemas.partitioner import partition_for
from unmask.schemas.signing_keys import generate_key

pytestmark = pytest.mark.integration

Start = Callable[..., WorkerProcess]


@pytest.fixture
def stream(kafka: str, namespace: str) -> Stream:
    return Stream(kafka, namespace)


@pytest.fixture
def worker(kafka: str, namespace: str) -> Iterator[Start]:
    started: list[WorkerProcess] = []

    def start(*arguments: str) -> WorkerProcess:
        started.append(WorkerProcess(kafka, namespace, "--only", "tables", *arguments))
        return started[-1].wait_ready()

    yield start
    for one in started:
        if not one.ended():
            one.end(signal.SIGKILL)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A folder with the key of a worker and one of a gate, and of trusted public keys both."""
    generate_key(tmp_path / "worker.pem")
    generate_key(tmp_path / "gate.pem")
    (tmp_path / "trusted").mkdir()
    for name in ("worker.pem.pub", "gate.pem.pub"):
        shutil.copy(tmp_path / name, tmp_path / "trusted" / name)
    return tmp_path


def degraded(session_id: str = "s1", **parts: Any) -> dict[str, Any]:
    settings = {"teardowns": [teardown(10, 2)], **parts}
    return session_tally(session_id, degraded=["a", "b"], masked=[masked("a"), masked("b")], unreachable=2, **settings)


def answer(gate: Gate, session_id: str = "s1") -> AdmissionAnswer:
    return gate.admit(session_id, timeout=10).answer


def forge(stream: Stream, session_id: str = "s1", **changes: Any) -> None:
    """Another principal writes CLEAN_SUCCESS, sealed, numbered and placed as it should be, but for the key."""
    clean = {**clean_verdict(session_id), "writer": "worker-1", "sequence": 1 << 52, **changes}
    partition = partition_for(session_id, 3)
    stream.raw(stream.topics.verdicts.name, partition, session_id.encode(), encode("verdict", clean))


def test_a_forged_verdict_is_denied_alerted_to_and_replaced_by_what_stood(
    stream: Stream, worker: Start, keys: Path
) -> None:
    """Case V10, with the whole chain: worker, topic, gate, alert."""
    signing = ("--signing-key", str(keys / "worker.pem"), "--trusted-keys", str(keys / "trusted"))
    running = worker(*signing)
    stream.session(degraded())
    with Gate(stream.bootstrap, stream.topics.namespace, trusted_keys=keys / "trusted") as gate:
        eventually(lambda: answer(gate) is AdmissionAnswer.RECONCILE_FIRST)
        stood = stream.newest("verdict")["s1"]
        assert stood["signature"]["key_id"].startswith("ed25519-")
        running.send(signal.SIGSTOP)
        forge(stream)
        # While nobody restores it: denied, and the earlier verdict stands for audit.
        refused = gate.admit("s1", timeout=10)
        assert refused.answer is AdmissionAnswer.UNVERIFIABLE
        assert refused.earlier is not None
        assert refused.earlier.digest == stood["digest"]
        running.send(signal.SIGCONT)
        eventually(lambda: answer(gate) is AdmissionAnswer.RECONCILE_FIRST)
    restored = stream.newest("verdict")["s1"]
    assert (restored["digest"], restored["sequence"]) == (stood["digest"], stood["sequence"] + 1)
    fired = [a for key, a in stream.read("alert") if key == "UNVERIFIABLE_VERDICT|s1" and a["state"] == "FIRING"]
    assert fired
    assert fired[0]["causes"] == ["unverifiable"]


def test_a_worker_that_takes_over_finds_what_was_forged_meanwhile(stream: Stream, worker: Start, keys: Path) -> None:
    signing = ("--signing-key", str(keys / "worker.pem"), "--trusted-keys", str(keys / "trusted"))
    first = worker(*signing)
    stream.session(degraded())
    eventually(lambda: stream.newest("verdict").get("s1"))
    first.end(signal.SIGKILL)
    forge(stream)
    worker(*signing)
    with Gate(stream.bootstrap, stream.topics.namespace, trusted_keys=keys / "trusted") as gate:
        eventually(lambda: answer(gate) is AdmissionAnswer.RECONCILE_FIRST)


def test_a_forged_outcome_neither_admits_nor_lets_a_successor_off(stream: Stream, worker: Start, keys: Path) -> None:
    worker("--signing-key", str(keys / "worker.pem"), "--trusted-keys", str(keys / "trusted"))
    stream.session(degraded("s1"))
    stream.session(session_tally("s2", predecessor_session_id="s1", teardowns=[teardown(4)]))
    eventually(lambda: stream.newest("verdict").get("s2", {}).get("inherited_from") == ["s1"])
    left = stream.newest("verdict")["s1"]
    stream.admission(
        {
            "admission_id": "a1", "session_id": "s1", "step": "RECONCILED", "answer": "ADMITTED", "mutating": True,
            "occurred_at": at(99), "verdict_digest": left["digest"], "directive": left["directive"],
            "successor_session_id": None, "by": None, "reason_code": None, "signature": None,
        }
    )  # fmt: skip
    trusted = keys / "trusted"
    with Gate(stream.bootstrap, stream.topics.namespace, signing_key=keys / "gate.pem", trusted_keys=trusted) as gate:
        time.sleep(1)
        assert stream.newest("verdict")["s2"]["inherited_from"] == ["s1"]
        asked = gate.admit("s1", timeout=10)
        assert asked.answer is AdmissionAnswer.RECONCILE_FIRST
        # What a trusted gate signs does count, for the worker too.
        assert asked.reconcile(lambda _: True).admitted
        eventually(lambda: stream.newest("verdict")["s2"]["verdict"] == "CLEAN_SUCCESS")
        assert answer(gate, "s2") is AdmissionAnswer.ADMITTED


def test_a_key_is_rotated_without_a_refusal(stream: Stream, worker: Start, keys: Path) -> None:
    signing = ("--trusted-keys", str(keys / "trusted"), "--signing-key")
    first = worker(*signing, str(keys / "worker.pem"))
    stream.session(degraded("s1"))
    eventually(lambda: stream.newest("verdict").get("s1"))
    generate_key(keys / "new.pem")
    shutil.copy(keys / "new.pem.pub", keys / "trusted" / "new.pub")
    first.end()
    worker(*signing, str(keys / "new.pem"))
    stream.session(degraded("s2"))
    eventually(lambda: stream.newest("verdict").get("s2"))
    stands = stream.newest("verdict")
    assert stands["s1"]["signature"]["key_id"] != stands["s2"]["signature"]["key_id"]
    with Gate(stream.bootstrap, stream.topics.namespace, trusted_keys=keys / "trusted") as gate:
        assert {answer(gate, session) for session in ("s1", "s2")} == {AdmissionAnswer.RECONCILE_FIRST}
    # Once the old key is trusted no more, what it signed is not either.
    (keys / "trusted" / "worker.pem.pub").unlink()
    with Gate(stream.bootstrap, stream.topics.namespace, trusted_keys=keys / "trusted") as gate:
        assert answer(gate, "s1") is AdmissionAnswer.UNVERIFIABLE
        assert answer(gate, "s2") is AdmissionAnswer.RECONCILE_FIRST


def test_a_worker_whose_key_cannot_be_read_does_not_start(stream: Stream, tmp_path: Path) -> None:
    arguments = ("--only", "tables", "--signing-key", str(tmp_path / "missing.pem"))
    running = WorkerProcess(stream.bootstrap, stream.topics.namespace, *arguments)
    assert running.process.wait(60) == 1
    eventually(lambda: "KeyFileUnusable" in running.log)
    assert "unmask verdicts keygen" in running.log or "check the path" in running.log


def command(stream: Stream, *arguments: str) -> "subprocess.CompletedProcess[str]":
    where = ("--bootstrap", stream.bootstrap, "--namespace", stream.topics.namespace)
    line = [sys.executable, "-m", "unmask.consumers.cli.main", *arguments, *where]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)


def test_a_withdrawn_verdict_stays_withdrawn_over_restarts_until_the_session_goes_on(
    stream: Stream, worker: Start
) -> None:
    first = worker()
    now = int(time.time() * 1_000_000)
    clean = session_tally(last_seen_at=now - 9_000_000, teardowns=[{**teardown(4), "occurred_at": now - 9_000_000}])
    stream.session(clean)
    with Gate(stream.bootstrap, stream.topics.namespace) as gate:
        eventually(lambda: answer(gate) is AdmissionAnswer.ADMITTED)
        done = command(stream, "verdicts", "withdraw", "s1", "--by", "ana", "--reason-code", "host-was-compromised")
        assert done.returncode == 0, done.stderr
        assert answer(gate) is AdmissionAnswer.WITHDRAWN
        time.sleep(1)
        assert answer(gate) is AdmissionAnswer.WITHDRAWN
        first.end()
        worker()
        time.sleep(1)
        assert answer(gate) is AdmissionAnswer.WITHDRAWN
        again = command(stream, "verdicts", "withdraw", "s1", "--by", "ana", "--reason-code", "host-was-compromised")
        assert again.returncode == 1
        assert "was withdrawn" in again.stderr
        later = int(time.time() * 1_000_000)
        ended = [*clean["teardowns"], {**teardown(5), "occurred_at": later}]
        stream.session({**clean, "offset": 50, "last_seen_at": later, "teardowns": ended})
        eventually(lambda: answer(gate) not in (AdmissionAnswer.WITHDRAWN, AdmissionAnswer.NOT_READY))
    shown = command(stream, "verdicts", "show", "s1")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert "CLEAN_SUCCESS" in lines[0]
    assert any(line.endswith("withdrawn") for line in lines)
    assert "DEGRADED_SUCCESS" in lines[-1]
    told = command(stream, "gate", "stats", "--json")
    assert told.returncode == 0, told.stderr
    assert '"withdrawals": 1' in told.stdout


def test_what_was_never_judged_cannot_be_withdrawn_and_a_name_is_needed(stream: Stream) -> None:
    done = command(stream, "verdicts", "withdraw", "nobody", "--by", "ana", "--reason-code", "drill")
    assert done.returncode == 1
    assert "has no verdict" in done.stderr
    done = command(stream, "verdicts", "withdraw", "s1", "--by", "ana smith", "--reason-code", "drill")
    assert done.returncode == 2
