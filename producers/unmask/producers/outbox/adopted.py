"""The life of an emitter whose process is dead, taken to its end: what is left goes out under its old name, then the
last account.

The account is the dead emitter's own, as it stood, with what its end cost: events that its record calls had counted and
that neither came into a batch nor were dropped by then died with the host. They were recorded after the last cut and
before the host's last sign of life, and that is the stretch that the closing batch accounts for.
"""

from collections.abc import Mapping

from unmask.producers.account import Account, Totals
from unmask.producers.batcher import Batcher, Encode
from unmask.producers.custody import Clock, Custody
from unmask.producers.outbox.page import PageReading
from unmask.producers.outbox.standing import Standing
from unmask.producers.report import FAMILIES
from unmask.producers.store import MemoryStore
from unmask.producers.wire import Identity
from unmask.schemas.codes import DropCause, Family
from unmask.schemas.scope import Scope

__all__ = ["AdoptedLife", "died_with_the_host", "last_sign"]

_SLACK_US = 1_000_000
"""A record call may be interrupted between noting the time and counting; nothing that was lost is later than this."""
_NOBODY = Scope("-", "-", "-", "-", "-")
_MAX_BYTES, _MAX_EVENTS = 1_000_000, 1


def died_with_the_host(reading: PageReading, totals: Totals) -> Mapping[Family, int] | None:
    """Events that were recorded and never came to anything; None where the page cannot prove how many.

    The machine may have gone down since the page was written, or the page may know less than the account: then how much
    was recorded is unknown, and nobody may say that it is accounted for.
    """
    if not reading.same_boot:
        return None
    lost: dict[Family, int] = {}
    for family in FAMILIES:
        dropped = sum(count for (of, _), count in totals.uncut.items() if of is family)
        lost[family] = reading.recorded.get(family, 0) - totals.cut.get(family, 0) - dropped
    return None if any(count < 0 for count in lost.values()) else lost


def last_sign(reading: PageReading, standing: Standing, *, lost: bool) -> int:
    """No event is later than this, in microseconds; without a lost one, when the host was last seen alive."""
    return max(reading.newest, standing.alive) + (_SLACK_US if lost else 0)


class AdoptedLife(Custody):
    """A dead emitter's batches and account. Its store is set by whoever opens its folder."""

    def __init__(
        self, emitter_id: str, reading: PageReading | None, standing: Standing, clock: Clock, encode: Encode
    ) -> None:
        account = Account.resumed(standing.totals)
        identity = Identity(emitter_id, 0, _NOBODY, 1, "-") if reading is None else reading.identity
        batcher = Batcher(
            identity, account, encode=encode, max_bytes=_MAX_BYTES, max_events=_MAX_EVENTS, seq=standing.last_seq,
            accounted_through=standing.last_cut if standing.last_seq else None, told=standing.told,
        )  # fmt: skip
        super().__init__(account, batcher, clock, MemoryStore())
        self.partition = standing.partition
        self.closing_delivered = standing.closing_delivered
        self._standing = standing
        self._last_sign = 0
        self._proven = self._final_cut = False
        lost = None if reading is None else died_with_the_host(reading, standing.totals)
        if reading is not None and lost is not None:
            for family, count in lost.items():
                account.drop_uncut(family, DropCause.HOST_DIED, count)
            told = any(account.dropped(family).get(DropCause.HOST_DIED) for family in FAMILIES)
            self._last_sign = last_sign(reading, standing, lost=told)
            # An emitter that never cut a batch nor recorded anything is known to nobody, and need not be.
            self._proven = bool(standing.last_seq or any(reading.recorded.values()))

    @property
    def alive(self) -> int:
        """When its host was last known to be alive."""
        return self._standing.alive

    @property
    def over(self) -> bool:
        """Whether nothing is left to be told of it once its batches are delivered.

        It has closed and told of every batch that was given up; or it cannot, since its account proves nothing.
        """
        return self._final_cut or not self._proven or super().over

    def cut_final(self) -> None:
        """Cut the closing batch with the last account, once what became of all others is known."""
        with self.lock:
            for batch in self._batcher.cut([], min(self._last_sign, self.now()), closing=True):
                self._store.put(batch)
            self._final_cut = True
