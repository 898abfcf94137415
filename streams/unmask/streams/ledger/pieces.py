"""The state as pieces: one record of unmask.ledger per emitter, cell and session, and a head.

Keys are `h`, `e|emitter`, `c|...` and `s|session`. Values are JSON of the ledger's own; a value of None removes.
The head says how far the pieces go. All pieces of one transaction become visible together or not at all.

Workers pass over pieces whose keys they do not know, and read nothing in the others but what they know. So a piece
stays as it was first written, and what came later stands in pieces of its own, where there is any of it: `E|emitter`,
`S|session`, `D|session|delegation`, and `C|...` for cells of measures that the first contract had no word for. An older
worker can then take a partition back from a newer one, and the newer one finds again what it had known. What speaks of
an emitter or a session that the older one forgot is removed then.
"""

from dataclasses import dataclass, fields
from typing import Any

import orjson

from unmask.schemas.codes import Measure
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS
from unmask.streams.ledger.counting import add_cell
from unmask.streams.ledger.identity import forget_skipped
from unmask.streams.ledger.session_work import SessionWork
from unmask.streams.ledger.state import RECENT, Beyond, Cell, CellId, Emitter, Gap, PartitionState, Session
from unmask.streams.ledger.work_record import delegation_json, read_delegation, read_work, work_json

__all__ = [
    "HEAD",
    "Head",
    "LedgerStateUnreadable",
    "beyond_piece",
    "cell_piece",
    "delegation_piece",
    "emitter_piece",
    "head_piece",
    "read_head",
    "restore",
    "session_piece",
    "work_piece",
]

HEAD = b"h"
_VERSION = 1
_LATER_MEASURES = frozenset(
    measure.value
    for measure in (
        Measure.ROUTE_SELECTION, Measure.DELEGATION_PROGRESS, Measure.DELEGATION_EFFECT, Measure.WITNESSES
    )
)  # fmt: skip


class LedgerStateUnreadable(Exception):
    """A piece of the ledger's state cannot be read by this version. Start a worker at least as new as the last one."""


@dataclass(frozen=True, slots=True)
class Head:
    """How far the state goes, and who wrote it."""

    next_offset: int
    read_through: int
    newest: int
    previous: int
    evicted_through: int
    quarantine_run: int
    log_id: str
    marked_offset: int
    marked_through: int
    marked: list[list[Any]]
    """Scope, accounted through, live emitters."""
    writer: str
    """Transactional id."""


_FROM_STATE = [field.name for field in fields(Head) if field.name not in ("marked", "writer")]


def head_piece(state: PartitionState, writer: str) -> tuple[bytes, bytes]:
    """The head of a state."""
    head = {name: getattr(state, name) for name in _FROM_STATE}
    marked = [[list(scope), *mark] for scope, mark in state.marked.items()]
    return HEAD, orjson.dumps({"v": _VERSION, **head, "marked": marked, "writer": writer})


def read_head(raw: bytes) -> Head:
    """The head in a piece. Raises LedgerStateUnreadable."""
    try:
        value = orjson.loads(raw)
        version = value.pop("v")
        if version == _VERSION:
            return Head(**value)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LedgerStateUnreadable(f"the head of the ledger's state cannot be read: {error}") from error
    raise LedgerStateUnreadable(
        f"the ledger's state is of version {version}, this worker reads {_VERSION}: start a worker at least as new as "
        "the last one"
    )


_NOTHING_RECENT: list[int | None] = [None] * RECENT
_BEYOND = tuple(name for name in Beyond.__slots__ if name != "changed")


