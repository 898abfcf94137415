"""One emitter's batches as runs of consecutive numbers: what is known of it, in memory bounded by its gaps.

A batch extends a run, joins two, or begins one of its own. Neighbours are compared when they meet; what lies between
runs is missing, and compared when somebody asks.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from unmask.consumers.verify.account import Book, Stretch, books_of, compare_books
from unmask.consumers.verify.identity import Disputed, Identity, disputed_stretch
from unmask.consumers.verify.rules import SKEW
from unmask.consumers.verify.strict import SOME_TELL, Batch
from unmask.schemas.scope import Scope

__all__ = ["Chain", "Placed"]

_ALWAYS = -1
_SIGNALS = 256


class Placed(NamedTuple):
    """Where a batch that is new stands in its emitter's time."""

    cut: int
    ahead: bool
    """Whether its clock was ahead by too much, so that the cut is the broker's time instead."""
    filled: bool
    """Whether later batches had come before it."""


@dataclass(slots=True)
class _Run:
    first: int
    last: int
    begin: Book
    """When the first batch began."""
    end: Book
    """When the last batch was cut."""


@dataclass(slots=True)
class Chain:
    """What the log holds of one emitter. Instants are microseconds."""

    emitter_id: str
    scope: Scope
    partition: int
    started: int
    heartbeat: int
    last_arrival: int
    """Broker's time of its newest record, duplicates included."""
    first_cut: int = 0
    """The cut of the batch that was read first."""
    closed: bool = False
    ahead: bool = False
    """Whether its clock was ever ahead by too much."""
    identity: Identity | None = None
    disputed: list[Disputed] = field(default_factory=list)
    """Of which it is not known whether it told, or somebody who claims to be it."""
    moved: dict[str, None] = field(default_factory=dict)
    """Signals that were seen to move in one of its delegations, the newest last."""
    told: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Families of which it says that it tells: the stretch, from cut to cut, at whose end it first did."""
    _runs: list[_Run] = field(default_factory=list)
    _lossy: list[Stretch] = field(default_factory=list)

    @classmethod
    def begun_by(cls, batch: Batch, partition: int, arrival: int) -> "Chain":
        """The chain of an emitter of which this is the first batch that is read."""
        said = batch["emitter"]
        started = min(said["started_at"], arrival if batch["sent_at"] > arrival + SKEW else batch["sent_at"])
        chain = cls(
            said["emitter_id"], Scope(**said["scope"]), partition, started, said["heartbeat_ms"] * 1000, arrival
        )  # fmt: skip
        chain.identity = Identity.of(batch)
        # Batch 0 stands for the start, at which nothing had been recorded.
        nothing = Book(started)
        chain._runs.append(_Run(0, 0, nothing, nothing))
        return chain

    @property
    def last_cut(self) -> int:
        """Up to when it has accounted."""
        return self._runs[-1].end.cut

    def add(self, batch: Batch, arrival: int) -> Placed | None:
        """Takes a batch in; None where it was known."""
        self.last_arrival = max(self.last_arrival, arrival)
        seq = batch["batch_seq"]
        at = bisect_right(self._runs, seq, key=lambda run: run.first)
        left = self._runs[at - 1]
        if seq <= left.last:
            return None
        right = self._runs[at] if at < len(self._runs) else None
        placed = _place(batch["sent_at"], arrival, left.end, None if right is None else right.begin)
        if len(self._runs) == 1:
            self.first_cut = placed.cut
        if right is None:
            self.heartbeat = batch["emitter"]["heartbeat_ms"] * 1000
            for family in batch["witnesses"]:
                if family in SOME_TELL:
                    self.told.setdefault(family, (left.end.cut, placed.cut))
        run = _Run(seq, seq, *books_of(batch, placed.cut, ahead=placed.ahead))
        self._runs.insert(at, run)
        if right is not None and right.first == seq + 1:
            self._join(at, run, right)
        if left.last == seq - 1:
            self._join(at - 1, left, run)
        self.closed = self.closed or batch["closing"]
        self.ahead = self.ahead or placed.ahead
        return placed

    def disputes(self, batch: Batch, value: bytes) -> bool:
        """Whether the batch is of another life, or of a number that was read with other content."""
        identity, seq = self.identity, batch["batch_seq"]
        if identity is None:
            return False
        return identity.is_another_life(batch) or (self._knows(seq) and identity.had_other_content(seq, value))

    def refuse(self, batch: Batch, arrival: int) -> None:
        """Takes note of a batch that is not its own."""
        self.disputed.append(disputed_stretch(batch, arrival, self.last_cut, self.scope))

    def learn(self, signals: Iterable[str]) -> None:
        """These signals were seen to move; of too many the oldest are forgotten, as in the stream."""
        for signal in signals:
            self.moved.setdefault(signal)
        while len(self.moved) > _SIGNALS:
            del self.moved[next(iter(self.moved))]

    def _knows(self, seq: int) -> bool:
        at = bisect_right(self._runs, seq, key=lambda run: run.first)
        return seq <= self._runs[at - 1].last

    def _join(self, at: int, left: _Run, right: _Run) -> None:
        stretch = compare_books(left.last, left.end, right.first, right.begin)
        if stretch is not None:
            self._lossy.append(stretch)
        left.last, left.end = right.last, right.end
        del self._runs[at + 1]

    def lossy(self, sure_from: int = _ALWAYS) -> list[Stretch]:
        """All stretches in which something is lost, as far as is known now.

        What seems to be missing from a gap that begins at or before `sure_from` may have stood in the part of the log
        that was deleted; it is not lossy but `unsure`.
        """
        return [*self._lossy, *(stretch for stretch in self._gaps() if stretch.cut_after > sure_from)]

    def unsure(self, sure_from: int) -> list[Stretch]:
        """Stretches of which the log no longer tells whether anything is lost in them."""
        return [stretch for stretch in self._gaps() if stretch.cut_after <= sure_from]

    def _gaps(self) -> Iterator[Stretch]:
        for left, right in zip(self._runs, self._runs[1:], strict=False):
            stretch = compare_books(left.last, left.end, right.first, right.begin)
            if stretch is not None:
                yield stretch


def _place(sent: int, arrival: int, left: Book, right: Book | None) -> Placed:
    """A cut never lies before that of the batch before it, nor behind that of the batch after it.

    The newest batch of an emitter whose clock is ahead accounts for no time that has not come.
    """
    if right is None:
        ahead = sent > arrival + SKEW
        return Placed(max(left.cut, arrival if ahead else sent), ahead, filled=False)
    ahead = right.ahead and sent > right.cut
    return Placed(min(max(sent, left.cut), right.cut), ahead, filled=True)
