"""The state as pieces: one record of unmask.ledger per emitter, cell and session, and a head.

Keys are `h`, `e|emitter`, `c|...` and `s|session`. Values are JSON of the ledger's own; a value of None removes.
The head says how far the pieces go. All pieces of one transaction become visible together or not at all.
"""

from dataclasses import asdict, dataclass
from typing import Any

import orjson

from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS
from unmask.streams.ledger.state import Cell, CellId, Emitter, Gap, PartitionState, Session

__all__ = [
    "HEAD",
    "Head",
    "LedgerStateUnreadable",
    "cell_piece",
    "emitter_piece",
    "head_piece",
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
    quarantine_run: int
    writer: str


def head_piece(state: PartitionState, writer: str) -> tuple[bytes, bytes]:
    """The head of a state."""
    head = Head(state.next_offset, state.read_through, state.newest, state.previous, state.quarantine_run, writer)
    return HEAD, orjson.dumps({"v": _VERSION} | asdict(head))


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
        sorted(emitter.open_sessions),
        emitter.flaws,
    ]
    return key, orjson.dumps(value)


def _emitter(value: list[Any]) -> Emitter:
    scope, *plain = value
    emitter = Emitter(Scope(*scope), *plain)
    emitter.gaps = [Gap(*gap) for gap in value[8]]
    emitter.open_sessions = set(value[13])
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


def _cell_id(name: bytes) -> CellId:
    parts = name.decode().split("|")
    return int(parts[2]) * MICROS, int(parts[1]), Scope(*parts[3:8]), parts[8], parts[9], parts[10]


_SESSION = tuple(Session.__slots__)


def session_piece(session_id: str, session: Session | None) -> tuple[bytes, bytes | None]:
    """A session's piece; None removes it."""
    key = b"s|" + session_id.encode()
    if session is None:
        return key, None
    value = {name: getattr(session, name) for name in _SESSION}
    value["scope"] = list(session.scope)
    value["degraded"] = sorted(session.degraded)
    value["flaws"] = sorted(session.flaws)
    return key, orjson.dumps(value)


def _session(value: dict[str, Any]) -> Session:
    value["scope"] = Scope(*value["scope"])
    value["degraded"] = set(value["degraded"])
    value["flaws"] = set(value["flaws"])
    return Session(**value)


def restore(partition: int, pieces: dict[bytes, bytes]) -> tuple[PartitionState, Head | None]:
    """The state that the newest piece of every key makes; a state at offset 0 and no head where there is none.

    Raises LedgerStateUnreadable.
    """
    state = PartitionState(partition)
    head: Head | None = None
    scopes: dict[Scope, Scope] = {}
    try:
        for name, raw in pieces.items():
            kind, value = name[:2], orjson.loads(raw)
            if name == HEAD:
                if value.pop("v") != _VERSION:
                    raise LedgerStateUnreadable("the head of the ledger's state is of another version")
                head = Head(**value)
            elif kind == b"e|":
                state.emitters[name[2:].decode()] = _emitter(value)
            elif kind == b"c|":
                start, seconds, scope, *rest = _cell_id(name)
                key = (start, seconds, scopes.setdefault(scope, scope), *rest)
                cell = state.cells[key] = Cell(*value)  # type: ignore[index]
                if cell.count != cell.published:
                    state.unpublished.add(key)  # type: ignore[arg-type]
            elif kind == b"s|":
                state.sessions[name[2:].decode()] = _session(value)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise LedgerStateUnreadable(f"a piece of partition {partition}'s state cannot be read: {error}") from error
    if head is not None:
        state.next_offset, state.read_through = head.next_offset, head.read_through
        state.newest, state.previous, state.quarantine_run = head.newest, head.previous, head.quarantine_run
    return state, head
