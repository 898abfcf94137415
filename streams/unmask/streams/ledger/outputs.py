"""Outputs: what one transaction publishes of a partition's state, as (topic, partition, key, value) records.

The order matters and is part of the contract. Flaws come first, then counts, then the flaws that these counts heal,
and marks last: whoever has read a mark has read everything below it, and nobody ever sees a window healed before he
sees what healed it, not even a reader of uncommitted records.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from unmask.schemas.codes import Evidence, Measure
from unmask.schemas.framing import Framing, SingleObjectFraming
from unmask.schemas.keys import flaw_key, mark_key, session_key, tally_key, upstream_route, window_route
from unmask.schemas.partitioner import partition_for
from unmask.schemas.scope import Scope
from unmask.schemas.topics import Topics
from unmask.streams.ledger.advance import scope_marks
from unmask.streams.ledger.flaws import flaw_records
from unmask.streams.ledger.holding import held_back
from unmask.streams.ledger.pieces import (
    beyond_piece,
    cell_piece,
    delegation_piece,
    emitter_piece,
    head_piece,
    session_piece,
    work_piece,
)
from unmask.streams.ledger.quick_tally import QuickTally
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.session_evidence import is_lossy
from unmask.streams.ledger.session_work import SessionWork
from unmask.streams.ledger.state import (
    Beyond,
    Cell,
    CellId,
    Correction,
    FlawRecord,
    Marked,
    PartitionState,
    Session,
    Touched,
)
from unmask.streams.ledger.work_record import tally_fields

__all__ = ["Outputs", "Record"]

_UPSTREAM = Measure.UPSTREAM.value
_URGENT = frozenset((Measure.KERNEL_FALLBACK.value, Measure.MASKED_ERROR.value, _UPSTREAM))
_MAX_UNACCOUNTED = 200  # in every mark, every second, for every table partition; the newest tell the most


class Record(NamedTuple):
    """One record to produce. `value` None is a tombstone."""

    topic: str
    partition: int
    key: bytes
    value: bytes | None


class Outputs:
    """Makes a partition's records. Holds nothing but a cache of routes."""

    def __init__(self, topics: Topics, rules: FoldRules, writer: str, framing: Framing | None = None) -> None:
        framing = framing or SingleObjectFraming()
        self._encode = framing.encode
        self._quick = QuickTally() if isinstance(framing, SingleObjectFraming) else None
        self._topics = topics
        self._rules = rules
        self._writer = writer
        self._tables = topics.table_partitions
        self._routes: dict[tuple[int, int], int] = {}

    def records(self, state: PartitionState, touched: Touched, *, mark: bool) -> Iterator[Record]:
        """Everything that a transaction must hold for this partition; with `mark`, also all snapshots that are due."""
        flaws = _last_of_each(flaw_records(touched, self._rules))
        healed = [flaw for flaw in flaws if flaw.losses is None]
        held = held_back(state, touched, self._rules)
        if held:
            yield from self._marks(state, state.marked_offset, state.marked_through, held)
        yield from self._flaws(state, [flaw for flaw in flaws if flaw.losses is not None])
        yield from self._snapshots(state, touched, everything=mark or bool(healed) or bool(held))
        yield from self._flaws(state, healed)
        yield from self._sessions(state, touched)
        yield from self._logs(state, touched)
        if mark:
            yield from self._marks(state, state.next_offset, state.read_through, scope_marks(state))
        yield from self._pieces(state, touched)

    def _window_partition(self, start: int, seconds: int) -> int:
        route = self._routes.get((start, seconds))
        if route is None:
            if len(self._routes) > 100_000:
                self._routes.clear()
            route = self._routes[start, seconds] = partition_for(window_route(start, seconds), self._tables)
        return route

    def _flaws(self, state: PartitionState, flaws: list[FlawRecord]) -> Iterator[Record]:
        for flaw in flaws:
            key = flaw_key(
                state.partition, flaw.start, flaw.seconds, flaw.scope, flaw.emitter_id, flaw.from_seq, flaw.to_seq,
                flaw.cause,
            )  # fmt: skip
            value = None if flaw.losses is None else self._encode("evidence_flaw", _flaw(state, flaw))
            route = self._window_partition(flaw.start, flaw.seconds)
            yield Record(self._topics.tallies.name, route, key.encode(), value)

    def _snapshots(self, state: PartitionState, touched: Touched, *, everything: bool) -> Iterator[Record]:
        for (cell_id, correction), n in touched.corrections.items():
            yield self._tally(state, cell_id, Cell(n), correction)
        due = state.unpublished if everything else {key for key in touched.cells if key[3] in _URGENT}
        for cell_id in due:
            cell = state.cells[cell_id]
            yield self._tally(state, cell_id, cell, None)
            cell.published = cell.count
            # The piece says what was published, so that it goes out again with it.
            touched.cells.add(cell_id)
        if everything:
            state.unpublished.clear()
        else:
            state.unpublished -= due

    def _tally(self, state: PartitionState, cell_id: CellId, cell: Cell, correction: Correction | None) -> Record:
        start, seconds, scope, measure, capability, code = cell_id
        if self._quick is not None and correction is None and measure != _UPSTREAM:
            record = self._quick.encode(state.partition, state.next_offset, cell_id, cell.count)
            return Record(self._topics.tallies.name, self._window_partition(start, seconds), *record)
        key = tally_key(state.partition, start, seconds, scope, measure, capability, code, correction)
        if measure == _UPSTREAM:
            route = partition_for(upstream_route(capability), self._tables)
        else:
            route = self._window_partition(start, seconds)
        value = {
            "partition": state.partition,
            "offset": state.next_offset,
            "window_start": start,
            "window_seconds": seconds,
            "scope": scope._asdict(),
            "measure": measure,
            "capability": capability,
            "code": code,
            "count": cell.count,
            "sessions": cell.sessions,
            "correction": None if correction is None else {"emitter_id": correction[0], "batch_seq": correction[1]},
        }
        return Record(self._topics.tallies.name, route, key.encode(), self._encode("tally", value))

    def _sessions(self, state: PartitionState, touched: Touched) -> Iterator[Record]:
        for session_id in touched.removed_sessions:
            yield self._session_record(state, session_id, None)
        for session_id in touched.sessions:
            value = self._encode("session_tally", _session(state, session_id, state.sessions[session_id]))
            yield self._session_record(state, session_id, value)

    def _session_record(self, state: PartitionState, session_id: str, value: bytes | None) -> Record:
        key = session_key(session_id, state.partition).encode()
        return Record(self._topics.sessions.name, partition_for(session_id, self._tables), key, value)

    def _logs(self, state: PartitionState, touched: Touched) -> Iterator[Record]:
        for fallback in touched.fallbacks:
            key = fallback["emitter_id"].encode()
            yield Record(self._topics.fallbacks.name, state.partition, key, self._encode("fallback", fallback))
        for entry in touched.quarantined:
            key = f"{entry['topic']}|{entry['partition']}|{entry['offset']}".encode()
            yield Record(self._topics.quarantine.name, 0, key, self._encode("quarantine", entry))

    def _marks(
        self, state: PartitionState, offset: int, read_through: int, scopes: dict[Scope, Marked]
    ) -> Iterator[Record]:
        state.marked_offset, state.marked_through, state.marked = offset, read_through, scopes
        owing = sorted(
            ((name, emitter) for name in state.live if (emitter := state.emitters[name]).unaccounted is not None),
            key=lambda item: (-item[1].unaccounted_from, item[0]),
        )
        value = self._encode(
            "evidence_mark",
            {
                "partition": state.partition,
                "partitions": self._topics.events_partitions,
                "offset": offset,
                "read_through": read_through,
                "grace_ms": self._rules.grace_us // 1000,
                "scopes": [
                    {"scope": scope._asdict(), "accounted_through": through, "emitters": n}
                    for scope, (through, n) in sorted(scopes.items())
                ],
                "unaccounted": [
                    {
                        "emitter_id": name,
                        "scope": e.scope._asdict(),
                        "cause": e.unaccounted,
                        "since": e.unaccounted_from,
                    }
                    for name, e in owing[:_MAX_UNACCOUNTED]
                ],
                "unaccounted_total": len(owing),
            },
        )
        key = mark_key(state.partition).encode()
        for table in range(self._tables):
            yield Record(self._topics.tallies.name, table, key, value)

    def _pieces(self, state: PartitionState, touched: Touched) -> Iterator[Record]:
        ledger, partition = self._topics.ledger.name, state.partition
        # The head goes first: whoever finds the transaction unfinished learns from it whose it is.
        yield Record(ledger, partition, *head_piece(state, self._writer))
        # What was forgotten and came back at once is there: removals before the rest.
        for cell_id in touched.removed_cells:
            yield Record(ledger, partition, *cell_piece(cell_id, None))
        for emitter_id in touched.removed_emitters:
            yield Record(ledger, partition, *emitter_piece(emitter_id, None))
        for session_id in touched.removed_sessions:
            yield Record(ledger, partition, *session_piece(session_id, None))
        for emitter_id in touched.removed_beyond:
            yield Record(ledger, partition, *beyond_piece(emitter_id, None))
        for session_id, delegations in touched.removed_work:
            yield Record(ledger, partition, *work_piece(session_id, None))
            for delegation_id in delegations:
                yield Record(ledger, partition, *delegation_piece(session_id, delegation_id, None))
        for cell_id in touched.cells:
            yield Record(ledger, partition, *cell_piece(cell_id, state.cells[cell_id]))
        for emitter_id in touched.emitters:
            emitter = state.emitters[emitter_id]
            yield Record(ledger, partition, *emitter_piece(emitter_id, emitter))
            if emitter.unaccounted is not None:
                # Its own piece has no room for the digests then.
                emitter.beyond = emitter.beyond or Beyond()
                emitter.beyond.changed = True
            if emitter.beyond is not None and emitter.beyond.changed:
                yield Record(ledger, partition, *beyond_piece(emitter_id, emitter))
                emitter.beyond.changed = False
        for session_id in touched.sessions:
            session = state.sessions[session_id]
            yield Record(ledger, partition, *session_piece(session_id, session))
            if session.work is not None:
                yield from self._work_pieces(partition, session_id, session.work)

    def _work_pieces(self, partition: int, session_id: str, work: SessionWork) -> Iterator[Record]:
        ledger = self._topics.ledger.name
        if work.changed:
            yield Record(ledger, partition, *work_piece(session_id, work))
            work.changed = False
        for delegation_id in sorted(work.changed_delegations):
            yield Record(ledger, partition, *delegation_piece(session_id, delegation_id, work))
        work.changed_delegations.clear()


