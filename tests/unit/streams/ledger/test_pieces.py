"""The state as pieces: what is written is what is read back."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.streams.ledger.emitting import SCOPE, T0

from unmask.schemas.scope import Scope
from unmask.streams.ledger.counting import add_cell
from unmask.streams.ledger.pieces import (
    HEAD,
    LedgerStateUnreadable,
    cell_piece,
    emitter_piece,
    head_piece,
    read_head,
    restore,
    session_piece,
)
from unmask.streams.ledger.state import Cell, Emitter, Gap, PartitionState, Session

tokens = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,20}", fullmatch=True)
instants = st.integers(0, 7_258_118_400_000_000)
numbers = st.integers(0, 10**15)
scopes = st.builds(Scope, tokens, tokens, tokens, tokens, tokens)
shipped = st.dictionaries(st.sampled_from(["route_attempt", "masked_error"]), st.integers(-(10**15), 10**15))
drops = st.dictionaries(
    st.sampled_from(["route_attempt", "masked_error"]), st.dictionaries(st.sampled_from(["disk_failed"]), numbers)
)
gaps = st.builds(
    Gap, after=numbers, before=numbers, shipped_after=shipped, dropped_after=drops, shipped_before=shipped,
    dropped_before=drops, cut_after=instants, cut_before=instants, ahead=st.booleans(),
)  # fmt: skip
emitters = st.builds(
    Emitter, scope=scopes, started_at=instants, heartbeat_us=numbers, last_seq=numbers, last_cut=instants,
    last_arrival=instants, shipped=shipped, dropped=drops, gaps=st.lists(gaps, max_size=3), closed=st.booleans(),
    unaccounted=st.sampled_from([None, "silent", "behind"]), unaccounted_from=instants, unaccounted_until=instants,
    flaws=st.dictionaries(tokens, st.lists(instants, min_size=2, max_size=2), max_size=3),
)  # fmt: skip
labels = tokens | st.just("-")
cell_ids = st.tuples(
    st.integers(0, 7_258_118_400).map(lambda s: s * 1_000_000), st.sampled_from([0, 60, 3600]), scopes,
    st.sampled_from(["route_attempt", "emitters"]), labels, labels,
)  # fmt: skip
cells = st.builds(
    Cell,
    count=numbers,
    published=st.integers(-1, 10**15),
    sessions=st.lists(tokens, max_size=3),
)


@st.composite
def sessions(draw: st.DrawFn, names: list[str]) -> Session:
    named = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    return Session(
        scope=draw(scopes),
        emitters=named,
        open_on=set(draw(st.lists(st.sampled_from(named)))) if named else set(),
        opened_at=draw(st.none() | instants),
        last_seen_at=draw(instants),
        predecessor=draw(st.none() | tokens),
        fallbacks=draw(numbers),
        masked_errors=draw(numbers),
        degraded=draw(st.sets(tokens, max_size=4)),
        anonymous_fallbacks=draw(numbers),
        masked=draw(st.lists(st.fixed_dictionaries({"operation_id": tokens, "occurred_at": instants}), max_size=2)),
        degraded_further=draw(numbers),
        further=draw(st.sets(tokens, max_size=3)),
        proven=draw(st.dictionaries(tokens, st.booleans(), max_size=3)),
        teardowns=draw(st.lists(st.fixed_dictionaries({"occurred_at": instants}), max_size=2)),
        abandoned_at=draw(st.none() | instants),
        ended_arrival=draw(st.none() | instants),
    )


@st.composite
def states(draw: st.DrawFn) -> PartitionState:
    state = PartitionState(
        draw(st.integers(0, 99)), next_offset=draw(numbers), read_through=draw(instants), newest=draw(instants),
        previous=draw(instants), evicted_through=draw(instants), log_id=draw(tokens), quarantine_run=draw(numbers),
        emitters=draw(st.dictionaries(tokens, emitters, max_size=3)),
    )  # fmt: skip
    state.sessions = draw(st.dictionaries(tokens, sessions(list(state.emitters)), max_size=3))
    for key, cell in draw(st.dictionaries(cell_ids, cells, max_size=5)).items():
        add_cell(state, key, cell)
        if cell.count != cell.published:
            state.unpublished.add(key)
    for name, emitter in state.emitters.items():
        if not emitter.closed or emitter.unaccounted is not None:
            state.live.add(name)
        emitter.sessions = {sid for sid, session in state.sessions.items() if name in session.emitters}
        emitter.open_sessions = {sid: None for sid, session in state.sessions.items() if name in session.open_on}
    return state


def _pieces(state: PartitionState) -> dict[bytes, bytes]:
    pieces: list[tuple[bytes, bytes | None]] = [head_piece(state, "writer-1")]
    pieces += [cell_piece(key, cell) for key, cell in state.cells.items()]
    pieces += [emitter_piece(name, emitter) for name, emitter in state.emitters.items()]
    pieces += [session_piece(name, session) for name, session in state.sessions.items()]
    assert len(dict(pieces)) == len(pieces)
    return {key: value for key, value in pieces if value is not None}


@given(states())
def test_a_state_read_back_from_its_pieces_is_the_same(state: PartitionState) -> None:
    restored, head = restore(state.partition, _pieces(state))
    assert restored == state
    assert head is not None
    assert (head.next_offset, head.writer) == (state.next_offset, "writer-1")


def test_a_partition_without_pieces_begins_at_its_first_record() -> None:
    assert restore(5, {}) == (PartitionState(5), None)


def test_none_removes_a_piece() -> None:
    assert emitter_piece("emitter-a", None) == (b"e|emitter-a", None)
    assert session_piece("session-1", None) == (b"s|session-1", None)
    key = (T0, 60, SCOPE, "route_attempt", "search", "chat")
    assert cell_piece(key, None) == (cell_piece(key, Cell(1))[0], None)


def test_the_version_of_another_worker_is_refused_with_what_to_do() -> None:
    _, value = head_piece(PartitionState(0), "writer-1")
    newer = orjson.dumps(orjson.loads(value) | {"v": 99})
    with pytest.raises(LedgerStateUnreadable, match=r"version 99.*start a worker at least as new"):
        restore(0, {HEAD: newer})


@pytest.mark.parametrize("value", [b"", b"{", b"[]", b"7", b'{"v": 1}', b'{"v": 1, "next_offset": 3}', b"null"])
def test_a_head_that_cannot_be_read_is_refused(value: bytes) -> None:
    with pytest.raises(LedgerStateUnreadable):
        read_head(value)


PIECES: list[tuple[bytes, Any]] = [
    (b"e|emitter-a", {}),
    (b"e|emitter-a", [1, 2]),
    (b"s|session-1", {"scope": []}),
    (b"s|session-1", []),
    (b"c|60|x|r|v|k|p|s|route_attempt|a|b", [1, 1]),
    (b"c|60", [1, 1]),
    (b"c|60|5|r|v|k|p|s|route_attempt|a|b", [1, 1, [], 4]),
]


@pytest.mark.parametrize(("key", "value"), PIECES)
def test_a_piece_that_cannot_be_read_is_refused(key: bytes, value: Any) -> None:
    with pytest.raises(LedgerStateUnreadable):
        restore(0, {key: orjson.dumps(value)})
