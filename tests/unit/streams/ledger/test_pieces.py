"""The state as pieces: what is written is what is read back."""

from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.streams.ledger.emitting import SCOPE, T0

from unmask.schemas.breaker import BreakerState, Step, advance
from unmask.schemas.scope import Scope
from unmask.streams.ledger.counting import add_cell
from unmask.streams.ledger.delegation import Delegation
from unmask.streams.ledger.pieces import (
    HEAD,
    LedgerStateUnreadable,
    beyond_piece,
    cell_piece,
    delegation_piece,
    emitter_piece,
    head_piece,
    read_head,
    restore,
    session_piece,
    work_piece,
)
from unmask.streams.ledger.session_work import SELECTION, SessionWork
from unmask.streams.ledger.state import Beyond, Cell, Emitter, Gap, PartitionState, Session

few = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
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
families = st.lists(st.sampled_from(["route_selection", "delegation_progress"]), unique=True)
beyonds = st.builds(
    Beyond, claimed_start=st.none() | st.integers(1, 10**15), witnesses=families,
    moved=st.lists(tokens, unique=True, max_size=3).map(dict.fromkeys),
    losses=st.dictionaries(tokens, st.tuples(instants, instants, families).map(list), max_size=2),
)  # fmt: skip
emitters = st.builds(
    Emitter, recent=st.lists(st.none() | st.integers(0, 2**32 - 1), min_size=8, max_size=8),
    beyond=st.none() | beyonds, scope=scopes, started_at=instants, heartbeat_us=numbers, last_seq=numbers,
    last_cut=instants, last_arrival=instants, shipped=shipped, dropped=drops, gaps=st.lists(gaps, max_size=3),
    closed=st.booleans(), unaccounted=st.sampled_from([None, "silent", "behind"]), unaccounted_from=instants,
    unaccounted_until=instants,
    flaws=st.dictionaries(tokens, st.lists(instants, min_size=2, max_size=2), max_size=3),
)  # fmt: skip
labels = tokens | st.just("-")
cell_ids = st.tuples(
    st.integers(0, 7_258_118_400).map(lambda s: s * 1_000_000), st.sampled_from([0, 60, 3600]), scopes,
    st.sampled_from(["route_attempt", "emitters", "route_selection", "witnesses"]), labels, labels,
)  # fmt: skip
cells = st.builds(
    Cell,
    count=numbers,
    published=st.integers(-1, 10**15),
    sessions=st.lists(tokens, max_size=3),
)


def _breaker(states: list[int]) -> BreakerState:
    state = BreakerState(limit=2)
    for number in states:
        state, _ = advance(state, Step("succeeded", "tests", f"state-{number}", measure=number))
    return state


delegations = st.builds(
    Delegation, invocations=st.dictionaries(tokens, tokens, max_size=2), invocations_total=numbers, calls=numbers,
    disputed=st.lists(tokens, unique=True, max_size=1).map(dict.fromkeys), budget_calls=st.none() | numbers,
    breaker=st.lists(st.integers(0, 2), max_size=6).map(_breaker), granted=numbers,
    commits=st.lists(st.tuples(tokens, numbers, st.none() | tokens), max_size=2),
    refusals=st.dictionaries(st.sampled_from(["gate", "effects"]), st.lists(numbers, min_size=3, max_size=3)),
    blocked=st.dictionaries(st.integers(-5, 5), instants, max_size=3), merged=st.booleans(), last_step_at=instants,
)  # fmt: skip
works = st.builds(
    SessionWork, selections=st.lists(st.fixed_dictionaries(dict.fromkeys(SELECTION, st.none() | tokens)), max_size=2),
    selections_total=numbers, selecting=st.lists(tokens, max_size=2), delegating=st.lists(tokens, max_size=2),
    identity_conflicts=st.lists(tokens, max_size=2), delegations=st.dictionaries(tokens, delegations, max_size=3),
)  # fmt: skip


def _numbered(work: SessionWork | None) -> SessionWork | None:
    for number, delegation in enumerate(() if work is None else work.delegations.values()):
        delegation.number = number
    return work


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
        work=_numbered(draw(st.none() | works)),
    )


def _plausible(emitters: dict[str, Emitter]) -> dict[str, Emitter]:
    for emitter in emitters.values():
        if emitter.unaccounted is None:
            emitter.unaccounted_from = emitter.unaccounted_until = 0
        else:
            emitter.beyond = emitter.beyond or Beyond()
    return emitters


