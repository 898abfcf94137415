"""Record calls of the families beyond the first four, and what batches say of them."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from pydantic import ValidationError
from tests.unit.producers.conftest import KeptBatches

from unmask.producers import AgentTelemetrySink, Emitter, EmitterSettings, NullSink
from unmask.producers.report import FAMILIES, FIRST_FAMILIES, FURTHER_FAMILIES
from unmask.producers.testing import account_faults, events_in
from unmask.schemas.codec import MAGIC, decode
from unmask.schemas.codes import DropCause, Family, SelectionScope, SelectionSource, SelectionTimeline
from unmask.schemas.history import published
from unmask.schemas.models import EventBatch
from unmask.schemas.models.record import from_avro

Cut = Callable[[], list[dict[str, Any]]]
FIRST, SECOND = (MAGIC + schema.fingerprint for schema in published("event_batch")[:2])
END = datetime(2026, 1, 1, 12, tzinfo=UTC)
PROGRESS: dict[str, Any] = {
    "delegation_id": "d",
    "session_id": "s",
    "invocation_id": "i",
    "step": 1,
    "turn": 2,
    "outcome": "succeeded",
}
EFFECT: dict[str, Any] = {"delegation_id": "d", "session_id": "s", "invocation_id": "i", "turn": 2, "step": "committed"}


def _select(emitter: Emitter, **said: Any) -> None:
    given = {"source": "auto", "scope": "turn", "timeline": "live", **said}
    emitter.record_selection(
        given.pop("session_id", "s"), given.pop("turn", 1), given.pop("profile", "backup"), **given
    )


def test_a_selection_is_published_as_it_was_told(emitter: Emitter, cut: Cut) -> None:
    emitter.record_selection(
        "s", 3, "openai/large", source=SelectionSource.AUTO, scope=SelectionScope.WINDOW,
        timeline=SelectionTimeline.LIVE, reason_code=TimeoutError("after 5 s"), emergency=True, expires_at=END,
    )  # fmt: skip
    _select(emitter, timeline="cleared", cleared_by="watchdog", source="auto")
    *_, last = cut()
    one, two = [selection for batch in cut() for selection in batch["route_selections"]]
    assert (one["session_id"], one["turn"], one["source"], one["scope"]) == ("s", 3, "auto", "window")
    assert (one["reason_code"], one["emergency"], one["cleared_by"]) == ("timeout", True, None)
    assert one["expires_at"] == END.timestamp() * 1_000_000
    assert one["profile"].startswith("sha256-")
    assert (two["profile"], two["timeline"], two["cleared_by"], two["expires_at"]) == (
        "backup", "cleared", "watchdog", None,
    )  # fmt: skip
    assert from_avro(EventBatch, last).witnesses == (Family.ROUTE_SELECTION,)


def test_a_session_may_be_named_by_itself(emitter: Emitter, cut: Cut) -> None:
    with emitter.session("the session") as session:
        _select(emitter, session_id=session)
        emitter.record_delegation_progress(**{**PROGRESS, "session_id": session})
        emitter.record_delegation_effect(**{**EFFECT, "session_id": session})
    batches = cut()
    for field in ("route_selections", "delegation_progress", "delegation_effects"):
        (event,) = (event for batch in batches for event in batch[field])
        assert event["session_id"] == session.session_id


def test_an_operators_choice_is_a_selection_without_a_fault(emitter: Emitter, cut: Cut) -> None:
    _select(emitter, reason_code="rollback")
    (selection,) = (selection for batch in cut() for selection in batch["route_selections"])
    assert selection["reason_code"] is None


def test_a_delegation_is_published_as_it_was_told(emitter: Emitter, cut: Cut) -> None:
    emitter.record_delegation_progress(
        **PROGRESS, attempt=2, tokens=120, signal="tests", state_digest="a" * 64, conditions="c", subject="other",
        measure=-3, declared_scope="fix the build", budget_calls=9, budget_tokens=10, budget_attempts=2,
    )  # fmt: skip
    emitter.record_delegation_effect(
        **EFFECT, enforcer="effects", answer="GRANTED", effect_key="k", fingerprint="f", fencing_token=7,
        receipt="https://example.org/1", by="on-call", reason_code="a sentence",
    )  # fmt: skip
    batches = cut()
    (progress,) = (event for batch in batches for event in batch["delegation_progress"])
    (effect,) = (event for batch in batches for event in batch["delegation_effects"])
    assert progress["declared_scope"].startswith("sha256-")
    said = {**PROGRESS, "attempt": 2, "tokens": 120, "measure": -3, "state_digest": "a" * 64, "budget_calls": 9}
    assert progress | said == progress
    assert (
        effect | {**EFFECT, "enforcer": "effects", "answer": "GRANTED", "fencing_token": 7, "by": "on-call"} == effect
    )
    assert (effect["receipt"][:7], effect["reason_code"]) == ("sha256-", "invalid_label")
    assert from_avro(EventBatch, batches[-1]).batch_seq == len(batches)


def test_a_host_that_tells_nothing_new_writes_the_first_version_byte_for_byte(
    emitter: Emitter, cut: Cut, kept: KeptBatches
) -> None:
    emitter.record_route_attempt("answer")
    emitter.record_fallback("answer", 503)
    with emitter.session("s") as session:
        session.call("openai", lambda: 1)
    cut()
    assert {batch.data[:10] for batch in kept.stored} == {FIRST}
    assert {account["family"] for batch in kept.decoded for account in batch["accounts"]} <= set(FIRST_FAMILIES)


def test_from_its_first_record_on_a_family_is_accounted_for_and_witnessed_in_every_batch(
    emitter: Emitter, cut: Cut, kept: KeptBatches
) -> None:
    emitter._life.cut()
    _select(emitter)
    emitter._life.cut()
    emitter._life.cut()
    emitter.record_delegation_progress(**PROGRESS)
    batches = cut()
    assert account_faults(batches) == []
    assert [batch.data[:10] == SECOND for batch in kept.stored] == [bool(batch["witnesses"]) for batch in batches]
    witnesses = [batch["witnesses"] for batch in batches]
    assert witnesses[0] == []
    assert witnesses[-1] == ["route_selection", "delegation_progress"]
    assert sorted(witnesses, key=len) == witnesses
    last = {account["family"]: account["recorded"] for account in batches[-1]["accounts"]}
    assert last == {"route_selection": 1, "delegation_progress": 1}
    assert sum(events_in(batch)["route_selection"] for batch in batches) == 1


def test_a_declared_family_is_witnessed_from_the_first_batch_on() -> None:
    kept = KeptBatches()
    settings = EmitterSettings(
        bootstrap_servers="127.0.0.1:1", witnesses=(Family.DELEGATION_EFFECT, Family.ROUTE_SELECTION)
    )
    emitter = Emitter(settings, stores=kept.store)
    emitter.close(0)
    assert kept.decoded[0]["witnesses"] == ["route_selection", "delegation_effect"]
    assert kept.decoded[0]["accounts"] == []


def test_the_environment_declares_families_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_WITNESSES", "delegation_progress, route_selection,")
    assert EmitterSettings.from_environment().witnesses == (Family.DELEGATION_PROGRESS, Family.ROUTE_SELECTION)
    monkeypatch.setenv("UNMASK_WITNESSES", "route_attempt")
    with pytest.raises(ValidationError, match="every host can tell of the others"):
        EmitterSettings.from_environment()
    monkeypatch.setenv("UNMASK_WITNESSES", "selections")
    with pytest.raises(ValidationError, match="witnesses"):
        EmitterSettings.from_environment()


@pytest.mark.parametrize(
    "wrong",
    [
        {"source": "operator"}, {"source": "unknown_source"}, {"scope": "for ever"}, {"timeline": None},
        {"cleared_by": "nobody"}, {"turn": -1}, {"turn": 1.5}, {"turn": True}, {"turn": 2**63}, {"turn": None},
        {"expires_at": 1_767_225_600}, {"expires_at": END.replace(tzinfo=None)}, {"source": []}, {"timeline": {}},
    ],
)  # fmt: skip
def test_what_is_no_word_no_number_and_no_instant_is_dropped_and_counted(
    emitter: Emitter, wrong: Any, cut: Cut
) -> None:
    _select(emitter, **wrong)
    batches = cut()
    assert not any(batch["route_selections"] for batch in batches)
    assert emitter.counts()[Family.ROUTE_SELECTION].dropped == {DropCause.INVALID_EVENT: 1}
    assert account_faults(batches) == []
    assert batches[-1]["witnesses"] == ["route_selection"]


@pytest.mark.parametrize("field", ["step", "turn", "attempt", "tokens", "measure", "budget_calls", "outcome"])
def test_a_call_without_its_numbers_is_dropped_and_counted(emitter: Emitter, field: str, cut: Cut) -> None:
    emitter.record_delegation_progress(**{**PROGRESS, field: "many"})
    emitter.record_delegation_progress(**{**PROGRESS, field: -1 if field != "measure" else 2**70})
    cut()
    assert emitter.counts()[Family.DELEGATION_PROGRESS].dropped == {DropCause.INVALID_EVENT: 2}


class Hostile:
    @property
    def session_id(self) -> str:
        raise RuntimeError("no")

    def __str__(self) -> str:
        raise RuntimeError("no")

    def __hash__(self) -> int:
        raise RuntimeError("no")


def test_whatever_is_handed_in_nothing_is_raised_and_everything_is_counted(emitter: Emitter, cut: Cut) -> None:
    nasty: Any = Hostile()
    _select(emitter, session_id=nasty)
    _select(emitter, source=nasty)
    _select(emitter, profile=nasty)
    emitter.record_delegation_progress(**{**PROGRESS, "outcome": nasty})
    emitter.record_delegation_effect(**{**EFFECT, "step": nasty, "session_id": nasty})
    cut()
    counts = emitter.counts()
    assert [counts[family].recorded for family in FURTHER_FAMILIES] == [3, 1, 1]
    for family in FAMILIES:
        count = counts[family]
        assert count.recorded == count.delivered + count.pending + count.lost


def test_selections_and_effects_go_out_at_once_and_calls_of_a_delegation_wait(emitter: Emitter) -> None:
    rings: list[str] = []

    class Bell:
        def ring(self) -> None:
            rings.append("")

    bell = emitter._bell
    emitter._bell = Bell()  # type: ignore[assignment]
    for record, rung in (
        (partial(_select, emitter), 1),
        (partial(emitter.record_delegation_effect, **{**EFFECT, "step": "refused"}), 2),
        (partial(emitter.record_delegation_progress, **PROGRESS), 2),
    ):
        record()
        assert len(rings) == rung
    emitter._bell = bell


def test_after_its_end_an_emitter_only_counts_them(emitter: Emitter) -> None:
    emitter.close(0)
    _select(emitter)
    emitter.record_delegation_progress(**PROGRESS)
    emitter.record_delegation_effect(**EFFECT)
    report = emitter.close(0)
    assert [report.dropped[family] for family in FURTHER_FAMILIES] == [{DropCause.CLOSE_DEADLINE: 1}] * 3


def test_a_forked_child_tells_of_them_in_a_life_of_its_own(emitter: Emitter) -> None:
    _select(emitter)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _select(emitter)
            _select(emitter)
            said = f"{emitter.emitter_id} {emitter.counts()[Family.ROUTE_SELECTION].recorded}"
            os.write(writing, said.encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        emitter_id, recorded = pipe.read().split()
    os.waitpid(child, 0)
    assert emitter_id != emitter.emitter_id
    assert recorded == "2"
    assert emitter.counts()[Family.ROUTE_SELECTION].recorded == 1


def test_an_emitter_and_a_null_sink_take_them_and_a_sink_of_the_hosts_own_need_not(emitter: Emitter) -> None:
    class Own:
        wired = True

        def record_route_attempt(self) -> None: ...
        def record_fallback(self) -> None: ...
        def record_masked_error(self) -> None: ...
        def session(self) -> None: ...

    assert isinstance(emitter, AgentTelemetrySink)
    assert not isinstance(Own(), AgentTelemetrySink)
    sink = NullSink()
    assert isinstance(sink, AgentTelemetrySink)
    sink.record_selection("s", 1, "p", source="auto", scope="turn", timeline="live")
    sink.record_delegation_progress(**PROGRESS)
    sink.record_delegation_effect(**EFFECT)


def test_the_bytes_of_a_batch_with_everything_are_read_back(emitter: Emitter, cut: Cut, kept: KeptBatches) -> None:
    for number in range(40):
        _select(emitter, turn=number)
        emitter.record_delegation_progress(**{**PROGRESS, "step": number + 1})
        emitter.record_delegation_effect(**EFFECT)
        emitter.record_fallback("answer", 503)
    batches = cut()
    assert sum((events_in(batch) for batch in batches), events_in(batches[0])) == {
        "kernel_fallback": 40, "route_selection": 40, "delegation_progress": 40, "delegation_effect": 40,
    }  # fmt: skip
    assert account_faults(batches) == []
    assert all(decode("event_batch", batch.data)["witnesses"] for batch in kept.stored[1:] if batch.events)
