"""The state as pieces: one record of unmask.ledger per emitter, cell and session, and a head.

Keys are `h`, `e|emitter`, `c|...` and `s|session`. Values are JSON of the ledger's own; a value of None removes.
The head says how far the pieces go. All pieces of one transaction become visible together or not at all.
"""

from dataclasses import dataclass, fields
from typing import Any

import orjson

from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS
from unmask.streams.ledger.counting import add_cell
from unmask.streams.ledger.state import Cell, CellId, Emitter, Gap, PartitionState, Session

__all__ = [
    "HEAD",
    "Head",
    "LedgerStateUnreadable",
    "cell_piece",
    "emitter_piece",
    "head_piece",
    "read_head",
    "restore",
    "session_piece",
]

HEAD = b"h"
_VERSION = 1


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


def emitter_piece(emitter_id: str, emitter: Emitter | None) -> tuple[bytes, bytes | None]:
    """An emitter's piece; None removes it."""
    key = b"e|" + emitter_id.encode()
    if emitter is None:
        return key, None
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
        emitter.unaccounted_until,
        emitter.flaws,
    ]
    return key, orjson.dumps(value)


def _emitter(value: list[Any]) -> Emitter:
    scope, *plain = value
    emitter = Emitter(Scope(*scope), *plain)
    emitter.gaps = [Gap(*gap) for gap in emitter.gaps]  # type: ignore[misc]
    return emitter


def cell_piece(key: CellId, cell: Cell | None) -> tuple[bytes, bytes | None]:
    """A cell's piece; None removes it. Says which count was published last, so that a new owner publishes the rest."""
    start, seconds, scope, measure, capability, code = key
    name = f"c|{seconds}|{start // MICROS}|{'|'.join(scope)}|{measure}|{capability}|{code}".encode()
    if cell is None:
        return name, None
    if cell.sessions:
        return name, orjson.dumps([cell.count, cell.published, cell.sessions])
    return name, b"[%d,%d]" % (cell.count, cell.published)


_SESSION = tuple(Session.__slots__)
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
    except (ValueError, TypeError, KeyError, IndexError) as error:
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
        if not name.startswith(b"c|"):
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
