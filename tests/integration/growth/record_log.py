"""What stands on the topics of a namespace: in which version of the contract, and what the windows add up to."""

from collections import Counter
from typing import Any

from tests.tables_on_kafka import Stream

from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.codec import HEADER_LENGTH, headers
from unmask.schemas.codes import Family
from unmask.schemas.framing import framing_from_environment
from unmask.schemas.history import RECORDS

__all__ = ["FIRST", "LATER", "SIZE", "evidence", "newest", "quarantined", "state", "totals", "versions", "windows"]

SIZE = 1
"""Seconds of the windows."""
FIRST = (Family.ROUTE_ATTEMPT, Family.KERNEL_FALLBACK, Family.MASKED_ERROR, Family.SESSION_TEARDOWN)
LATER = (Family.ROUTE_SELECTION, Family.DELEGATION_PROGRESS, Family.DELEGATION_EFFECT)
_BY_HEADER = {
    opening: (record, version) for record in RECORDS for version, opening in enumerate(headers(record), start=1)
}


def rows(stream: Stream, topic: str) -> list[Row]:
    """Every record on a topic."""
    found: list[Row] = []
    with TopicReader(TopicSource(topic, stream.bootstrap, compacted=False), timeout=20) as reader:
        while not reader.caught_up:
            found.extend(reader.read(5))
    return found


def newest(stream: Stream, record: str) -> list[dict[str, Any]]:
    """The newest record of every key of a topic of one kind of record, framed as the environment says."""
    topic = {"window": stream.topics.windows, "verdict": stream.topics.verdicts}[record].name
    framing = framing_from_environment()
    last = {row.key: row.value for row in rows(stream, topic)}
    return [framing.decode_any((record,), value)[1] for value in last.values() if value]


def versions(stream: Stream) -> dict[str, set[int]]:
    """In which versions the records of each kind were written, over all topics."""
    found: dict[str, set[int]] = {}
    for spec in stream.topics.all():
        if spec.record in RECORDS or spec.name == stream.topics.tallies.name:
            for row in rows(stream, spec.name):
                if row.value:
                    record, version = _BY_HEADER[row.value[:HEADER_LENGTH]]
                    found.setdefault(record, set()).add(version)
    return found


def quarantined(stream: Stream) -> int:
    """Records that could not be read."""
    return len(rows(stream, stream.topics.quarantine.name))


def windows(stream: Stream, release_line: str | None = None) -> list[dict[str, Any]]:
    """The newest record of each window, of one release line or over all, without those of capabilities."""
    found = [
        window
        for window in newest(stream, "window")
        if window["window_seconds"] == SIZE
        and window["capability"] is None
        and (window["scope"] or {}).get("release_line") == release_line
    ]
    return sorted(found, key=lambda window: int(window["window_start"]))


def totals(found: list[dict[str, Any]]) -> dict[Family, int]:
    """Events by family, over all these windows."""
    total: Counter[Family] = Counter()
    for window in found:
        total[Family.ROUTE_ATTEMPT] += window["attempts"]
        total[Family.KERNEL_FALLBACK] += window["fallbacks_total"]
        total[Family.MASKED_ERROR] += window["masked_errors"]
        total[Family.SESSION_TEARDOWN] += sum(window["teardowns_by_outcome"].values())
        total[Family.ROUTE_SELECTION] += sum(window["selections"].values())
        total[Family.DELEGATION_PROGRESS] += sum(window["delegation_calls"].values())
        total[Family.DELEGATION_EFFECT] += sum(window["delegation_effects"].values())
    return {family: n for family, n in total.items() if n}


def evidence(found: list[dict[str, Any]], family: Family) -> set[str]:
    """What is proven of a family in those windows in which something was counted."""
    held = [window for window in found if totals([window])]
    return {state(window, family) for window in held}


def state(window: dict[str, Any], family: Family) -> str:
    """What a window proves of a family; one that nobody speaks of has no witness."""
    states = {entry["family"]: str(entry["state"]) for entry in window["evidence"]}
    return states.get(family, "ABSENT")
