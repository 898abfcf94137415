"""One node's Java process: started, watched and signalled, also by a process that did not start it."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

__all__ = ["NodeProcess"]


class NodeProcess:
    """A running (or dead) node, known by its process id and by the settings file in its command line.

    A process id alone proves nothing, since the system gives it to somebody else in time: nothing is signalled
    unless its command line names our settings file.
    """

    def __init__(self, pid: int, settings: Path, child: subprocess.Popen[bytes] | None = None) -> None:
        self.pid = pid
        self._settings = str(settings)
        self._child = child
        self._tether: subprocess.Popen[bytes] | None = None

    @classmethod
    def launch(cls, command: list[str], settings: Path, log: Path, *, tethered: bool) -> "NodeProcess":
        """Start `command` (which ends with the settings file) in a session of its own, its output added to `log`.

        A tethered node dies with this process, also when this process is killed; any other outlives it.
        """
        with open(log, "ab") as output:
            child = subprocess.Popen(
                [*command, str(settings)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=settings.parent,
                start_new_session=True,
            )
        process = cls(child.pid, settings, child)
        if tethered:
            process._tie()
        return process

    def alive(self) -> bool:
        """Whether the node's process is there; a zombie is not."""
        if self._child is not None:
            return self._child.poll() is None
        return self.pid > 0 and self._settings in _command_line(self.pid)

    def terminate(self, patience: float = 15.0) -> None:
        """Ask the node to shut down in order; after `patience` seconds, kill it."""
        if self._signal(signal.SIGTERM):
            # A paused process takes the request only when it runs again.
            self._signal(signal.SIGCONT)
            if not self._gone_within(patience):
                self._signal(signal.SIGKILL)
                self._gone_within(10.0)
        self._untie()

    def kill(self) -> None:
        """SIGKILL, then wait until the process is gone."""
        if self._signal(signal.SIGKILL):
            self._gone_within(10.0)
        self._untie()

    def pause(self) -> None:
        """SIGSTOP: the node keeps its connections and answers nothing."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT: the node goes on from where it was paused."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> bool:
        if not self.alive():
            return False
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def _tie(self) -> None:
        # The shell waits on a pipe that only we hold; its end of file comes with our death, however we die.
        self._tether = subprocess.Popen(
            ["/bin/sh", "-c", 'read -r _; kill -9 "$1"', "unmask-tether", str(self.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _untie(self) -> None:
        if self._tether is not None:
            self._tether.kill()
            self._tether.communicate()
            self._tether = None


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except FileNotFoundError:
        if Path("/proc/self").exists() or shutil.which("ps") is None:
            return ""
    except OSError:
        return ""
    shown = subprocess.run(["ps", "-p", str(pid), "-o", "command="], capture_output=True, text=True, check=False)
    return shown.stdout
