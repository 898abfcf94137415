"""Secrets and texts that are put into every argument appear nowhere outside of the host's memory."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from unmask.producers import Emitter, Substitute
from unmask.schemas.models import EventBatch
from unmask.schemas.models.record import from_avro

CANARIES = [
    "sk-live-canary8f3e0123456789abcdef",
    "AKIACANARY8F3E00000",
    "canary8f3e@example.org",
    "https://canary8f3e.example.org/path?key=canary8f3e",
    "postgres://user:canary8f3e@db/host",
    "Traceback: canary8f3e timed out after 5 s while reading 503 from /home/canary8f3e",
    "canary8f3e with spaces",
    "canary8f3e" * 50,
    "canary8f3e\x00\n",
]


class Failure(Exception):
    def __init__(self, canary: str) -> None:
        super().__init__(canary)
        self.code = canary
        self.type = canary
        self.body = {"error": {"message": canary, "code": canary}}


def test_no_canary_leaves_the_host(
    emitter: Emitter, kept: Any, cut: Callable[[], list[dict[str, Any]]], caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)

    def fail(canary: str) -> Callable[[], Any]:
        def call() -> Any:
            raise Failure(canary)

        return call

    for canary in CANARIES:
        emitter.record_route_attempt(canary, canary, canary)
        for reason in (canary, Failure(canary), canary.encode()):
            emitter.record_fallback(
                canary, reason, entry_point=canary, run_id=canary, tenant_id=canary, conversation_id=canary,
                session_id=canary, operation_id=f"{canary}{id(reason)}",
            )  # fmt: skip
        for error in (canary, Failure(canary)):
            emitter.record_masked_error(
                canary, canary, canary, error, canary, equivalence=canary, answered_by="other", primary_shape=canary,
                fallback_shape=canary,
            )  # fmt: skip
        for fault in (canary, Failure(canary), None):
            emitter.record_selection(
                canary, 1, canary, source="auto", scope="turn", timeline="live", cleared_by="runtime",
                reason_code=fault,
            )  # fmt: skip
            emitter.record_selection(canary, 1, canary, source=canary, scope=canary, timeline=canary, cleared_by=canary)
        emitter.record_delegation_progress(
            delegation_id=canary, session_id=canary, invocation_id=canary, step=1, turn=1, outcome="succeeded",
            signal=canary, state_digest=canary, conditions=canary, subject=canary, declared_scope=canary,
        )  # fmt: skip
        emitter.record_delegation_effect(
            delegation_id=canary, session_id=canary, invocation_id=canary, turn=1, step="refused", enforcer="gate",
            answer=canary, effect_key=canary, fingerprint=canary, receipt=canary, by=canary, reason_code=canary,
        )  # fmt: skip
        emitter.selections(canary, candidates=[canary], emergency=[canary + "2"]).turn(1).recover(Failure(canary))
        with emitter.session(canary, canary, primary_paths=[(canary, "x")]) as session:
            way = Substitute(canary + "-2", lambda: 1, canary)
            session.call(canary, fail(canary), fail(canary), way, capability=canary, entry_point=canary, run_id=canary,
                         operation_id=canary)  # fmt: skip
    batches = cut()
    assert len(batches) > 1
    assert all(from_avro(EventBatch, batch).batch_seq for batch in batches)
    published = b"".join(batch.data for batch in kept.stored).lower()
    assert len(published) > 1_000
    spoken = f"{emitter.counts()!r}{emitter.health()!r}{emitter.close()!r}{caplog.text}{capfd.readouterr()}".lower()
    for word in (b"canary8f3e", b"example.org", b"sk-live", b"akia", b"traceback", b"postgres"):
        assert word not in published
        assert word.decode() not in spoken
