"""The README's Python is run as it stands there, against a real broker and a real worker."""

import contextlib
import io
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from unmask.consumers.devbroker.ports import free_ports
from unmask.consumers.gate import Gate
from unmask.schemas.codes import AdmissionAnswer
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

pytestmark = pytest.mark.integration

_README = Path(__file__).parents[2] / "README.md"
_BLOCKS = re.findall(r"```python\n(.*?)```\n+```\n(.*?)```", _README.read_text(), re.DOTALL)


@pytest.fixture
def worker(kafka: str, namespace: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Topics and a running `unmask stream`, and the environment that the README speaks of."""
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka)
    monkeypatch.setenv("UNMASK_NAMESPACE", namespace)
    create_topics(kafka, Topics(namespace, events_partitions=2, table_partitions=2))
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "unmask.consumers.cli.main", "stream", "--port", str(port)]
    with (tmp_path / "worker.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=dict(os.environ))
    try:
        deadline = time.monotonic() + 45
        while not ready(port):
            assert process.poll() is None, (tmp_path / "worker.log").read_text()
            assert time.monotonic() < deadline, (tmp_path / "worker.log").read_text()
            time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.wait(20)


def ready(port: int) -> bool:
    with contextlib.suppress(OSError):
        return bool(urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2).status == 200)
    return False


def run(block: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block, "README.md", "exec"), {})
    return out.getvalue()


def test_the_readmes_host_and_gate_say_what_the_readme_says(worker: None) -> None:
    (host, host_says), (gate, gate_says) = _BLOCKS
    assert len(host.splitlines()) <= 11
    assert len(gate.splitlines()) <= 5
    assert run(host) == host_says
    deadline = time.monotonic() + 20
    with Gate() as waiting:
        while waiting.admit("briefing-17").answer is AdmissionAnswer.NO_VERDICT:
            assert time.monotonic() < deadline
            time.sleep(0.2)
    assert run(gate) == gate_says
