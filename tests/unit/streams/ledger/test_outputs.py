"""What a transaction publishes, and in which order."""

from typing import Any

from tests.unit.streams.ledger.emitting import MINUTE, SCOPE, SECOND, T0, Life, opening_batch

from unmask.schemas.codec import decode, decode_any, headers
from unmask.schemas.keys import mark_key, session_key, tally_key, upstream_route, window_route
from unmask.schemas.partitioner import partition_for
from unmask.schemas.topics import Topics
from unmask.streams.ledger.advance import advance
from unmask.streams.ledger.delegation import MAX_BLOCKED, MAX_COMMITS
from unmask.streams.ledger.fold import fold_batch
from unmask.streams.ledger.outputs import Outputs, Record
from unmask.streams.ledger.pieces import HEAD, read_head, restore
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.session_fold import MAX_DEGRADED
from unmask.streams.ledger.session_work import MAX_DELEGATIONS, MAX_SELECTIONS
from unmask.streams.ledger.state import PartitionState

TOPICS = Topics("ns", events_partitions=4, table_partitions=3)
TALLIES = TOPICS.tallies.name
_EVIDENCE = ("tally", "evidence_flaw", "evidence_mark")
_KINDS = {"tally": "cell", "evidence_flaw": "flaw", "evidence_mark": "mark"}


class _Ledger:
    """A state with what it publishes."""

    def __init__(self, rules: FoldRules | None = None) -> None:
        self.rules = rules or FoldRules()
        self.state = PartitionState(2)
        self.outputs = Outputs(TOPICS, self.rules, "writer-1")

    def fold(self, batch: dict[str, Any], arrival: int | None = None) -> None:
        at = batch["sent_at"] if arrival is None else arrival
        fold_batch(self.state, self.rules, self.state.next_offset, at, batch)

    def through(self, read_through: int) -> None:
        advance(self.state, self.rules, read_through)

    def commit(self, *, mark: bool) -> list[Record]:
        return list(self.outputs.records(self.state, self.state.take_touched(), mark=mark))


def _on(records: list[Record], topic: str) -> list[Record]:
    return [record for record in records if record.topic == topic]


def _kinds(records: list[Record]) -> list[str]:
    """What stands on the tallies topic, in order."""
    return [
        "healed" if record.value is None else _KINDS[decode_any(_EVIDENCE, record.value)[0]]
        for record in _on(records, TALLIES)
    ]


def _tallies(records: list[Record]) -> dict[str, dict[str, Any]]:
    return {
        record.key.decode(): decode("tally", record.value)
        for record in _on(records, TALLIES)
        if record.key.startswith(b"c|") and record.value is not None
    }


def _mark(records: list[Record]) -> dict[str, Any]:
    [value] = {record.value for record in _on(records, TALLIES) if record.key.startswith(b"m|")}
    return decode("evidence_mark", value)


def _with_a_gap(ledger: _Ledger) -> dict[str, Any]:
    """An emitter whose second batch, with two attempts, is missing."""
    life = Life()
    ledger.fold(opening_batch(life))
    life.attempt(T0 + SECOND, 2)
    missing = life.cut(T0 + 2 * SECOND)
    life.attempt(T0 + 3 * SECOND, 5)
    ledger.fold(life.cut(T0 + 4 * SECOND))
    return missing


def test_counts_and_flaws_come_before_the_marks_that_speak_of_them() -> None:
    ledger = _Ledger()
    _with_a_gap(ledger)
    kinds = _kinds(ledger.commit(mark=True))
    assert kinds == ["flaw"] * 2 + ["cell"] * 6 + ["mark"] * 3


def test_a_flaw_is_taken_back_only_after_the_counts_that_heal_it() -> None:
    ledger = _Ledger()
    missing = _with_a_gap(ledger)
    ledger.commit(mark=True)
    ledger.fold(missing, T0 + 90 * SECOND)
    records = ledger.commit(mark=False)
    kinds = _kinds(records)
    assert set(kinds) == {"cell", "healed"}
    assert kinds.index("healed") > max(i for i, kind in enumerate(kinds) if kind == "cell")
    # Attempts are not urgent; they go out all the same, since the window counts as healed from here on.
    counts = {t["window_seconds"]: t["count"] for t in _tallies(records).values() if t["measure"] == "route_attempt"}
    assert counts == {60: 7, 3600: 7, 0: 7}


