"""The demo's processes: started with a log each, watched, and all of them gone when the demo is."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Child", "Cluster", "ProcessFailed"]

_TAIL = 2_000


class ProcessFailed(Exception):
    """A process of the demo ended before its time; the message holds the end of what it said."""

    def __init__(self, name: str, code: int, said: str) -> None:
        super().__init__(f"{name} ended with {code}. The end of its log:\n{said or '(nothing)'}")


@dataclass(frozen=True, slots=True)
class Child:
    """One process and its log."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    tether: subprocess.Popen[bytes]

    def running(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def said(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-_TAIL:]

    def wait(self, timeout: float) -> None:
        """Wait until it has ended well. Raises ProcessFailed otherwise, also when it takes longer than `timeout` s."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise ProcessFailed(self.name, -1, f"still running after {timeout:.0f} s\n{self.said()}") from None
        if code != 0:
            raise ProcessFailed(self.name, code, self.said())


class Cluster:
    """Starts processes of this Python and ends them all on leaving, whatever the reason."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = dict(environment)
        self._children: dict[str, Child] = {}
        self._expected_gone: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A second Ctrl-C must not leave processes behind.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        self.stop()

    def start(self, name: str, command: Sequence[str]) -> Child:
        """Start `python <command>`; what it says goes to a log that carries its name."""
        log = self._folder / f"{name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._environment,
                # Ctrl-C is for the demo alone; it ends the others in its own order.
                start_new_session=True,
            )
        # Ends the process also when the demo itself is killed: the shell's input ends with the demo.
        tether = subprocess.Popen(
            ["/bin/sh", "-c", 'read -r _; kill -9 "$1" 2>/dev/null', "demo-tether", str(process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        child = self._children[name] = Child(name, process, log, tether)
        return child

    def kill(self, name: str) -> tuple[int, int]:
        """SIGKILL a process; the instants before and after, in microseconds."""
        self._expected_gone.add(name)
        before = time.time_ns() // 1_000
        os.kill(self._children[name].process.pid, signal.SIGKILL)
        self._children[name].process.wait()
        return before, time.time_ns() // 1_000

    def check(self) -> None:
        """Raises ProcessFailed where a process ended with an error that nobody asked for."""
        for child in self._children.values():
            code = child.process.poll()
            if code not in (None, 0) and child.name not in self._expected_gone:
                raise ProcessFailed(child.name, code or 0, child.said())

    def stop(self) -> None:
        """End all processes: politely, then not."""
        running = [child for child in self._children.values() if child.running()]
        for child in running:
            child.process.terminate()
        deadline = time.monotonic() + 8.0
        for child in running:
            try:
                child.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.process.kill()
                child.process.wait()
        for child in self._children.values():
            child.tether.kill()
            child.tether.communicate()
        self._children.clear()
