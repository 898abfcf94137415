"""No process of the demo outlives it, and none ends unnoticed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.processes import Child, Cluster, ProcessFailed

_SLEEP = ["-c", "import time; time.sleep(60)"]


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    # Leaving a cluster makes its process deaf to signals, which the tests' process must not stay.
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def gone(pid: int, seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        status = Path(f"/proc/{pid}/stat")
        if not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return True
        time.sleep(0.02)
    return False


def test_leaving_ends_every_process_whatever_the_reason(tmp_path: Path) -> None:
    children: list[Child] = []

    def interrupted() -> None:
        with Cluster(tmp_path, os.environ) as cluster:
            children.extend(cluster.start(name, _SLEEP) for name in ("a", "b"))
            assert all(child.running() for child in children)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(children) == 2
    assert all(gone(child.process.pid) for child in children)
    assert all(gone(child.tether.pid) for child in children)


def test_a_process_that_ends_by_itself_with_an_error_is_named_with_what_it_said(tmp_path: Path) -> None:
    with Cluster(tmp_path, os.environ) as cluster:
        child = cluster.start("worker-a", ["-c", "import sys; print('out of luck'); sys.exit(3)"])
        child.process.wait(10)
        with pytest.raises(ProcessFailed, match=r"worker-a ended with 3(?s:.*)out of luck"):
            cluster.check()
        with pytest.raises(ProcessFailed, match="worker-a ended with 3"):
            child.wait(1.0)


def test_a_process_that_was_killed_on_purpose_is_no_failure(tmp_path: Path) -> None:
    with Cluster(tmp_path, os.environ) as cluster:
        child = cluster.start("host", _SLEEP)
        before, after = cluster.kill("host")
        assert before <= after
        assert child.process.returncode == -signal.SIGKILL
        cluster.check()


def test_processes_end_also_when_the_demo_itself_is_killed(tmp_path: Path) -> None:
    script = (
        "import os, sys, time; from pathlib import Path; from demo.processes import Cluster\n"
        f"child = Cluster(Path({str(tmp_path)!r}), os.environ).start('host', {_SLEEP!r})\n"
        "print(child.process.pid, flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "deploy")}
    demo = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment)
    assert demo.stdout is not None
    pid = int(demo.stdout.readline())
    assert not gone(pid, 0.1)
    demo.kill()
    demo.communicate()
    assert gone(pid)
