"""The body that a webhook receives."""

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.alert_records import FIRING, RESOLVED, SCOPE, alert, alert_of_kind

from unmask.consumers.alerts import WebhookBody
from unmask.consumers.alerts.webhook import idempotency_key, webhook_body
from unmask.schemas.codes import AlertKind
from unmask.schemas.tokens import is_token

NOW = datetime(2026, 1, 1, 12, 0, 5, tzinfo=UTC)
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def document(kind: AlertKind, state: str = FIRING) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(webhook_body("unmask", alert_of_kind(kind, state), NOW).model_dump_json())
    return found


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, *texts(item))]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


def test_the_body_says_its_schema_and_version_and_holds_the_whole_record() -> None:
    found = document(AlertKind.FALLBACK_RATE)
    assert {name: found[name] for name in found if name not in ("alert", "idempotency_key")} == {
        "schema": "unmask.alert",
        "schema_version": 1,
        "namespace": "unmask",
        "sent_at": "2026-01-01T12:00:05Z",
        "severity": "warning",
    }
    assert found["alert"] == {
        "alert_id": f"FALLBACK_RATE|line-1|{SCOPE.composition}|search", "kind": "FALLBACK_RATE", "state": "FIRING",
        "since": "2026-01-01T12:00:00Z", "until": None, "scope": SCOPE._asdict(), "session_id": None,
        "emitter_id": None, "upstream": None, "capability": "search", "window_start": "2026-01-01T12:00:00Z",
        "window_seconds": 60, "directive": None, "causes": [], "facts": {"attempts": 100, "fallbacks": 9},
        "revision": 1, "delegation_id": None,
    }  # fmt: skip


@pytest.mark.parametrize("kind", AlertKind)
@pytest.mark.parametrize("state", [FIRING, RESOLVED])
def test_every_text_in_a_body_is_a_token_an_instant_or_an_identity_of_tokens(kind: AlertKind, state: str) -> None:
    for text in texts(document(kind, state)):
        parts = text.split("|")
        assert INSTANT.fullmatch(text) or all(part == "*" or is_token(part) for part in parts), text


def test_a_receiver_can_read_a_body_back() -> None:
    written = webhook_body("unmask", alert(), NOW)
    assert WebhookBody.model_validate_json(written.model_dump_json()) == written


def test_a_field_that_a_later_version_adds_does_not_hurt_a_reader() -> None:
    found = document(AlertKind.CONTRADICTION) | {"added_later": 1}
    assert WebhookBody.model_validate_json(json.dumps(found)).alert.kind is AlertKind.CONTRADICTION


def test_a_key_is_the_same_for_every_delivery_of_a_change_and_for_nothing_else() -> None:
    key = idempotency_key("unmask", alert())
    assert re.fullmatch(r"[0-9a-f]{64}", key)
    assert key == webhook_body("unmask", alert(), NOW).idempotency_key
    others = [
        idempotency_key("other", alert()),
        idempotency_key("unmask", alert("cache")),
        idempotency_key("unmask", alert(revision=2)),
        idempotency_key("unmask", alert(state=RESOLVED)),
        idempotency_key("unmask", alert(facts={"sessions": 4})),
    ]
    assert len({key, *others}) == 6


def test_what_a_later_version_added_gives_a_change_that_was_told_before_no_other_key() -> None:
    # As it was before alerts could be about a delegation; receivers have it.
    assert idempotency_key("unmask", alert()) == "9b380cb7d23585734ae547e0c028de5d2ff1d84b84438cf486576bd0ff00300b"
    assert idempotency_key("unmask", alert(delegation_id="d-1")) != idempotency_key("unmask", alert())


def test_a_key_does_not_depend_on_the_order_of_facts() -> None:
    one, other = alert(facts={"a": 1, "b": 2}), alert(facts={"b": 2, "a": 1})
    assert idempotency_key("unmask", one) == idempotency_key("unmask", other)