def test_every_table_partition_gets_the_mark() -> None:
    ledger = _Ledger()
    ledger.fold(opening_batch(Life()))
    ledger.through(T0 + 5 * SECOND)
    records = ledger.commit(mark=True)
    marks = [record for record in _on(records, TALLIES) if record.key == mark_key(2).encode()]
    assert [record.partition for record in marks] == [0, 1, 2]
    assert _mark(records) == {
        "partition": 2, "partitions": 4, "offset": 1, "read_through": T0 + 5 * SECOND, "grace_ms": 5000,
        "scopes": [{"scope": SCOPE._asdict(), "accounted_through": T0 + 1, "emitters": 1}],
        "unaccounted": [], "unaccounted_total": 0,
    }  # fmt: skip


def test_a_mark_names_the_newest_of_those_that_owe_an_account_and_how_many_they_are() -> None:
    ledger = _Ledger()
    for number in range(300):
        ledger.fold(Life(f"emitter-{number:03}", started_at=T0).cut(T0 + number))
    ledger.through(T0 + 2 * MINUTE)
    mark = _mark(ledger.commit(mark=True))
    assert mark["unaccounted_total"] == 300
    assert [owing["emitter_id"] for owing in mark["unaccounted"]] == [f"emitter-{n:03}" for n in range(299, 99, -1)]
    assert {(owing["cause"], str(owing["scope"])) for owing in mark["unaccounted"]} == {
        ("silent", str(SCOPE._asdict()))
    }
    assert mark["scopes"] == []


def test_without_a_mark_only_what_is_urgent_goes_out_and_the_rest_follows_with_the_next() -> None:
    ledger = _Ledger()
    life = Life()
    ledger.fold(opening_batch(life))
    life.attempt(T0 + SECOND)
    life.masked(T0 + SECOND)
    life.fallback(T0 + SECOND)
    ledger.fold(life.cut(T0 + 2 * SECOND))
    first = {(t["measure"], t["window_seconds"]) for t in _tallies(ledger.commit(mark=False)).values()}
    assert first == {(m, s) for m in ("masked_error", "kernel_fallback") for s in (0, 60, 3600)} | {("upstream", 60)}
    rest = {(t["measure"], t["window_seconds"]) for t in _tallies(ledger.commit(mark=True)).values()}
    assert rest == {(m, s) for m in ("route_attempt", "emitters") for s in (0, 60, 3600)}
    assert _tallies(ledger.commit(mark=True)) == {}


def test_a_cell_is_routed_by_its_window_and_an_upstream_by_its_name() -> None:
    ledger = _Ledger()
    life = Life()
    ledger.fold(opening_batch(life))
    life.masked(T0 + SECOND, upstream="search-api")
    ledger.fold(life.cut(T0 + 2 * SECOND))
    for record in _on(ledger.commit(mark=True), TALLIES):
        if record.value is None or not record.key.startswith(b"c|"):
            continue
        tally = decode("tally", record.value)
        route = (
            upstream_route("search-api")
            if tally["measure"] == "upstream"
            else window_route(tally["window_start"], tally["window_seconds"])
        )
        assert record.partition == partition_for(route, 3)


def test_a_snapshot_says_for_which_offset_it_is_good() -> None:
    ledger = _Ledger()
    life = Life()
    ledger.fold(opening_batch(life))
    life.attempt(T0 + SECOND, 4)
    ledger.fold(life.cut(T0 + 2 * SECOND))
    tally = _tallies(ledger.commit(mark=True))[tally_key(2, T0, 60, SCOPE, "route_attempt", "search", "chat")]
    assert (tally["partition"], tally["offset"], tally["count"], tally["correction"]) == (2, 2, 4, None)


def test_a_correction_is_a_cell_of_its_own_and_goes_out_at_once() -> None:
    ledger = _Ledger(FoldRules(horizon_us=10 * MINUTE))
    life = Life()
    ledger.fold(opening_batch(life))
    life.attempt(T0 + SECOND, 4)
    ledger.fold(life.cut(T0 + 2 * SECOND), T0 + 30 * MINUTE)
    key = tally_key(2, T0, 60, SCOPE, "route_attempt", "search", "chat", ("emitter-a", 2))
    tally = _tallies(ledger.commit(mark=False))[key]
    assert tally["count"] == 4
    assert tally["correction"] == {"emitter_id": "emitter-a", "batch_seq": 2}


def test_a_flaw_that_came_and_went_within_one_transaction_is_told_to_nobody() -> None:
    ledger = _Ledger()
    ledger.fold(_with_a_gap(ledger), T0 + 5 * SECOND)
    assert set(_kinds(ledger.commit(mark=True))) == {"cell", "mark"}


