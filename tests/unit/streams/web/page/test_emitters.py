"""Emitters on the page: what each lost, exactly as the ledger accounts for it."""

from tests.table_records import BLUE, at
from tests.unit.streams.web.page.answering import overview_of
from tests.unit.streams.web.page.remembering import memory, put_emitter

from unmask.streams.ledger.state import Emitter, Gap
from unmask.streams.web.page.html.emitters import emitters_section
from unmask.streams.web.page.values import EmitterState


def emitter(**changes: object) -> Emitter:
    made = Emitter(BLUE, started_at=at(0), heartbeat_us=1_000_000, last_seq=4, last_cut=at(1), last_arrival=at(1))
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def gap() -> Gap:
    return Gap(
        after=1, before=3, shipped_after={"route_attempt": 10}, dropped_after={}, shipped_before={"route_attempt": 25},
        dropped_before={}, cut_after=at(0), cut_before=at(1), ahead=False,
    )  # fmt: skip


def test_recorded_is_shipped_and_dropped_together() -> None:
    known = memory()
    shipped, dropped = {"route_attempt": 90}, {"route_attempt": {"buffer_full": 10}, "masked_error": {"host_died": 2}}
    put_emitter(known, "e1", emitter(shipped=shipped, dropped=dropped))
    (line,) = overview_of(known).emitters
    assert line.recorded == {"route_attempt": 100, "masked_error": 2}
    assert line.dropped == {"buffer_full": 10, "host_died": 2}
    assert "10 buffer_full, 2 host_died" in emitters_section(overview_of(known))


def test_what_a_gap_holds_is_missing_until_it_is_filled() -> None:
    known = memory()
    put_emitter(known, "e1", emitter(gaps=[gap()]))
    (line,) = overview_of(known).emitters
    assert (line.missing, line.gaps) == (15, 1)
    put_emitter(known, "e1", emitter())
    assert overview_of(known).emitters[0].missing == 0


def test_each_state_is_told_and_losses_come_first() -> None:
    known = memory()
    put_emitter(known, "live", emitter())
    put_emitter(known, "closed", emitter(closed=True))
    put_emitter(known, "behind", emitter(unaccounted="behind"), partition=3)
    put_emitter(known, "silent", emitter(unaccounted="silent", closed=False))
    put_emitter(known, "lossy", emitter(closed=True, dropped={"route_attempt": {"outbox_full": 1}}))
    lines = overview_of(known).emitters
    assert [(line.emitter_id, line.state) for line in lines] == [
        ("silent", EmitterState.SILENT), ("lossy", EmitterState.CLOSED), ("behind", EmitterState.BEHIND),
        ("live", EmitterState.LIVE), ("closed", EmitterState.CLOSED),
    ]  # fmt: skip
    assert lines[2].partition == 3


def test_a_forgotten_emitter_is_gone_and_too_many_are_cut() -> None:
    known = memory(emitters=10)
    for number in range(12):
        put_emitter(known, f"e{number}", emitter(last_arrival=at(number)))
    known.piece(0, "e|e11", None, at(20))
    answer = overview_of(known, shown=3)
    assert [line.emitter_id for line in answer.emitters] == ["e10", "e9", "e8"]
    assert answer.emitters_cut == 8
    assert "8 more are left out" in emitters_section(answer)


def test_no_emitter_is_said_in_words() -> None:
    assert "No emitter is known" in emitters_section(overview_of(memory()))
