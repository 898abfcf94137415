"""Emitters as values, from what the ledger keeps of them: what each recorded, dropped, and sent in vain."""

from functools import lru_cache

from unmask.schemas.codes import FlawCause
from unmask.schemas.instants import from_micros
from unmask.streams.ledger.accounting import losses_between
from unmask.streams.ledger.pieces import restore
from unmask.streams.ledger.state import Emitter
from unmask.streams.web.page.memory import Memory
from unmask.streams.web.page.values import EmitterLine, EmitterState

__all__ = ["emitter_lines"]

_ORDER = {state: place for place, state in enumerate(EmitterState)}


def emitter_lines(memory: Memory) -> list[EmitterLine]:
    """Those with losses first, then by state, then those heard last. Raises LedgerStateUnreadable."""
    lines = [_made(name, raw) for name, raw in memory.emitters.items()]
    return sorted(lines, key=lambda line: (not _lost(line), _ORDER[line.state], -line.last_heard_at.timestamp()))


@lru_cache(maxsize=4096)
def _made(name: str, raw: bytes) -> EmitterLine:
    """The line of a piece, under its source partition and key; of most of them nothing new has come."""
    partition, _, key = name.partition("|")
    state, _ = restore(int(partition), {key.encode(): raw})
    ((emitter_id, emitter),) = state.emitters.items()
    return _line(state.partition, emitter_id, emitter)


def _lost(line: EmitterLine) -> bool:
    return bool(line.missing or line.dropped or line.gaps) or line.state is EmitterState.SILENT


def _line(partition: int, emitter_id: str, emitter: Emitter) -> EmitterLine:
    recorded = {
        family: emitter.shipped.get(family, 0) + sum(emitter.dropped.get(family, {}).values())
        for family in sorted({*emitter.shipped, *emitter.dropped})
    }
    dropped: dict[str, int] = {}
    for causes in emitter.dropped.values():
        for cause, count in causes.items():
            dropped[cause] = dropped.get(cause, 0) + count
    missing = sum(
        loss["missing"]
        for gap in emitter.gaps
        for loss in losses_between(gap.shipped_after, gap.dropped_after, gap.shipped_before, gap.dropped_before)
    )
    return EmitterLine(
        emitter_id=emitter_id,
        partition=partition,
        release_line=emitter.scope.release_line,
        composition=emitter.scope.composition,
        state=_state(emitter),
        started_at=from_micros(emitter.started_at),
        last_heard_at=from_micros(emitter.last_arrival),
        batches=emitter.last_seq,
        recorded=recorded,
        dropped=dropped,
        missing=missing,
        gaps=len(emitter.gaps),
    )


def _state(emitter: Emitter) -> EmitterState:
    if emitter.unaccounted == FlawCause.SILENT.value:
        return EmitterState.SILENT
    if emitter.unaccounted is not None:
        return EmitterState.BEHIND
    return EmitterState.CLOSED if emitter.closed else EmitterState.LIVE