def test_a_long_gap_that_is_filled_batch_by_batch_is_told_once_in_each_transaction() -> None:
    ledger = _Ledger()
    life = Life()
    ledger.fold(opening_batch(life))
    missing = []
    for minute in range(1, 1000):
        life.attempt(T0 + minute * MINUTE)
        missing.append(life.cut(T0 + minute * MINUTE))
    ledger.fold(life.cut(T0 + 1000 * MINUTE))
    windows = 1001 + 17
    assert _kinds(ledger.commit(mark=False)).count("flaw") == windows
    for batch in missing[:500]:
        ledger.fold(batch, T0 + 1000 * MINUTE)
    kinds = _kinds(ledger.commit(mark=False))
    assert kinds.count("healed") == windows
    assert kinds.count("flaw") == 501 + 9


def test_a_session_goes_out_as_a_whole_to_the_partition_of_its_id() -> None:
    ledger = _Ledger()
    life = Life()
    ledger.fold(opening_batch(life))
    life.open(T0 + SECOND, predecessor="session-0")
    for number in range(MAX_DEGRADED + 10):
        life.masked(T0 + SECOND, operation_id=f"op-{number}", equivalence="bit_for_bit")
    life.fallback(T0 + SECOND, session_id="session-1")
    ledger.fold(life.cut(T0 + 2 * SECOND))
    [record] = _on(ledger.commit(mark=False), TOPICS.sessions.name)
    assert record.key == session_key("session-1", 2).encode()
    assert record.partition == partition_for("session-1", 3)
    tally = decode("session_tally", record.value)
    assert (tally["offset"], tally["opened_at"], tally["predecessor_session_id"]) == (2, T0 + SECOND, "session-0")
    assert len(tally["degraded_operations"]) == MAX_DEGRADED
    assert tally["degraded_operations_total"] == MAX_DEGRADED + 11
    # Of what is not known by name nobody proved anything.
    assert tally["not_equivalent"] == 11
    assert (tally["masked_errors"], tally["fallbacks"], tally["evidence"]) == (MAX_DEGRADED + 10, 1, "COMPLETE")


def test_a_session_that_may_lack_events_says_so() -> None:
    ledger = _Ledger()
    life = Life()
    life.open(T0)
    ledger.fold(opening_batch(life))
    life.masked(T0 + SECOND)
    life.cut(T0 + 2 * SECOND)
    ledger.fold(life.cut(T0 + 3 * SECOND))
    [record] = _on(ledger.commit(mark=True), TOPICS.sessions.name)
    assert decode("session_tally", record.value)["evidence"] == "LOSSY"


def test_a_forgotten_session_leaves_a_tombstone_and_one_that_came_back_at_once_does_not_vanish() -> None:
    ledger = _Ledger()
    life = Life()
    life.open(T0)
    life.tear_down(T0 + 1)
    ledger.fold(opening_batch(life))
    ledger.commit(mark=True)
    day = 24 * 60 * MINUTE
    ledger.through(T0 + day + 2 * MINUTE)
    life.open(T0 + day + 3 * MINUTE)
    ledger.fold(life.cut(T0 + day + 3 * MINUTE))
    records = ledger.commit(mark=True)
    first, second = _on(records, TOPICS.sessions.name)
    assert first.value is None
    assert decode("session_tally", second.value)["opened_at"] == T0 + day + 3 * MINUTE
    pieces = [record.value for record in _on(records, TOPICS.ledger.name) if record.key == b"s|session-1"]
    assert pieces[0] is None
    assert pieces[-1] is not None


def _pieces(records: list[Record]) -> dict[bytes, bytes | None]:
    return {record.key: record.value for record in _on(records, TOPICS.ledger.name)}


def test_a_session_without_selections_or_delegations_is_written_as_before() -> None:
    ledger = _Ledger()
    life = Life(witnesses=("route_selection",))
    life.masked(T0)
    ledger.fold(opening_batch(life))
    records = ledger.commit(mark=True)
    [session] = _on(records, TOPICS.sessions.name)
    assert session.value is not None
    assert session.value.startswith(headers("session_tally")[0])
    cells = {record.key: record.value or b"" for record in _on(records, TALLIES) if record.key.startswith(b"c|")}
    newer = {key for key, value in cells.items() if not value.startswith(headers("tally")[0])}
    assert newer == {key for key in cells if b"|witnesses|" in key}
    assert len(newer) == 3


