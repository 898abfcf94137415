"""All that gates recorded: the admissions topic, read to its end once."""

import time
from collections.abc import Callable

from unmask.consumers.gate.enforcement import Enforcement, Report
from unmask.consumers.topic_reader import TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.errors import DecodeError
from unmask.schemas.signing import Trust, admission_flaw
from unmask.schemas.wire import decode

__all__ = ["AdmissionsUnfinished", "read_enforcement"]

_POLL_SECONDS = 0.1


class AdmissionsUnfinished(Exception):
    """The admissions could not be read to their end in time. Allow more time, or check the broker's load."""

    def __init__(self, remaining: int) -> None:
        super().__init__(
            f"the admissions could not be read to their end in time ({remaining} offsets left); allow more with "
            "--timeout, or check the broker's load"
        )


def read_enforcement(
    source: TopicSource, *, timeout: float, trust: Trust | None = None, on_unusable: Callable[[], None] | None = None
) -> Report:
    """Count what became of all answers. `on_unusable` is told of each record that cannot be read or believed.

    Raises TopicUnreadable, AdmissionsUnfinished.
    """
    enforcement = Enforcement()
    deadline = time.monotonic() + timeout
    with TopicReader(source, timeout=timeout) as reader:
        while not reader.caught_up:
            if time.monotonic() > deadline:
                raise AdmissionsUnfinished(reader.remaining)
            for row in reader.read(_POLL_SECONDS):
                try:
                    record, session_id = decode("admission", row.value), (row.key or b"").decode()
                except (DecodeError, UnicodeDecodeError):
                    record, session_id = {}, ""
                flaw = admission_flaw(record, session_id=session_id, topic=source.topic, trust=trust) if record else ""
                if flaw is None:
                    enforcement.take(record)
                elif on_unusable is not None:
                    on_unusable()
    return enforcement.report()
