"""Alerts on the page: one sentence each, what concerns everybody first."""

import pytest
from tests.alert_records import alert_of_kind, alert_record
from tests.unit.streams.web.page.answering import overview_of
from tests.unit.streams.web.page.remembering import memory, put_alert

from unmask.schemas.codes import AlertKind
from unmask.schemas.models import to_avro
from unmask.streams.web.page.html.alerts import alerts_section


@pytest.mark.parametrize("kind", [kind for kind in AlertKind if kind is not AlertKind.UNKNOWN_ALERT])
def test_every_kind_has_a_sentence_and_a_runbook(kind: AlertKind) -> None:
    known = memory()
    put_alert(known, to_avro(alert_of_kind(kind)))
    (line,) = overview_of(known).alerts
    assert line.sentence.endswith(".")
    assert "does not know" not in line.sentence
    assert line.runbook == f"docs/operations/alerts.md#{kind.value.lower()}"
    assert line.sentence.split()[0] in alerts_section(overview_of(known))


def test_sessions_alerts_come_after_the_others_and_what_is_over_last() -> None:
    known = memory()
    put_alert(known, alert_record("over", "RESOLVED"))
    put_alert(known, to_avro(alert_of_kind(AlertKind.HARD_FAILURE)))
    put_alert(known, alert_record("here"))
    answer = overview_of(known)
    assert [line.alert_id for line in answer.alerts] == [
        "UPSTREAM_OUTAGE|here", "HARD_FAILURE|s-1", "UPSTREAM_OUTAGE|over",
    ]  # fmt: skip
    assert answer.alerts_firing == {"UPSTREAM_OUTAGE": 1, "HARD_FAILURE": 1}
    html = alerts_section(answer)
    assert "2 FIRING" in html
    assert '<a href="/sessions/s-1"' in html


def test_many_alerts_are_counted_and_what_is_left_out_is_said() -> None:
    known = memory()
    for number in range(80):
        put_alert(known, alert_record(f"u{number}"), number)
    answer = overview_of(known)
    assert (answer.alerts_firing, len(answer.alerts), answer.alerts_cut) == ({"UPSTREAM_OUTAGE": 80}, 50, 30)
    html = alerts_section(answer)
    assert "80 FIRING" in html
    assert "Show 40 more alerts" in html
    assert "30 more are left out" in html


def test_calm_is_said_in_words() -> None:
    assert "No alert fires." in alerts_section(overview_of(memory()))