def test_what_a_session_chose_and_delegated_goes_out_with_it() -> None:
    ledger = _Ledger()
    life = Life(witnesses=("route_selection", "delegation_progress", "delegation_effect"))
    ledger.fold(opening_batch(life))
    life.select(T0 + SECOND, source="auto", reason_code="timeout", expires_at=T0 + MINUTE)
    for number in range(12):
        life.progress(T0 + SECOND, state_digest=f"state-{min(number, 1)}", budget_calls=9)
    life.effect(T0 + SECOND, "committed", effect_key="key-1", fencing_token=3, receipt="r1")
    life.effect(T0 + 2 * SECOND, "refused", enforcer="effects")
    ledger.fold(life.cut(T0 + 3 * SECOND))
    [record] = _on(ledger.commit(mark=False), TOPICS.sessions.name)
    tally = decode("session_tally", record.value)
    [selection] = tally["selections"]
    assert (selection["emitter_id"], selection["source"], selection["expires_at"]) == ("emitter-a", "auto", T0 + MINUTE)
    assert tally["selections_total"] == 1
    assert tally["delegations"] == [
        {
            "delegation_id": "delegation-1",
            "invocations": [{"invocation_id": "run-1", "emitter_id": "emitter-a"}], "invocations_total": 1,
            "calls": 12, "succeeded": 12, "failed": 0, "refused": 0, "tokens": 120, "highest_attempt": 1,
            "budget_calls": 9, "budget_tokens": None, "budget_attempts": None, "unchanged": 10,
            "longest_unchanged": 10, "tripped": True, "trips": 1, "false_trips": 0, "first_trip_call": 10,
            "doubts": [{"doubt": "never_seen_to_move", "count": 1}], "granted": 0, "committed": 1, "released": 0,
            "commits": [{"effect_key": "key-1", "fencing_token": 3, "receipt": "r1"}], "repeated_commits": 0,
            "refusals": [{"enforcer": "effects", "count": 1, "appealed": 0, "vindicated": 0}], "blocked_turns": 1,
            "longest_blocked": 1, "identity_conflicts": 0, "last_step_at": T0 + 2 * SECOND,
        }
    ]  # fmt: skip


def test_only_pieces_that_changed_are_written_and_all_go_with_their_session() -> None:
    ledger = _Ledger()
    life = Life(witnesses=("route_selection",))
    ledger.fold(opening_batch(life))
    assert _pieces(ledger.commit(mark=False)).keys() >= {b"E|emitter-a"}
    for name in ("delegation-1", "delegation-2"):
        life.progress(T0 + SECOND, delegation_id=name)
    ledger.fold(life.cut(T0 + 2 * SECOND))
    new = {b"S|session-1", b"D|session-1|delegation-1", b"D|session-1|delegation-2"}
    assert {key for key in _pieces(ledger.commit(mark=False)) if key[:1] in b"ESD"} == new
    life.progress(T0 + 3 * SECOND, delegation_id="delegation-2")
    life.tear_down(T0 + 4 * SECOND)
    ledger.fold(life.cut(T0 + 5 * SECOND, closing=True))
    assert {key for key in _pieces(ledger.commit(mark=False)) if key[:1] in b"ESD"} == {b"D|session-1|delegation-2"}
    ledger.through(T0 + 8 * 24 * 60 * MINUTE)
    removed = _pieces(ledger.commit(mark=True))
    assert {key for key, value in removed.items() if value is None} >= {*new, b"E|emitter-a", b"e|emitter-a"}


def test_the_largest_session_fits_into_a_record() -> None:
    ledger = _Ledger()
    long = "x" * 60
    life = Life(f"e-{long}")
    ledger.fold(opening_batch(life))
    session = f"s-{long}"
    for number in range(MAX_DEGRADED):
        life.masked(T0, session, f"{number:04}{long}", primary_shape=f"p-{long}", fallback_shape=f"f-{long}")
    for number in range(MAX_SELECTIONS):
        life.select(T0, session, profile=f"{number:04}{long}", turn=10**15, expires_at=T0, reason_code="timeout")
    for delegation in range(MAX_DELEGATIONS + 1):
        common: dict[str, Any] = {"session_id": session, "delegation_id": f"{delegation:04}{long}", "turn": 10**15}
        for number in range(MAX_COMMITS):
            run = f"{number:04}{long}"
            life.progress(
                T0, **common, invocation_id=run, state_digest=run, signal=f"{number % 4:04}{long}", tokens=10**12,
                conditions=run,
            )  # fmt: skip
            life.effect(
                T0, "committed", **common, invocation_id=run, effect_key=f"{delegation:02}{number:02}{long}",
                fencing_token=10**15, receipt=f"r-{long}",
            )  # fmt: skip
        for number in range(MAX_BLOCKED):
            life.effect(T0 + 1, "refused", **common | {"turn": 10**15 + number}, enforcer="breaker", invocation_id=run)
    ledger.fold(life.cut(T0 + 1))
    records = ledger.commit(mark=True)
    assert max(len(record.value or b"") for record in records if record.topic == TOPICS.sessions.name) < 700_000
    assert max(len(value or b"") for key, value in _pieces(records).items() if key[:1] in b"ESD") < 100_000


