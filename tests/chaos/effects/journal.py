"""What hosts write down: a journal for each life, and the world, one file for all, in which the effects stand.

Every line is one write to a file that is only appended to, so that a SIGKILL leaves whole lines, and the lines of
several processes do not mix. An effect is made by its line in the world, and that line goes to the disk before the call
comes back. Making it twice makes two lines: it is not idempotent.
"""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Journal", "Life", "Lines", "World", "now_us", "read_lives", "read_world"]

_SUFFIX = ".journal"
Line = dict[str, Any]


def now_us() -> int:
    """This machine's clock, in microseconds; the brokers run on the same machine."""
    return time.time_ns() // 1000


class Lines:
    """A file of lines that is only appended to, by any number of threads and processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def add(self, line: Line, *, durable: bool = False) -> None:
        """One line. Raises OSError where it could not be written as a whole."""
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        if os.write(self._file, data) != len(data):
            raise OSError(f"{self.path} took a part of a line")
        if durable:
            os.fsync(self._file)


class Journal(Lines):
    """The journal of one life of a host."""

    def __init__(self, folder: Path, life: str) -> None:
        super().__init__(folder / f"{life}{_SUFFIX}")


class World(Lines):
    """Where the effects are made."""

    def make(self, key: list[str], token: int, receipt: str, life: str, trusted: bool, at: int) -> None:
        """Makes an effect; on the disk when it comes back."""
        line = {"k": key, "token": token, "receipt": receipt, "life": life, "trusted": trusted, "at": at}
        self.add(line, durable=True)

    def find(self, key: list[str]) -> str | None:
        """The receipt of an effect that was made before; None where none was."""
        wanted = json.dumps(key, separators=(",", ":"))
        with self.path.open(encoding="utf-8") as file:
            for line in file:
                if wanted in line:
                    return str(json.loads(line)["receipt"])
        return None


@dataclass(slots=True)
class Life:
    """The journal of one life, read once that is over."""

    name: str
    lines: list[Line] = field(default_factory=list)
    torn: bool = False
    """Whether its last line was not written to its end."""

    def of(self, event: str) -> Iterator[Line]:
        """Its lines of one kind."""
        return (line for line in self.lines if line["e"] == event)


def read_lives(folder: Path) -> list[Life]:
    """All lives, by name."""
    lives = []
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        lines, torn = _read(path)
        lives.append(Life(path.stem, lines, torn))
    return lives


def read_world(path: Path) -> tuple[list[Line], bool]:
    """All effects in the order in which they were made, and whether some line is torn."""
    return _read(path) if path.exists() else ([], False)


def _read(path: Path) -> tuple[list[Line], bool]:
    lines, torn = [], False
    for line in path.read_bytes().split(b"\n"):
        try:
            if line:
                lines.append(json.loads(line))
        except ValueError:
            torn = True
    return lines, torn
