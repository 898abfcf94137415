"""What can be done with a quarantined record: pure, from its entry and what stands at its place now."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from unmask.consumers.verify.strict import StrictReader
from unmask.schemas.errors import DecodeError
from unmask.schemas.models import Quarantined

__all__ = ["Condition", "Original", "State", "judge"]


class State(StrEnum):
    """In which state a quarantined record is."""

    READABLE = "READABLE"
    """It stands in the log and can be read now: it may be replayed."""
    UNREADABLE = "UNREADABLE"
    """It stands in the log and still cannot be read."""
    GONE = "GONE"
    """The log no longer has it."""
    REPLACED = "REPLACED"
    """Another record stands at its place: the topic was made anew."""
    REPLAYED = "REPLAYED"
    """The same bytes stand in the log again, further on, and were not put into quarantine there."""
    NOT_QUARANTINED = "NOT_QUARANTINED"
    """Nothing at this place was put into quarantine."""


@dataclass(frozen=True, slots=True)
class Original:
    """A record as it stands in the log. Its bytes are handed on, and shown to nobody."""

    key: bytes | None
    value: bytes | None

    @property
    def identity(self) -> tuple[bytes | None, bytes]:
        """Equal for records with the same key and the same bytes."""
        return self.key, hashlib.sha256(self.value or b"").digest()

    def __repr__(self) -> str:
        # A traceback or a log that shows its parts would show what the quarantine keeps back.
        return f"Original({len(self.value or b'')} bytes)"


@dataclass(frozen=True, slots=True)
class Condition:
    """A state, and what is known beside it, in words."""

    state: State
    detail: str


def judge(entry: Quarantined, original: Original | None, reader: StrictReader) -> Condition:
    """The condition of a record whose entry and original are given; None for one that the log no longer has.

    Raises RegistryUnavailable, which says nothing of the record.
    """
    if original is None:
        return Condition(State.GONE, "the log no longer has it; what it held is lost, and its windows stay LOSSY")
    value = original.value or b""
    if len(value) != entry.size or hashlib.sha256(value).hexdigest() != entry.digest:
        return Condition(State.REPLACED, "another record stands at its place; the topic was made anew")
    try:
        batch = reader.read(original.key, original.value)
    except DecodeError as error:
        # The error's text names what is wrong and never quotes the record.
        return Condition(State.UNREADABLE, str(error))
    emitter_id, seq = batch["emitter"]["emitter_id"], batch["batch_seq"]
    return Condition(State.READABLE, f"batch {seq} of {emitter_id}")
