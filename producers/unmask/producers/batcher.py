"""Cutting: everything recorded since the previous cut becomes one batch, or several where one would be too large.

Pure: the instant is handed in. What a batch says is cumulative, so batches are made strictly in order.
"""

from collections import Counter
from operator import itemgetter

from unmask.producers.account import Account
from unmask.producers.events import Event
from unmask.producers.store import StoredBatch
from unmask.producers.wire import Identity, lay_out
from unmask.schemas.codec import encode
from unmask.schemas.codes import DropCause, Family

__all__ = ["HEAVY", "Batcher"]

HEAVY = 20
"""How many attempts any other event weighs. Encoding holds the interpreter, so that a batch must not take long."""


class Batcher:
    """Cuts the batches of one emitter's life."""

    def __init__(self, identity: Identity, account: Account, *, max_bytes: int, max_events: int) -> None:
        self.identity = identity
        self.max_bytes = max_bytes
        self._max_events = max_events
        self._account = account
        self._seq = 0
        self._accounted_through = identity.started_at - 1

    @property
    def batches_cut(self) -> int:
        """The last batch's batch_seq."""
        return self._seq

    def cut(self, events: list[Event], now: int, *, closing: bool = False) -> list[StoredBatch]:
        """The batches that account for everything up to `now` (microseconds); at least one, the last one at `now`.

        Each batch covers a stretch of its own: sent_at of all but the last is the instant of its last event, so that
        none claims to account for a time whose events are in a later one.
        """
        events.sort(key=itemgetter(0))
        pieces = self._pieces(events)
        pieces.reverse()
        batches: list[StoredBatch] = []
        while pieces:
            piece = pieces.pop()
            last = not pieces
            made = self._make(piece, now if last else piece[-1].micros, now, closing and last)
            if isinstance(made, StoredBatch):
                batches.append(made)
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
        start = weight = 0
        for position, event in enumerate(events):
            cost = 1 if event.family is Family.ROUTE_ATTEMPT else HEAVY
            if weight + cost > self._max_events and position > start:
                pieces.append(events[start:position])
                start, weight = position, 0
            weight += cost
        return [*pieces, events[start:]]

    def _make(self, events: list[Event], sent_at: int, now: int, closing: bool) -> StoredBatch | DropCause:
        earliest = self._accounted_through + 1
        sent_at = max(min(sent_at, now), earliest)
        counts = Counter(event.family for event in events)
        held: dict[Family, int] = {family: count for family, count in counts.items() if family is not None}
        batch = lay_out(
            self.identity, self._seq + 1, events, earliest=earliest, sent_at=sent_at, closing=closing,
            accounts=self._account.on_the_wire(held),
        )  # fmt: skip
        try:
            data = encode("event_batch", batch)
        except Exception:
            # Whatever it is, no event may vanish: the halves are tried, until the one at fault is dropped and counted.
            if not events:
                raise
            return DropCause.INVALID_EVENT
        if len(data) > self.max_bytes and events:
            return DropCause.TOO_LARGE
        self._seq += 1
        self._accounted_through = sent_at
        self._account.cut(held)
        return StoredBatch(self.identity.emitter_id, self._seq, data, held, closing)

    def _drop(self, events: list[Event], cause: DropCause) -> None:
        for event in events:
            if event.family is not None:
                self._account.drop_uncut(event.family, cause)