@st.composite
def states(draw: st.DrawFn) -> PartitionState:
    state = PartitionState(
        draw(st.integers(0, 99)), next_offset=draw(numbers), read_through=draw(instants), newest=draw(instants),
        previous=draw(instants), evicted_through=draw(instants), log_id=draw(tokens), quarantine_run=draw(numbers),
        emitters=_plausible(draw(st.dictionaries(tokens, emitters, max_size=3))),
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
    pieces += [beyond_piece(name, emitter) for name, emitter in state.emitters.items()]
    for name, session in state.sessions.items():
        pieces.append(work_piece(name, session.work))
        for delegation_id in () if session.work is None else session.work.delegations:
            pieces.append(delegation_piece(name, delegation_id, session.work))
    assert len(dict(pieces)) == len(pieces)
    return {key: value for key, value in pieces if value is not None}


@few
@given(states())
def test_a_state_read_back_from_its_pieces_is_the_same(state: PartitionState) -> None:
    restored, head = restore(state.partition, _pieces(state))
    assert restored == state
    assert head is not None
    assert (head.next_offset, head.writer) == (state.next_offset, "writer-1")


# What an emitter's and a session's piece were before there was anything beyond them, field by field.
_EMITTER = (
    "scope", "started_at", "heartbeat_us", "last_seq", "last_cut", "last_arrival", "shipped", "dropped", "gaps",
    "closed", "unaccounted", "unaccounted_from", "unaccounted_until", "flaws",
)  # fmt: skip
_SESSION = (
    "scope", "emitters", "open_on", "opened_at", "last_seen_at", "predecessor", "fallbacks", "masked_errors",
    "degraded", "anonymous_fallbacks", "masked", "degraded_further", "further", "proven", "unreachable", "exhausted",
    "shape_drifts", "teardowns", "abandoned_at", "ended_arrival",
)  # fmt: skip


def _first_layout(names: tuple[str, ...], value: Emitter | Session) -> list[Any]:
    said = [getattr(value, name) for name in names]
    said = [sorted(field) if isinstance(field, set) else field for field in said]
    return [list(field) if isinstance(field, Scope) else field for field in said]


@few
@given(states())
def test_pieces_stay_as_they_were_and_what_is_new_stands_beside_them(state: PartitionState) -> None:
    for name, emitter in state.emitters.items():
        emitter.gaps = []
        written = orjson.loads(emitter_piece(name, emitter)[1] or b"")
        if emitter.unaccounted is None and any(digest is not None for digest in emitter.recent):
            # Where an older worker has the end of what there is not, and looks at it only where there is.
            assert written[12] == [emitter.last_seq, *emitter.recent]
            written[12] = 0
        assert written == _first_layout(_EMITTER, emitter)
    for name, session in state.sessions.items():
        expected = dict(zip(_SESSION, _first_layout(_SESSION, session), strict=True))
        assert session_piece(name, session)[1] == orjson.dumps(expected)
    known = (b"h", b"e|", b"c|", b"s|")
    assert all(key.startswith((b"E|", b"S|", b"D|", b"C|")) for key in _pieces(state) if not key.startswith(known))


@few
@given(states())
def test_of_a_measure_that_older_workers_have_no_word_for_they_find_no_cell(state: PartitionState) -> None:
    """They publish what they find, some of it every day."""
    found = {key.split(b"|")[8].decode() for key in _pieces(state) if key.startswith(b"c|")}
    assert found == {measure for _, _, _, measure, _, _ in state.cells} & {"route_attempt", "emitters"}


@few
@given(states())
def test_pieces_as_older_workers_leave_them_are_read(state: PartitionState) -> None:
    """They wrote emitters without digests, and know nothing of other pieces."""
    for emitter in state.emitters.values():
        emitter.recent, emitter.beyond = [None] * 8, None
    for session in state.sessions.values():
        session.work = None
    assert restore(state.partition, _pieces(state))[0] == state


@pytest.mark.parametrize("unaccounted", [None, "silent"])
def test_of_batches_that_an_older_worker_read_meanwhile_no_digest_is_known(unaccounted: str | None) -> None:
    emitter = Emitter(
        SCOPE, T0, 10, last_seq=20, unaccounted=unaccounted, recent=list(range(100, 108)), beyond=Beyond(T0 + 1)
    )
    pieces = _pieces(PartitionState(0, emitters={"emitter-a": emitter}))
    # It goes on with what it found, digests included, and accounts for the emitter.
    value = orjson.loads(pieces[b"e|emitter-a"])
    value[3], value[10] = 23, None
    restored = restore(0, pieces | {b"e|emitter-a": orjson.dumps(value)})[0].emitters["emitter-a"]
    expected = {seq: None if seq > 20 else 100 + seq % 8 for seq in range(16, 24)}
    assert {seq: restored.recent[seq % 8] for seq in expected} == expected
    assert restored.beyond == Beyond(T0 + 1)


def test_what_is_beyond_an_emitter_or_session_that_an_older_worker_forgot_is_removed() -> None:
    work = SessionWork(selections_total=3, delegations={"delegation-1": Delegation(calls=3)})
    pieces = dict(
        [
            beyond_piece("emitter-a", Emitter(SCOPE, T0, 10, beyond=Beyond(T0))), work_piece("session-1", work),
            delegation_piece("session-1", "delegation-1", work),
        ]
    )  # fmt: skip
    state, _ = restore(0, {key: value for key, value in pieces.items() if value is not None})
    assert state.touched.removed_beyond == ["emitter-a"]
    assert state.touched.removed_work == [("session-1", ("delegation-1",))]


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
    (b"E|emitter-a", {"later": 1}),
    (b"S|session-1", []),
    (b"S|session-1", 7),
    (b"D|session-1", {}),
    (b"D|session-1|delegation-1", {"breaker": []}),
    (b"D|session-1|delegation-1", 7),
    (b"c|60|5|r|v|k|p|s|route_attempt|a|b", [1, 1, [], 4]),
]


@pytest.mark.parametrize(("key", "value"), PIECES)
def test_a_piece_that_cannot_be_read_is_refused(key: bytes, value: Any) -> None:
    known = dict([emitter_piece("emitter-a", Emitter(SCOPE, T0, 10)), session_piece("session-1", Session(SCOPE))])
    with pytest.raises(LedgerStateUnreadable):
        restore(0, {name: piece for name, piece in known.items() if piece} | {key: orjson.dumps(value)})
