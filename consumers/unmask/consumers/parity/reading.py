"""What stands on the parity topic: the newest run of every suite, release line and composition."""

import time
from dataclasses import dataclass

from pydantic import ValidationError

from unmask.consumers.topic_reader import TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.windows_view import NotReadInTime
from unmask.schemas.errors import DecodeError
from unmask.schemas.keys import parity_key
from unmask.schemas.models import ParityRun, from_avro
from unmask.schemas.topics import Topics, namespace_from_environment
from unmask.schemas.wire import decode

__all__ = ["ParityRecords", "parity_source", "read_parity"]


@dataclass(frozen=True, slots=True)
class ParityRecords:
    """The runs, and what could not be read."""

    runs: tuple[ParityRun, ...]
    unreadable: tuple[str, ...]
    """Keys whose newest record is none of theirs: nothing may be said of these."""


def parity_source(bootstrap: str | None = None, namespace: str | None = None) -> TopicSource:
    """Where the runs of a namespace are; by default as KAFKA_BOOTSTRAP_SERVERS and UNMASK_NAMESPACE say."""
    return TopicSource(Topics(namespace or namespace_from_environment()).parity.name, bootstrap)


def read_parity(source: TopicSource, *, timeout: float) -> ParityRecords:
    """All runs, by key, read to the end taken at the start. Raises TopicUnreadable, of which NotReadInTime is one."""
    newest: dict[bytes, bytes | None] = {}
    deadline = time.monotonic() + timeout
    with TopicReader(source, timeout=timeout) as reader:
        while not reader.caught_up:
            if time.monotonic() > deadline:
                raise NotReadInTime(source.topic, reader.remaining)
            newest.update((row.key or b"", row.value) for row in reader.read(0.1))
    runs: list[ParityRun] = []
    unreadable: list[str] = []
    for key, value in sorted(newest.items()):
        if value is None:
            continue
        run = _run(key, value)
        if run is None:
            # It is shown on terminals, and nobody has checked what it is made of.
            unreadable.append(key.decode("latin-1").encode("unicode_escape").decode("ascii"))
        else:
            runs.append(run)
    return ParityRecords(tuple(runs), tuple(unreadable))


def _run(key: bytes, value: bytes) -> ParityRun | None:
    try:
        run = from_avro(ParityRun, decode("parity", value))
    except (DecodeError, ValidationError):
        return None
    named = parity_key(run.suite, run.release_line, run.composition).encode()
    return run if named == key else None