def emitter_piece(emitter_id: str, emitter: Emitter | None) -> tuple[bytes, bytes | None]:
    """An emitter's piece; None removes it."""
    key = b"e|" + emitter_id.encode()
    if emitter is None:
        return key, None
    until: Any = emitter.unaccounted_until
    if emitter.unaccounted is None and emitter.recent != _NOTHING_RECENT:
        # They change with every batch, so that a piece of their own would be as many records again. Nobody, and no
        # older worker, looks at the end of a stretch that there is not.
        until = _recent(emitter)
    value = [
        list(emitter.scope),
        emitter.started_at,
        emitter.heartbeat_us,
        emitter.last_seq,
        emitter.last_cut,
        emitter.last_arrival,
        emitter.shipped,
        emitter.dropped,
        [[getattr(gap, name) for name in Gap.__slots__] for gap in emitter.gaps],
        emitter.closed,
        emitter.unaccounted,
        emitter.unaccounted_from,
        until,
        emitter.flaws,
    ]
    return key, orjson.dumps(value)


def _emitter(value: list[Any]) -> Emitter:
    scope, *plain = value
    emitter = Emitter(Scope(*scope), *plain)
    emitter.gaps = [Gap(*gap) for gap in emitter.gaps]  # type: ignore[misc]
    recent: Any = emitter.unaccounted_until
    if isinstance(recent, list):
        emitter.unaccounted_until = 0
        _recall(emitter, recent)
    return emitter


def _recent(emitter: Emitter) -> list[int | None]:
    return [emitter.last_seq, *emitter.recent]


def _recall(emitter: Emitter, recent: list[Any]) -> None:
    """Digests as of the batch with which they were written; an older worker may have read further ones since."""
    through, *emitter.recent = recent
    forget_skipped(emitter, through, emitter.last_seq + 1)


def beyond_piece(emitter_id: str, emitter: Emitter | None) -> tuple[bytes, bytes | None]:
    """What an emitter has that its own piece has no place for; None removes it."""
    key = b"E|" + emitter_id.encode()
    if emitter is None or emitter.beyond is None:
        return key, None
    said = ((name, getattr(emitter.beyond, name)) for name in _BEYOND)
    value = {name: list(own) if name == "moved" else own for name, own in said if own}
    if emitter.unaccounted is not None and emitter.recent != _NOTHING_RECENT:
        value["recent"] = _recent(emitter)
    return key, orjson.dumps(value)


def _go_beyond(emitter: Emitter, value: dict[str, Any]) -> None:
    recent = value.pop("recent", None)
    if recent is not None and emitter.recent == _NOTHING_RECENT:
        _recall(emitter, recent)
    emitter.beyond = Beyond(**(value | {"moved": dict.fromkeys(value.get("moved", ()))}))


def cell_piece(key: CellId, cell: Cell | None) -> tuple[bytes, bytes | None]:
    """A cell's piece; None removes it. Says which count was published last, so that a new owner publishes the rest."""
    start, seconds, scope, measure, capability, code = key
    # An older worker would publish such a cell again some day, and has no word for it.
    kind = "C" if measure in _LATER_MEASURES else "c"
    name = f"{kind}|{seconds}|{start // MICROS}|{'|'.join(scope)}|{measure}|{capability}|{code}".encode()
    if cell is None:
        return name, None
    if cell.sessions:
        return name, orjson.dumps([cell.count, cell.published, cell.sessions])
    return name, b"[%d,%d]" % (cell.count, cell.published)


_SESSION = tuple(name for name in Session.__slots__ if name != "work")
_SETS = ("open_on", "degraded", "further")


def session_piece(session_id: str, session: Session | None) -> tuple[bytes, bytes | None]:
    """A session's piece; None removes it."""
    key = b"s|" + session_id.encode()
    if session is None:
        return key, None
    value = {name: getattr(session, name) for name in _SESSION}
    value["scope"] = list(session.scope)
    for name in _SETS:
        value[name] = sorted(value[name])
    return key, orjson.dumps(value)


def _session(value: dict[str, Any]) -> Session:
    value["scope"] = Scope(*value["scope"])
    for name in _SETS:
        value[name] = set(value[name])
    return Session(**value)


def work_piece(session_id: str, work: SessionWork | None) -> tuple[bytes, bytes | None]:
    """What was chosen in a session, and who told of its work; None removes it."""
    return b"S|" + session_id.encode(), None if work is None else work_json(work)


