"""What the Python peers share: the settings of a run, the decoding, the marks, the form of the result.

A peer runs in an interpreter of its own, which may know nothing of this project, so that this file needs only fastavro.
All peers decode alike: with plain types, since fastavro's datetime objects would cost them 3 µs per event more.
"""

import io
import json
import os
import time
from collections.abc import Iterable
from typing import Any

from fastavro import parse_schema, schemaless_reader

__all__ = [
    "BROKER", "BY_BATCH", "EVENTS", "GROUP", "OUT", "PARTITIONS", "STATE", "TOPIC", "WINDOW_S", "Once", "decode",
    "group_of", "mark", "result",
]  # fmt: skip

BROKER = os.environ["BENCH_BROKER"]
TOPIC = os.environ["BENCH_TOPIC"]
OUT = os.environ["BENCH_OUT"]
GROUP = os.environ["BENCH_GROUP"]
STATE = os.environ["BENCH_STATE"]
EVENTS = int(os.environ["BENCH_EVENTS"])
BY_BATCH = os.environ["BENCH_FORMAT"] == "batch"
PARTITIONS = 4
WINDOW_S = 60
_HEADER = 10


def _plain(schema: Any) -> Any:
    if isinstance(schema, dict):
        return schema["type"] if set(schema) == {"type", "logicalType"} else {k: _plain(v) for k, v in schema.items()}
    return [_plain(part) for part in schema] if isinstance(schema, list) else schema


with open(os.environ["BENCH_SCHEMA"], encoding="utf-8") as _file:
    _SCHEMA: Any = parse_schema(_plain(json.load(_file)))


def decode(value: bytes, _read: Any = schemaless_reader, _io: Any = io.BytesIO, _schema: Any = _SCHEMA) -> Any:
    """The record in a value with a single-object header."""
    body = _io(value)
    body.seek(_HEADER)
    return _read(body, _schema, None)


def group_of(event: dict[str, Any]) -> str:
    """What a one-event record is counted by, beside its window."""
    return f"{event['release_line']}|{event['capability']}|{event['entry_point']}"


def result(window_s: int, group: str, count: int) -> bytes:
    """One line of the result, the same of every system."""
    return json.dumps({"w": window_s, "k": group, "n": count}).encode()


def mark(name: str) -> None:
    """Writes down the time and the CPU seconds of this process so far."""
    line = f"{name} {time.time():.6f} {time.process_time():.6f}\n"
    handle = os.open(os.environ["BENCH_MARKS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, line.encode())
    os.close(handle)


class Once:
    """Marks the first event that is seen and the last that is counted, for peers that are called event by event."""

    def __init__(self) -> None:
        self._seen = False
        self._counted = 0

    def seen(self) -> None:
        """An event is about to be decoded."""
        if not self._seen:
            self._seen = True
            mark("first")

    def counted(self, events: Iterable[Any] = (None,)) -> None:
        """So many events are counted."""
        for _ in events:
            self._counted += 1
            if self._counted == EVENTS:
                mark("counted")
