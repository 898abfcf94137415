"""What the verdict topic holds for one session: the six things that a gate can find there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Displaced", "Entry", "NoRecord", "Recorded", "Tombstone", "Undecodable", "Unread"]


@dataclass(frozen=True, slots=True)
class Unread:
    """The topic could not be read to its end; `cause` is a sentence that says why and what to do."""

    session_id: str
    cause: str


@dataclass(frozen=True, slots=True)
class NoRecord:
    """The topic was read to its end and holds nothing under the session's key."""

    session_id: str


@dataclass(frozen=True, slots=True)
class Tombstone:
    """The newest record of the session has no value: its verdict was withdrawn."""

    session_id: str


@dataclass(frozen=True, slots=True)
class Undecodable:
    """The newest record of the session is not a verdict; `reason` is a code, never the record's bytes."""

    session_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """The newest record of the session, decoded. `session_id` is what was asked for, `key` what the record has."""

    session_id: str
    key: str
    verdict: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Displaced:
    """The newest record of the session cannot be believed, and it is not the first one; `flaw` is half a sentence."""

    session_id: str
    flaw: str
    earlier: Mapping[str, Any] | None
    """The newest verdict that could be verified; None where there was none, or it was withdrawn."""


Entry = Unread | NoRecord | Tombstone | Undecodable | Recorded | Displaced