def _last_of_each(flaws: Iterable[FlawRecord]) -> list[FlawRecord]:
    """The newest word on each flaw."""
    last: dict[tuple[Any, ...], FlawRecord] = {}
    for flaw in flaws:
        last[
            (flaw.start, flaw.seconds, flaw.scope, flaw.emitter_id, flaw.from_seq, flaw.to_seq, flaw.cause)
        ] = flaw  # fmt: skip
    return list(last.values())


def _flaw(state: PartitionState, flaw: FlawRecord) -> dict[str, Any]:
    return {
        "partition": state.partition,
        "offset": state.next_offset,
        "window_start": flaw.start,
        "window_seconds": flaw.seconds,
        "scope": None if flaw.scope is None else flaw.scope._asdict(),
        "emitter_id": flaw.emitter_id,
        "from_seq": flaw.from_seq,
        "to_seq": flaw.to_seq,
        "cause": flaw.cause,
        "losses": flaw.losses,
    }


def _session(state: PartitionState, session_id: str, session: Session) -> dict[str, Any]:
    proven = {operation for operation, equal in session.proven.items() if equal}
    unnamed = session.degraded_further + session.anonymous_fallbacks
    return {
        "session_id": session_id,
        "partition": state.partition,
        "offset": state.next_offset,
        "scope": session.scope._asdict(),
        "emitters": session.emitters,
        "opened_at": session.opened_at,
        "last_seen_at": session.last_seen_at,
        "predecessor_session_id": session.predecessor,
        "fallbacks": session.fallbacks,
        "masked_errors": session.masked_errors,
        "degraded_operations": sorted(session.degraded),
        "degraded_operations_total": len(session.degraded) + unnamed,
        "masked": session.masked,
        "unreachable": session.unreachable,
        "exhausted": session.exhausted,
        # A degraded operation of which nobody proved that its answer was the primary's is not equivalent.
        "not_equivalent": len(session.degraded - proven) + unnamed,
        "shape_drifts": session.shape_drifts,
        "teardowns": session.teardowns,
        "evidence": (Evidence.LOSSY if is_lossy(state, session) else Evidence.COMPLETE).value,
        "abandoned_at": session.abandoned_at,
        **({} if session.work is None else tally_fields(session.work)),
    }
