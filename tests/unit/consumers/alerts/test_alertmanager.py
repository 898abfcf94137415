"""What Alertmanager is posted: labels that never change, and words."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.alert_records import FIRING, RESOLVED, SCOPE, SINCE, alert, alert_of_kind

from unmask.consumers.alerts.alertmanager import Posted, labels, posted_alert
from unmask.consumers.alerts.words import KINDS, Severity, what_happened, what_to_do
from unmask.schemas.codes import AlertKind, Directive
from unmask.schemas.models import Alert
from unmask.schemas.windowing import MICROS

NOW = datetime(2026, 1, 1, 13, tzinfo=UTC)
KNOWN = [kind for kind in AlertKind if kind is not AlertKind.UNKNOWN_ALERT]


def post(alert: Alert, holds_for: float = 300.0) -> dict[str, Any]:
    return posted_alert("unmask", Posted(alert, timedelta(seconds=holds_for)), NOW)


@pytest.mark.parametrize("kind", AlertKind)
def test_labels_follow_from_the_identity_alone(kind: AlertKind) -> None:
    firing = alert_of_kind(kind)
    later = alert_of_kind(
        kind, RESOLVED, revision=9, scope=None, directive="NONE", causes=[], facts={}, since=SINCE - MICROS,
        window_start=None, window_seconds=None,
    )  # fmt: skip
    assert labels("unmask", firing) == labels("unmask", later)


@pytest.mark.parametrize("kind", AlertKind)
def test_labels_are_few_short_and_legal_and_tell_alerts_apart(kind: AlertKind) -> None:
    found = labels("unmask", alert_of_kind(kind))
    assert 4 <= len(found) <= 8
    for name, value in found.items():
        assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name)
        assert 0 < len(value) <= 400
        assert value != "*"
    assert found["alertname"].startswith("Unmask")
    assert found["alert_id"] == alert_of_kind(kind).alert_id


def test_the_parts_of_an_identity_are_labels_of_their_own() -> None:
    own = {
        kind: {name: value for name, value in labels("unmask", alert_of_kind(kind)).items()
               if name not in ("alertname", "severity", "namespace", "alert_id")}
        for kind in KNOWN
    }  # fmt: skip
    scope = {"release_line": "line-1", "composition": SCOPE.composition}
    session = {"session_id": "s-1"}
    assert own == {
        AlertKind.DEGRADED_SESSION: session,
        AlertKind.HARD_FAILURE: session,
        AlertKind.CONTRADICTION: session,
        AlertKind.UPSTREAM_OUTAGE: {"upstream": "prices"},
        AlertKind.TELEMETRY_LOSS: {"window_seconds": "60", "window": str(SINCE // MICROS), **scope},
        AlertKind.TELEMETRY_ABSENT: {},
        AlertKind.SILENT_EMITTER: {"emitter_id": "e-1"},
        AlertKind.FALLBACK_RATE: {**scope, "capability": "search"},
        AlertKind.UNVERIFIABLE_VERDICT: session,
        AlertKind.PREFERENCE_DRIFT: session,
        AlertKind.EMERGENCY_AS_DEFAULT: session,
        AlertKind.WATCHDOG_DEPENDENT: session,
        AlertKind.CLEANUP_UNSEEN: session,
        AlertKind.STALLED_DELEGATION: {**session, "delegation_id": "d-1"},
        AlertKind.BUDGET_EXCEEDED: {**session, "delegation_id": "d-1"},
        AlertKind.DUPLICATE_EFFECT: {**session, "delegation_id": "d-1"},
        AlertKind.IDENTITY_CONFLICT: session,
        AlertKind.ENFORCEMENT_BLOCKED: {**session, "delegation_id": "d-1"},
    }
    stalled = alert_of_kind(AlertKind.TELEMETRY_ABSENT, alert_id="TELEMETRY_ABSENT|stalled|3", facts={"partition": 3})
    assert {"condition": "stalled", "source_partition": "3"}.items() <= labels("unmask", stalled).items()


def test_an_identity_that_a_later_version_extends_is_one_label_still() -> None:
    found = labels("unmask", alert_of_kind(AlertKind.UPSTREAM_OUTAGE, alert_id="UPSTREAM_OUTAGE|prices|europe"))
    assert "upstream" not in found
    assert found["alert_id"] == "UPSTREAM_OUTAGE|prices|europe"


def test_an_alert_fires_from_its_beginning_until_it_is_not_repeated() -> None:
    found = post(alert(), holds_for=120.0)
    assert (found["startsAt"], found["endsAt"]) == ("2026-01-01T12:00:00Z", "2026-01-01T13:02:00Z")


def test_a_resolved_alert_ends_when_it_ended_and_never_in_the_future() -> None:
    over = post(alert(state=RESOLVED))
    assert (over["startsAt"], over["endsAt"]) == ("2026-01-01T12:00:00Z", "2026-01-01T12:01:00Z")
    ahead = post(alert(state=RESOLVED, until=SINCE + 7_200 * MICROS))
    assert ahead["endsAt"] == "2026-01-01T13:00:00Z"


@pytest.mark.parametrize("kind", AlertKind)
@pytest.mark.parametrize("state", [FIRING, RESOLVED])
def test_annotations_say_in_words_what_happened_and_what_to_do(kind: AlertKind, state: str) -> None:
    words = post(alert_of_kind(kind, state))["annotations"]
    for name in ("summary", "action"):
        assert re.fullmatch(r"[A-Z0-9].{20,}\.", words[name], re.DOTALL)
        assert "None" not in words[name]
        assert "{" not in words[name]
    assert words["summary"].startswith("Resolved. ") is (state == RESOLVED)


@pytest.mark.parametrize("kind", AlertKind)
def test_words_do_not_depend_on_what_is_not_known_yet(kind: AlertKind) -> None:
    bare = alert_of_kind(
        kind, scope=None, directive=None, causes=[], facts={}, window_start=None, window_seconds=None
    )  # fmt: skip
    for text in (what_happened(bare), what_to_do(bare)):
        assert text.endswith(".")
        assert "None" not in text


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (AlertKind.DEGRADED_SESSION, "In session s-1, 5 of 20 operations were answered by a substitute"),
        (AlertKind.HARD_FAILURE, "Session s-1 did not reach its objective"),
        (AlertKind.CONTRADICTION, "host of session s-1 claimed less"),
        (AlertKind.UPSTREAM_OUTAGE, "Upstream prices was unreachable for 3 sessions; 7 errors"),
        (
            AlertKind.TELEMETRY_LOSS,
            "window of 60 s that began at 2026-01-01T12:00:00Z of release line line-1, 12 events",
        ),
        (AlertKind.TELEMETRY_ABSENT, "no emitter witnesses them"),
        (AlertKind.SILENT_EMITTER, "Emitter e-1 of release line line-1 stopped without closing"),
        (AlertKind.FALLBACK_RATE, "9 fallbacks on 100 attempts of capability search of release line line-1"),
        (AlertKind.UNVERIFIABLE_VERDICT, "about session s-1 was altered, replayed, or not signed"),
        (AlertKind.PREFERENCE_DRIFT, "In session s-1 an automatic choice outlived the turn or window"),
        (AlertKind.EMERGENCY_AS_DEFAULT, "Session s-1 used an emergency profile in a turn in which its primary"),
        (AlertKind.WATCHDOG_DEPENDENT, "In session s-1 nothing but the watchdog"),
        (AlertKind.CLEANUP_UNSEEN, "no record says who ended it"),
        (AlertKind.STALLED_DELEGATION, "Delegation d-1 of session s-1 made 54 calls in a row that succeeded"),
        (AlertKind.BUDGET_EXCEEDED, "Delegation d-1 of session s-1 spent more than it was given (54 calls of 40)"),
        (AlertKind.DUPLICATE_EFFECT, "An effect of delegation d-1 of session s-1 was committed more than once"),
        (AlertKind.IDENTITY_CONFLICT, "Two lives claim one identity"),
        (AlertKind.ENFORCEMENT_BLOCKED, "Delegation d-1 of session s-1 was refused for 107 turns without one"),
        (AlertKind.UNKNOWN_ALERT, "does not know"),
    ],
)
def test_each_kind_says_what_it_is_about(kind: AlertKind, words: str) -> None:
    changes: dict[str, Any] = {}
    if kind is AlertKind.UPSTREAM_OUTAGE:
        changes = {"facts": {"sessions": 3, "masked_errors": 7}}
    assert words in what_happened(alert_of_kind(kind, FIRING, **changes))


@pytest.mark.parametrize(
    ("directive", "words"),
    [
        (Directive.NONE, "let the session end"),
        (Directive.PROBE_UPSTREAM_BEFORE_ACTION, "whether it answers again"),
        (Directive.RE_FETCH_FROM_PRIMARY, "the primary's own answer"),
        (Directive.HALT_AND_ALERT_DEVELOPER, "Stop whatever continues"),
    ],
)
def test_a_directive_is_said_in_words_with_the_command_that_tells_more(directive: Directive, words: str) -> None:
    said = what_to_do(alert_of_kind(AlertKind.DEGRADED_SESSION, directive=directive.value))
    assert words in said
    assert "unmask gate s-1" in said


def test_a_stalled_partition_has_its_own_words() -> None:
    stalled = alert_of_kind(AlertKind.TELEMETRY_ABSENT, alert_id="TELEMETRY_ABSENT|stalled|3", facts={"partition": 3})
    assert "partition 3" in what_happened(stalled)
    assert "stream workers" in what_to_do(stalled)


def test_every_kind_has_a_name_of_its_own_and_a_severity() -> None:
    assert set(KINDS) == set(AlertKind)
    assert len({kind.name for kind in KINDS.values()}) == len(AlertKind)
    assert {kind.severity for kind in KINDS.values()} == set(Severity)
