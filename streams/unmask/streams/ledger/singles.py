"""Singles: batches that hold one attempt and nothing else, read many at a time.

A host that is asked seldom sends such a batch for each request, and then they are all that comes. Reading one of them
costs a dozen calls; reading all that one poll brought costs a dozen calls for all of them. What is read here is what
QuickReader reads, no more: whatever looks otherwise is left out, and read one by one.
"""

import re
from collections.abc import Sequence
from typing import Any
from zlib import crc32

from unmask.schemas.bounds import LAST_INSTANT, MOST
from unmask.streams.ledger.quick_read import DOUBLE, SINGLE, QuickReader, Unusual, column, number

__all__ = ["Single", "SingleReader"]

Single = tuple[dict[str, Any], int, int, int, tuple[str, str], int, int]
"""Its emitter, batch_seq, sent_at, attempts recorded so far, capability and entry point, occurred_at, and digest."""

_ALL = re.compile(b"(" + SINGLE.pattern + b")", re.DOTALL)
_LONGEST = 200
_FEWEST = 8
"""Of fewer, each is read by itself as quickly."""
_PAUSE = 50
"""So many polls are not looked at after one that held anything else."""
_REMEMBERED = 100_000


class SingleReader:
    """Reads the singles among the records of one poll, of emitters and labels that the quick reader knows."""

    def __init__(self, quick: QuickReader) -> None:
        self._quick = quick
        self._numbers: dict[bytes, int] = {}
        """Emitters that began together count alike, so that the same few numbers come again and again."""
        self._pause = 0

    def read(self, keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> Sequence[Single | None]:
        """One entry for each record; None for those that are to be read one by one."""
        nothing: list[Single | None] = [None] * len(values)
        if self._pause or len(values) < _FEWEST:
            self._pause = max(0, self._pause - 1)
            return nothing
        known, larger = self._quick.known, 0
        places: list[int] = []
        emitters: list[dict[str, Any]] = []
        begun: list[int] = []
        rests: list[bytes] = []
        for place, (key, value) in enumerate(zip(keys, values, strict=True)):
            met = known(key)
            if met is None or value is None or not value.startswith(met[0]):
                continue
            begin = len(met[0])
            if len(value) - begin <= _LONGEST:
                places.append(place)
                emitters.append(met[1])
                begun.append(met[2])
                rests.append(value[begin:])
            else:
                larger += 1
        if len(rests) < _FEWEST:
            # Known emitters send larger ones. Those that are not known yet tell nothing.
            self._pause = _PAUSE if larger >= _FEWEST else 0
            return nothing
        try:
            self._fill(nothing, places, emitters, begun, rests)
        except Unusual:
            self._pause = _PAUSE
        return nothing

    def _fill(
        self, singles: list[Single | None], places: list[int], emitters: list[dict[str, Any]], begun: list[int],
        rests: list[bytes],
    ) -> None:  # fmt: skip
        """Puts what the rests say into their places. Raises Unusual where any of them is no single at all.

        `begun` are the digests of what stands before them.
        """
        found = _ALL.findall(b"".join(rests))
        if len(found) != len(rests):
            raise Unusual
        whole, seqs, sents, closings, counts, labels, ats, lengths, runs = zip(*found, strict=True)
        # A match that is not exactly one record's rest was found across the border of two.
        if list(whole) != rests:
            raise Unusual
        instants = column(b"".join((*sents, *ats)))
        if int(instants.max()) > LAST_INSTANT:
            raise Unusual
        times = instants.tolist()
        pairs = map(self._quick.labels.get, labels)
        rows = zip(
            places, emitters, seqs, times, closings, counts, pairs, times[len(rests) :], lengths, runs,
            map(crc32, rests, begun), strict=False,
        )  # fmt: skip
        numbers = self._numbers
        if len(numbers) > _REMEMBERED:
            numbers.clear()
        for place, emitter, seq, sent_at, closing, count, pair, occurred_at, length, run, digest in rows:
            if pair is None or closing != b"\0" or (length and length != DOUBLE[len(run)]):
                continue
            batch_seq, recorded = numbers.get(seq), numbers.get(count)
            if batch_seq is None or recorded is None:
                batch_seq, recorded = numbers[seq], numbers[count] = number(seq), number(count)
            if 1 <= batch_seq <= MOST and recorded <= MOST:
                singles[place] = (emitter, batch_seq, sent_at, recorded, pair, occurred_at, digest)
