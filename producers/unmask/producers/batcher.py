"""Cutting: everything recorded since the previous cut becomes one batch, or several where one would be too large.

Pure: the instant is handed in. What a batch says is cumulative, so batches are made strictly in order.
"""

from collections import Counter
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from unmask.producers.account import Account
from unmask.producers.events import ATTEMPT, OPENING, Event
from unmask.producers.report import FAMILIES
from unmask.producers.store import StoredBatch
from unmask.producers.wire import Identity, lay_out
from unmask.schemas import codec
from unmask.schemas.codes import DropCause

__all__ = ["HEAVY", "Batcher", "Encode"]

HEAVY = 20
"""How many attempts any other event weighs. Encoding holds the interpreter, so that a batch must not take long."""

_LANE = itemgetter(1)

Encode = Callable[[str, dict[str, Any]], bytes]
"""The bytes of a record's value, given the record's name."""


class Batcher:
    """Cuts the batches of one emitter's life; with `seq`, `accounted_through` and `told`, of one begun before."""

    def __init__(
        self,
        identity: Identity,
        account: Account,
        *,
        encode: Encode = codec.encode,
        max_bytes: int,
        max_events: int,
        seq: int = 0,
        accounted_through: int | None = None,
        told: int = 0,
    ) -> None:
        self.identity = identity
        self.max_bytes = max_bytes
        self.openings_dropped = 0
        self.out_of_room = False
        """Whether the last cut had to drop something for want of room."""
        self._encode = encode
        self._max_events = max_events
        self._account = account
        self._seq = seq
        self.told = told
        """Events given up after their cut of which the last batch tells; any further ones are still to be told of."""
        self._accounted_through = identity.started_at - 1 if accounted_through is None else accounted_through

    @property
    def batches_cut(self) -> int:
        """The last batch's batch_seq."""
        return self._seq

    @property
    def accounted_through(self) -> int:
        """The last batch's sent_at, in microseconds; just before the start where there is none."""
        return self._accounted_through

    def opening(self) -> dict[str, Any]:
        """The record that the first batch would be, if it were cut at the emitter's start."""
        started_at = self.identity.started_at
        return lay_out(self.identity, 1, [], earliest=started_at, sent_at=started_at, closing=False, accounts=[])

    def cut(
        self, events: list[Event], now: int, *, closing: bool = False, room: int | None = None
    ) -> list[StoredBatch]:
        """The batches that account for everything up to `now` (microseconds); at least one, the last one at `now`.

        Each batch covers a stretch of its own: sent_at of all but the last is the instant of its last event, so that
        none claims to account for a time whose events are in a later one.

        With `room` the batches together have at most so many bytes. What exceeds them is dropped, as `outbox_full`,
        and there may be no batch at all; the next one then tells. Only a closing batch is always made.
        """
        self.out_of_room = False
        events.sort(key=itemgetter(0))
        pieces = self._pieces(events)
        pieces.reverse()
        batches: list[StoredBatch] = []
        while pieces:
            piece = pieces.pop()
            last = not pieces
            made = self._make(piece, now if last else piece[-1][0], now, closing and last, room)
            if isinstance(made, StoredBatch):
                batches.append(made)
                room = None if room is None else room - len(made.data)
            elif made is DropCause.OUTBOX_FULL:
                self.out_of_room = True
                # Nothing that comes later may be in before it, and trying halves would take long.
                for rest in (piece, *reversed(pieces)):
                    self._drop(rest, made)
                pieces = [[]] if closing else []
                room = None
            elif len(piece) > 1:
                middle = len(piece) // 2
                pieces += (piece[middle:], piece[:middle])
            else:
                self._drop(piece, made)
                if last:
                    pieces.append([])
        return batches

    def _pieces(self, events: list[Event]) -> list[list[Event]]:
        pieces: list[list[Event]] = []
        most = self._max_events
        if not any(map(ATTEMPT.__ne__, map(_LANE, events))):
            return [events[start : start + most] for start in range(0, max(1, len(events)), most)]
        start = weight = 0
        for position, (_, lane, _) in enumerate(events):
            cost = 1 if lane == ATTEMPT else HEAVY
            if weight + cost > most and position > start:
                pieces.append(events[start:position])
                start, weight = position, 0
            weight += cost
        return [*pieces, events[start:]]

    def _make(
        self, events: list[Event], sent_at: int, now: int, closing: bool, room: int | None
    ) -> StoredBatch | DropCause:
        earliest = self._accounted_through + 1
        sent_at = max(min(sent_at, now), earliest)
        counts = Counter(map(_LANE, events))
        held = {family: counts[lane] for lane, family in enumerate(FAMILIES) if lane in counts}
        batch = lay_out(
            self.identity, self._seq + 1, events, earliest=earliest, sent_at=sent_at, closing=closing,
            accounts=self._account.on_the_wire(held),
        )  # fmt: skip
        try:
            data = self._encode("event_batch", batch)
        except Exception:
            # Whatever it is, no event may vanish: the halves are tried, until the one at fault is dropped and counted.
            if not events:
                raise
            return DropCause.INVALID_EVENT
        if len(data) > self.max_bytes and events:
            return DropCause.TOO_LARGE
        if room is not None and len(data) > room and (events or not closing):
            return DropCause.OUTBOX_FULL
        self._seq += 1
        self._accounted_through = sent_at
        self.told = self._account.given_up()
        self._account.cut(held)
        return StoredBatch(self.identity.emitter_id, self._seq, data, held, closing, sent_at)

    def _drop(self, events: list[Event], cause: DropCause) -> None:
        for lane, count in Counter(map(_LANE, events)).items():
            if lane == OPENING:
                self.openings_dropped += count
            else:
                self._account.drop_uncut(FAMILIES[lane], cause, count)
