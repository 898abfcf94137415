"""The demo, as `make demo` runs it: against a real broker, with real processes, checked by itself."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

pytestmark = [pytest.mark.integration, pytest.mark.timeout(200)]

_ROOT = Path(__file__).parents[2]
_LONGEST_S = 160.0  # on a machine that does much else; about 60 s otherwise


def demo(kafka: str, temporary: Path, *arguments: str) -> "subprocess.Popen[str]":
    environment = {
        **os.environ,
        "KAFKA_BOOTSTRAP_SERVERS": kafka,
        "PYTHONPATH": str(_ROOT / "deploy"),
        "TMPDIR": str(temporary),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "demo", "--short", *arguments],
        cwd=_ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        # Where the tests run in the background of a shell, interrupts are ignored, and a child takes that over.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def left_behind(environment: Mapping[str, str]) -> list[str]:
    """Command lines of processes that carry these environment variables."""
    wanted = {f"{name}={value}".encode() for name, value in environment.items()}
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and wanted <= set((entry / "environ").read_bytes().split(b"\0")):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            # It ended while it was looked at, or is somebody else's.
            continue
    return found


def topics_of(kafka: str, said: str) -> list[str]:
    namespace = said.partition("topics demo-")[2].partition(".")[0]
    assert namespace
    names = AdminClient({"bootstrap.servers": kafka}).list_topics(timeout=10).topics
    return [name for name in names if name.startswith(f"demo-{namespace}.")]


def test_the_demo_tells_the_whole_story_and_every_number_agrees(kafka: str, tmp_path: Path) -> None:
    process = demo(kafka, tmp_path)
    said, _ = process.communicate(timeout=_LONGEST_S)
    assert process.returncode == 0, said
    assert "all agree" in said
    assert "killed with SIGKILL" in said
    lossy = [line for line in said.splitlines() if " LOSSY: " in line]
    assert len(lossy) == 1, lossy
    for word in ("CLEAN_SUCCESS", "DEGRADED_SUCCESS", "HARD_FAILURE", "ABANDONED", "PROBE_UPSTREAM_BEFORE_ACTION"):
        assert word in said
    for answer in ("ADMITTED", "RECONCILE_FIRST", "HALTED", "NO_VERDICT"):
        assert answer in said
    assert left_behind({"TMPDIR": str(tmp_path)}) == []
    assert list(tmp_path.iterdir()) == []
    assert topics_of(kafka, said) == []


def test_ctrl_c_ends_every_process_and_clears_up(kafka: str, tmp_path: Path) -> None:
    process = demo(kafka, tmp_path)
    assert process.stdout is not None
    said = ""
    while "the upstream answers" not in said:
        line = process.stdout.readline()
        assert line, said
        said += line
    # Workers, hosts and the upstream, each with what ends it should the demo be killed.
    assert len(left_behind({"TMPDIR": str(tmp_path)})) > 8
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=90)
    assert process.returncode == 130, said + rest
    assert left_behind({"TMPDIR": str(tmp_path)}) == []
    assert list(tmp_path.iterdir()) == []
    assert topics_of(kafka, said) == []
