"""The debug trace of one session: which errors were swallowed where, as signatures. No text, no exception, no frame.

From it comes the signature of a fallback that was engaged without a stated error. Only what can be tied to the
upstream is attributed; everything else is UNATTRIBUTED:

- an error of a try of the upstream (a hop), the last one of it;
- an error that names the upstream by its logger or by the packages that it came through, the last one;
- where neither is known and an upstream's error is all that the same operation swallowed in the same task or thread,
  that error. Two that differ, or an error that names another upstream, prove nothing.

A notice that something is tried again answers for the errors before it, and an error is attributed once.
"""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from itertools import count

from unmask.producers.classify import UNATTRIBUTED
from unmask.producers.place import Hop, Place, strand
from unmask.schemas.codes import UpstreamClass
from unmask.schemas.signatures import classify_signature

__all__ = ["TRACE_LIMIT", "Trace", "plain"]

TRACE_LIMIT = 64
"""Errors that one session's trace holds; the oldest make room."""

# An answer that cannot be read may as well be the host's own file or input: it needs an upstream's name on it.
_NEEDS_A_NAME = {UpstreamClass.INVALID_RESPONSE, UpstreamClass.UNATTRIBUTED}


def plain(name: object) -> str:
    """A name as it is compared: `Price-Service` and `price_service` are one. What is no text has none."""
    return name.casefold().replace("-", "_") if isinstance(name, str) else ""


@dataclass(slots=True)
class _Entry:
    number: int
    signature: str | None
    """None for a notice that something is tried again."""
    names: frozenset[str]
    operation_id: str | None
    hop: Hop | None
    strand: object
    spent: bool = False


class Trace:
    """Bounded, and without a lock: log calls of any thread leave entries here."""

    __slots__ = ("_entries", "_evicted", "_numbers", "_spent_outside")

    def __init__(self, limit: int = TRACE_LIMIT) -> None:
        self._entries: deque[_Entry] = deque(maxlen=limit)
        self._numbers = count(1)
        self._evicted = 0
        self._spent_outside = 0

    def note(self, place: Place, signature: str | None, names: frozenset[str]) -> None:
        """An error was swallowed at `place`; or, without a signature, what was done there is done again."""
        entries = self._entries
        if len(entries) == entries.maxlen:
            self._evicted = entries[0].number
        operation_id = None if place.operation is None else place.operation.operation_id
        entries.append(_Entry(next(self._numbers), signature, names, operation_id, place.hop, strand()))

    def begin(self) -> int:
        """A mark in time, for `since`."""
        return next(self._numbers)

    def of_hop(self, hop: Hop) -> str:
        """What made this one try fail."""
        found = _after_retries([entry for entry in list(self._entries) if entry.hop is hop and not entry.spent])
        return _spend(found[-1]) if found else UNATTRIBUTED

    def of_mark(self, upstream: str, operation_id: str | None, *, since: int = 0, others: Collection[str] = ()) -> str:
        """What made `upstream` fail, which the code that runs here says it did.

        `since` is when the operation began, `others` are further upstreams that the session knows. An operation_id of
        None is for work outside of any operation.
        """
        name = plain(upstream)
        mine = [
            entry
            for entry in list(self._entries)
            if entry.operation_id == operation_id and not entry.spent and entry.number > since
        ]
        tries = [entry for entry in mine if entry.hop is not None and plain(entry.hop.target) == name]
        own = strand()
        around = _after_retries([entry for entry in mine if entry.hop is None and entry.strand is own])
        named = [*_after_retries(tries), *(entry for entry in around if name in entry.names)]
        if named:
            found = max(named, key=_number).signature
        else:
            known_since = since if operation_id is not None else max(since, self._spent_outside)
            found = self._alone(around, known_since, others)
        for entry in (*tries, *around):
            entry.spent = True
        if operation_id is None:
            self._spent_outside = next(self._numbers)
        return found or UNATTRIBUTED

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)

    def _alone(self, around: list[_Entry], since: int, others: Collection[str]) -> str | None:
        # What made room could have been a second, different error.
        if self._evicted > since:
            return None
        rivals = {plain(other) for other in others}
        found = {
            entry.signature
            for entry in around
            if entry.signature is not None
            and not entry.names & rivals
            and classify_signature(entry.signature) not in _NEEDS_A_NAME
        }
        if any(signature.startswith("TIMEOUT_") for signature in found):
            found.discard("TIMEOUT")  # the same, told without its time
        return found.pop() if len(found) == 1 else None


def _number(entry: _Entry) -> int:
    return entry.number


def _after_retries(entries: list[_Entry]) -> list[_Entry]:
    """The errors after the last notice of a retry, oldest first."""
    for position in range(len(entries) - 1, -1, -1):
        if entries[position].signature is None:
            return entries[position + 1 :]
    return entries


def _spend(entry: _Entry) -> str:
    entry.spent = True
    return entry.signature or UNATTRIBUTED
