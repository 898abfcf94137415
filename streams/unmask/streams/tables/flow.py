"""What flows through a table partition: the topics that it reads, and the records that it publishes."""

from enum import Enum
from typing import Any, NamedTuple

from unmask.schemas.topics import Topics

__all__ = ["INPUTS", "OUTPUTS", "Output", "Source", "topic_names"]


class Source(Enum):
    """Topics that a table partition reads: two inputs, and its own outputs, which it reads back."""

    TALLIES = "tallies"
    SESSIONS = "sessions"
    WINDOWS = "windows"
    VERDICTS = "verdicts"
    ALERTS = "alerts"


INPUTS = (Source.TALLIES, Source.SESSIONS)
OUTPUTS = (Source.WINDOWS, Source.VERDICTS, Source.ALERTS)


class Output(NamedTuple):
    """A record to publish on this partition of an output topic."""

    topic: Source
    record_name: str
    key: str
    record: dict[str, Any] | None
    """None removes what stands under the key."""


def topic_names(topics: Topics) -> dict[Source, str]:
    """The topic of every source."""
    return {
        Source.TALLIES: topics.tallies.name,
        Source.SESSIONS: topics.sessions.name,
        Source.WINDOWS: topics.windows.name,
        Source.VERDICTS: topics.verdicts.name,
        Source.ALERTS: topics.alerts.name,
    }
