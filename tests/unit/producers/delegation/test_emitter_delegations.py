"""Delegations of a real emitter: what stands in its batches, and in which session."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.producers.recorded import RecordingHost

from unmask.producers import Budget, Emitter, EmitterSettings
from unmask.producers.store import MemoryStore
from unmask.schemas.codes import Family


@pytest.fixture
def host() -> Iterator[RecordingHost]:
    made = RecordingHost()
    yield made
    made.emitter.close(0)


def _sessions(host: RecordingHost, field: str) -> list[str]:
    return [event["session_id"] for event in host.events(field)]


def test_calls_and_effects_stand_in_a_batch_with_all_that_was_said(host: RecordingHost) -> None:
    with host.session() as session:
        with host.emitter.delegation("repair-7", budget=Budget(calls=9), scope="fix-tests", signal="tree") as d:
            d.turn = 4
            d.call(tokens=120, state={"failing": ["a"]}, conditions="commit-1", measure=1)
            d.call(False)
            d.refused("gate", "HALTED")
        (first, second) = host.events("delegation_progress", session)
        (effect,) = host.events("delegation_effects", session)
    said: dict[str, Any] = {
        "delegation_id": "repair-7", "invocation_id": d.invocation_id, "step": 1, "turn": 4, "outcome": "succeeded",
        "attempt": 1, "tokens": 120, "signal": "tree", "subject": None, "measure": 1, "declared_scope": "fix-tests",
        "budget_calls": 9, "budget_tokens": None, "budget_attempts": None,
    }  # fmt: skip
    assert {name: first[name] for name in said} == said
    assert first["state_digest"].startswith("sha256-")
    assert first["conditions"].startswith("sha256-")
    assert (second["step"], second["outcome"], second["signal"], second["state_digest"]) == (2, "failed", None, None)
    assert (effect["step"], effect["enforcer"], effect["answer"], effect["turn"]) == ("refused", "gate", "HALTED", 4)
    counts = host.emitter.counts()
    assert counts[Family.DELEGATION_PROGRESS].recorded == 2
    assert counts[Family.DELEGATION_EFFECT].recorded == 1


def test_a_delegation_without_a_session_opens_and_tears_down_one_of_its_own_id(host: RecordingHost) -> None:
    with host.emitter.delegation("alone-1") as d:
        d.call()
    with pytest.raises(LookupError), host.emitter.delegation("alone-2"):
        raise LookupError
    assert _sessions(host, "session_openings") == ["alone-1", "alone-2"]
    teardowns = [(one["session_id"], one["outcome"]) for one in host.events("session_teardowns")]
    assert teardowns[-2:] == [("alone-1", "success"), ("alone-2", "failure")]


def test_in_a_session_of_the_same_emitter_it_opens_none(host: RecordingHost) -> None:
    with host.session() as session, host.emitter.delegation("inside") as d:
        assert d.session_id == session.session_id
        d.call()
    with host.emitter.delegation("named", session=session) as d:
        assert d.session_id == session.session_id
    assert _sessions(host, "session_openings") == [session.session_id]


def test_a_session_of_another_emitter_is_not_its_session(host: RecordingHost) -> None:
    other = RecordingHost()
    try:
        with other.session(), host.emitter.delegation("stranger") as d:
            assert d.session_id == "stranger"
    finally:
        other.emitter.close(0)


def test_delegations_of_one_emitter_share_their_accounts_and_the_outbox_keeps_them(tmp_path: Path) -> None:
    settings = EmitterSettings(bootstrap_servers="127.0.0.1:1", flush_interval_ms=3_600_000, outbox_dir=tmp_path)
    for expected in (1, 2):
        emitter = Emitter(settings, stores=lambda _: MemoryStore())
        try:
            with emitter.delegation("repair-1", budget=Budget(calls=5)) as d:
                d.call()
            assert emitter.delegation("repair-1").spent.calls == expected
            assert emitter.health().internal_errors == 0
        finally:
            emitter.close(0)
    assert (tmp_path / settings.topic / ".delegations" / "book.db").exists()


def test_a_book_that_cannot_be_kept_is_seen_in_the_health_and_by_who_asks(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings = EmitterSettings(
        bootstrap_servers="127.0.0.1:1", flush_interval_ms=3_600_000, outbox_dir=tmp_path / "file"
    )
    emitter = Emitter(settings, stores=lambda _: MemoryStore())
    try:
        with emitter.delegation("repair-1", session="s-1") as d:
            d.call()
            assert d.problem == "ENOTDIR"
            assert d.spent.calls == 1
        assert emitter.health().internal_errors == 1
    finally:
        emitter.close(0)
