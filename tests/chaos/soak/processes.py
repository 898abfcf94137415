"""Processes of the soak: each with its log, killed or ended by their own handle, none left behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Child", "end_with_parent", "start"]

_ROOT = Path(__file__).resolve().parents[3]


def end_with_parent() -> None:
    """Called in a child: ends it when the soak is gone, however that ended."""
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    # Not through sys.stdin: its lock would be in the way of an orderly end.
    os.read(0, 1)
    os._exit(111)


@dataclass(slots=True)
class Child:
    """One process."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    started: float
    """Monotonic seconds."""

    def running(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; nothing where it has ended."""
        if self.running():
            self.process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL, and wait."""
        self.process.kill()
        self._wait(None)

    def end(self, timeout: float) -> int:
        """Wait for the end that was asked for; SIGKILL after `timeout` seconds. The exit code."""
        try:
            return self._wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self._wait(None)

    def said(self, characters: int = 1_500) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-characters:].strip()

    def _wait(self, timeout: float | None) -> int:
        code = self.process.wait(timeout)
        if self.process.stdin is not None:
            self.process.stdin.close()
        return code


def start(name: str, log: Path, module: str, arguments: Sequence[str], environment: dict[str, str]) -> Child:
    """Start `python -m module`; what it says goes to the end of the log."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            cwd=_ROOT,
            # Ctrl-C is for the soak alone; it ends the others in its own order.
            start_new_session=True,
        )
    return Child(name, process, log, time.monotonic())