def delegation_piece(session_id: str, delegation_id: str, work: SessionWork | None) -> tuple[bytes, bytes | None]:
    """A delegation of a session's work; None removes it."""
    key = f"D|{session_id}|{delegation_id}".encode()
    return key, None if work is None else delegation_json(work.delegations[delegation_id])


def restore(partition: int, pieces: dict[bytes, bytes]) -> tuple[PartitionState, Head | None]:
    """The state that the newest piece of every key makes; a state at offset 0 and no head where there is none.

    Raises LedgerStateUnreadable.
    """
    state = PartitionState(partition)
    raw = pieces.get(HEAD)
    head = None if raw is None else read_head(raw)
    try:
        _restore_cells(state, pieces)
        for name, raw in pieces.items():
            if name.startswith(b"e|"):
                state.emitters[name[2:].decode()] = _emitter(orjson.loads(raw))
            elif name.startswith(b"s|"):
                state.sessions[name[2:].decode()] = _session(orjson.loads(raw))
        _restore_further(state, pieces)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise LedgerStateUnreadable(f"a piece of partition {partition}'s state cannot be read: {error}") from error
    _index(state)
    if head is not None:
        for field_name in _FROM_STATE:
            setattr(state, field_name, getattr(head, field_name))
        state.marked = {Scope(*scope): (through, n) for scope, through, n in head.marked}
    return state, head


def _restore_cells(state: PartitionState, pieces: dict[bytes, bytes]) -> None:
    scopes: dict[Scope, Scope] = {}
    for name, raw in pieces.items():
        if not name.startswith((b"c|", b"C|")):
            continue
        parts = name.decode().split("|")
        scope = Scope(*parts[3:8])
        # Equal scopes are one object, as in a state that was folded: there are many cells.
        key: CellId = (
            int(parts[2]) * MICROS, int(parts[1]), scopes.setdefault(scope, scope), parts[8], parts[9], parts[10],
        )  # fmt: skip
        cell = add_cell(state, key, Cell(*orjson.loads(raw)))
        if cell.count != cell.published:
            state.unpublished.add(key)


def _restore_further(state: PartitionState, pieces: dict[bytes, bytes]) -> None:
    """What is beyond the pieces that all workers know."""
    gone: dict[str, list[str]] = {}
    works: dict[str, SessionWork] = {}
    for name, raw in pieces.items():
        if name.startswith(b"E|"):
            emitter = state.emitters.get(emitter_id := name[2:].decode())
            if emitter is None:
                state.touched.removed_beyond.append(emitter_id)
            else:
                _go_beyond(emitter, orjson.loads(raw))
        elif name.startswith(b"S|"):
            works[name[2:].decode()] = read_work(raw)
    for name, raw in pieces.items():
        if name.startswith(b"D|"):
            session_id, delegation_id = name[2:].decode().split("|")
            if session_id in state.sessions:
                works.setdefault(session_id, SessionWork()).delegations[delegation_id] = read_delegation(raw)
            else:
                gone.setdefault(session_id, []).append(delegation_id)
    for session_id, work in works.items():
        if session_id in state.sessions:
            work.delegations = dict(sorted(work.delegations.items(), key=lambda item: item[1].number))
            state.sessions[session_id].work = work
        else:
            gone.setdefault(session_id, [])
    state.touched.removed_work += [(session_id, tuple(names)) for session_id, names in gone.items()]


def _index(state: PartitionState) -> None:
    for name, emitter in state.emitters.items():
        if not emitter.closed or emitter.unaccounted is not None:
            state.live.add(name)
    for session_id, session in sorted(state.sessions.items(), key=lambda item: item[1].last_seen_at):
        for name in session.emitters:
            if (known := state.emitters.get(name)) is not None:
                known.sessions.add(session_id)
                if name in session.open_on:
                    known.open_sessions[session_id] = None
