"""An earlier release, unpacked, whose hosts, workers and gates run in processes of their own."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

from tests.tables_on_kafka import WorkerProcess

__all__ = ["Earlier"]

_HERE = Path(__file__).parent
_ROOTS = ("schemas", "producers", "streams", "consumers")


class Earlier:
    """The packed release with contract 1, below `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with tarfile.open(_HERE / "contract-1.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        # In front of whatever is installed: a package is taken whole from where it is found first.
        self._path = os.pathsep.join(str(folder / root) for root in _ROOTS)

    def worker(self, bootstrap: str, namespace: str, *arguments: str, **variables: str) -> WorkerProcess:
        """Its worker, which is really its own."""
        command = [sys.executable, str(_HERE / "any_worker.py")]
        worker = WorkerProcess(bootstrap, namespace, *arguments, command=command, PYTHONPATH=self._path, **variables)
        worker.wait_ready()
        assert all(self._owns(path) for path in json.loads(worker.lines[0]))
        return worker

    def host(self, bootstrap: str, namespace: str, release_line: str, prefix: str) -> None:
        """Its SDK works as a plain host does, and closes."""
        assert self._owns(self._run("plain_host.py", bootstrap, namespace, release_line, prefix).strip())

    def gate(self, bootstrap: str, namespace: str, *sessions: str) -> dict[str, str]:
        """What its gate answers, by session."""
        told = json.loads(self._run("any_gate.py", bootstrap, namespace, *sessions))
        assert self._owns(told["from"])
        answers: dict[str, str] = told["answers"]
        return answers

    def _run(self, script: str, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, str(_HERE / script), *arguments], env={**os.environ, "PYTHONPATH": self._path},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _owns(self, path: str) -> bool:
        return Path(path).is_relative_to(self.folder)
