"""A host's own journal: what it is about to do, written before it does it, and that it has done it.

The demo compares what Unmask published with these lines, so that they are written without any help of Unmask.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

__all__ = ["Entry", "HostJournal", "Journal", "Kind", "read_journal"]

_DONE = "done"


class Kind(StrEnum):
    """What a line is about."""

    EMITTER_OPEN = "emitter_open"
    EMITTER_CLOSE = "emitter_close"
    SESSION_OPEN = "session_open"
    SESSION_CLOSE = "session_close"
    """With `outcome`: success or failure."""
    ATTEMPT = "attempt"
    """A request entered a capability; with `operation` inside a session."""
    FALLBACK = "fallback"
    """The substitute answers, because of `outcome`; inside a session this masks an error of the upstream too."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A step of a host, between two instants in microseconds; `ended` is None where it was killed meanwhile."""

    kind: Kind
    began: int
    ended: int | None
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostJournal:
    """All that a host wrote."""

    host: str
    killed: bool
    entries: tuple[Entry, ...]

    def of(self, *kinds: Kind) -> Iterator[Entry]:
        """The entries of some kinds, in order."""
        return (entry for entry in self.entries if entry.kind in kinds)


class Journal:
    """Appends lines of JSON; each is handed to the system before the call returns."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", buffering=1)
        self._serial = 0

    def begin(self, kind: Kind, **facts: Any) -> int:
        """The line before a step; its number, for `done`."""
        self._serial += 1
        self._write({"n": self._serial, "at": _now(), "kind": kind, **facts})
        return self._serial

    def done(self, serial: int) -> None:
        """The line after a step. A step may be said to be done twice; the first time counts."""
        self._write({"n": serial, "at": _now(), "kind": _DONE})

    @contextmanager
    def about(self, kind: Kind, **facts: Any) -> Iterator[None]:
        """Around one step: both lines."""
        serial = self.begin(kind, **facts)
        yield
        self.done(serial)

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")


def read_journal(path: Path, *, killed: bool) -> HostJournal:
    """The journal of the host that the file is named for."""
    # What a killed host did not finish writing is no line yet.
    written = [text for text in path.read_text(encoding="utf-8").splitlines(keepends=True) if text.endswith("\n")]
    lines = [json.loads(text) for text in written]
    ended: dict[int, int] = {}
    for line in lines:
        if line["kind"] == _DONE:
            ended.setdefault(line["n"], line["at"])
    entries = tuple(
        Entry(
            Kind(line["kind"]),
            line["at"],
            ended.get(line["n"]),
            {name: value for name, value in line.items() if name not in ("n", "at", "kind")},
        )
        for line in lines
        if line["kind"] != _DONE
    )
    return HostJournal(path.stem, killed, entries)


def _now() -> int:
    return time.time_ns() // 1_000