def test_a_conflict_of_identity_is_told_in_the_windows_and_in_the_session() -> None:
    ledger = _Ledger()
    life = Life()
    life.open(T0)
    ledger.fold(opening_batch(life) | {"digest": 1})
    ledger.fold(Life(started_at=T0 + 1).cut(T0 + SECOND) | {"digest": 2})
    records = ledger.commit(mark=True)
    flaws = [decode("evidence_flaw", r.value) for r in _on(records, TALLIES) if r.key.startswith(b"f|")]
    assert [(f["cause"], f["losses"], f["from_seq"], f["to_seq"]) for f in flaws] == [("identity", [], -1, -1)] * 2
    tally = decode("session_tally", _on(records, TOPICS.sessions.name)[0].value)
    assert (tally["identity_conflicts"], tally["evidence"]) == (["emitter-a"], "LOSSY")


def test_fallbacks_and_quarantined_records_go_to_their_topics() -> None:
    ledger = _Ledger()
    life = Life()
    ledger.fold(opening_batch(life))
    life.fallback(T0 + SECOND, reason_code="rate_limited")
    ledger.fold(life.cut(T0 + 2 * SECOND))
    entry = {
        "topic": "ns.events", "partition": 2, "offset": 9, "broker_time": T0, "reason": "BAD_MAGIC", "size": 1,
        "digest": "0" * 64, "fingerprint": None, "key": None,
    }  # fmt: skip
    ledger.state.touched.quarantined.append(entry)
    records = ledger.commit(mark=False)
    [fallback] = _on(records, TOPICS.fallbacks.name)
    assert (fallback.partition, fallback.key) == (2, b"emitter-a")
    assert decode("fallback", fallback.value)["reason_code"] == "rate_limited"
    [quarantined] = _on(records, TOPICS.quarantine.name)
    assert (quarantined.partition, quarantined.key) == (0, b"ns.events|2|9")
    assert decode("quarantine", quarantined.value) == entry


def test_the_head_is_the_first_piece_and_names_the_writer() -> None:
    ledger = _Ledger()
    ledger.fold(opening_batch(Life()))
    pieces = _on(ledger.commit(mark=False), TOPICS.ledger.name)
    assert pieces[0].key == HEAD
    assert pieces[0].value is not None
    assert read_head(pieces[0].value).writer == "writer-1"
    assert {record.partition for record in pieces} == {2}


def test_a_cell_that_was_not_published_yet_is_published_by_the_next_owner() -> None:
    ledger = _Ledger()
    life = Life()
    ledger.fold(opening_batch(life))
    life.attempt(T0 + SECOND, 3)
    ledger.fold(life.cut(T0 + 2 * SECOND))
    before = {record.key: record.value for record in _on(ledger.commit(mark=False), TOPICS.ledger.name)}
    heir = _Ledger()
    heir.state, _ = restore(2, {key: value for key, value in before.items() if value is not None})
    tallies = _tallies(heir.commit(mark=True))
    assert tallies[tally_key(2, T0, 60, SCOPE, "route_attempt", "search", "chat")]["count"] == 3


def test_a_cell_that_was_published_is_not_published_again_by_the_next_owner() -> None:
    ledger = _Ledger()
    life = Life()
    ledger.fold(opening_batch(life))
    life.attempt(T0 + SECOND, 3)
    ledger.fold(life.cut(T0 + 2 * SECOND))
    pieces: dict[bytes, bytes | None] = {}
    for mark in (False, True):
        pieces |= {record.key: record.value for record in _on(ledger.commit(mark=mark), TOPICS.ledger.name)}
    heir = _Ledger()
    heir.state, _ = restore(2, {key: value for key, value in pieces.items() if value is not None})
    assert _tallies(heir.commit(mark=True)) == {}


def test_records_are_framed_as_the_environment_asks() -> None:
    class Framed:
        def encode(self, record: str, value: dict[str, Any]) -> bytes:
            return b"framed:" + record.encode()

        def decode_any(self, records: tuple[str, ...], data: bytes | None) -> tuple[str, dict[str, Any]]:
            raise AssertionError("nothing is read here")

    ledger = _Ledger()
    ledger.fold(opening_batch(Life()))
    outputs = Outputs(TOPICS, FoldRules(), "writer-1", Framed())
    records = list(outputs.records(ledger.state, ledger.state.take_touched(), mark=True))
    assert {record.value for record in _on(records, TALLIES)} == {b"framed:tally", b"framed:evidence_mark"}
