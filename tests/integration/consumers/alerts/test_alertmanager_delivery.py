"""Alerts carried from a real topic to Debian's Alertmanager, and from it to whoever it notifies."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.alert_records import FIRING, RESOLVED, alert_of_kind, alert_record
from tests.integration.consumers.alerts.alertmanager_process import AlertmanagerProcess
from tests.integration.consumers.alerts.receiving import Hook, Watcher, eventually

from unmask.consumers.alerts.alertmanager import Posted, post_body
from unmask.consumers.alerts.answer import Accepted, Refused
from unmask.consumers.alerts.outbox import Content
from unmask.consumers.alerts.poster import Poster
from unmask.consumers.alerts.receiver import Receiver, ReceiverKind
from unmask.schemas.codes import AlertKind
from unmask.schemas.topics import Topics

# Longer than usual, since what it drives may have to be installed first.
pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

Publish = Callable[..., None]
Watch = Callable[..., Watcher]


@pytest.fixture
def people(hook: Hook) -> Hook:
    """Whom Alertmanager notifies."""
    return hook


@pytest.fixture
def alertmanager(people: Hook, tmp_path: Path) -> Iterator[AlertmanagerProcess]:
    """A real Alertmanager."""
    process = AlertmanagerProcess(tmp_path, people.url).start()
    yield process
    process.stop()


def notified(people: Hook) -> list[tuple[str, str]]:
    """Status and upstream of every alert in every notification."""
    sent = [one for request in people.accepted for one in request.body["alerts"]]
    return [(one["status"], one["labels"]["upstream"]) for one in sent]


def test_an_alert_fires_in_alertmanager_in_words_and_is_resolved_and_people_are_told_of_both(
    alertmanager: AlertmanagerProcess, people: Hook, watch: Watch, publish_alerts: Publish, topics: Topics
) -> None:
    publish_alerts(("prices", FIRING, 1))
    watcher = watch("--alertmanager", alertmanager.url)
    eventually(lambda: notified(people) == [("firing", "prices")])
    standing = alertmanager.alerts()["prices"]
    assert standing["labels"] == {
        "alertname": "UnmaskUpstreamOutage", "severity": "critical", "namespace": topics.namespace,
        "alert_id": "UPSTREAM_OUTAGE|prices", "upstream": "prices",
    }  # fmt: skip
    assert standing["annotations"]["summary"] == (
        "Upstream prices was unreachable for 3 sessions; 7 errors were hidden from callers."
    )
    assert standing["annotations"]["action"].startswith("Check upstream prices")
    assert datetime.fromisoformat(standing["startsAt"]) == datetime(2026, 1, 1, 12, tzinfo=UTC)
    ends_in = datetime.fromisoformat(standing["endsAt"]) - datetime.now(UTC)
    assert timedelta(seconds=200) < ends_in <= timedelta(seconds=300)

    publish_alerts(("prices", RESOLVED, 2))
    eventually(lambda: notified(people) == [("firing", "prices"), ("resolved", "prices")])
    assert alertmanager.firing() == set()
    assert watcher.end() == 0
    assert [(found["upstream"], found["state"]) for found in watcher.told] == [
        ("prices", FIRING), ("prices", RESOLVED),
    ]  # fmt: skip


@pytest.mark.chaos
def test_what_fires_is_repeated_in_time_by_whichever_watcher_lives_and_ends_when_none_does(
    alertmanager: AlertmanagerProcess, people: Hook, watch: Watch, publish_alerts: Publish
) -> None:
    arguments = ("--alertmanager", alertmanager.url, "--resolve-after", "9")
    publish_alerts(("prices", FIRING, 1), alert_record("cache", FIRING, 1))
    first = watch(*arguments)
    eventually(lambda: alertmanager.firing() == {"prices", "cache"})
    # Longer than Alertmanager waits: only repetition keeps them firing, with counts as they are by then.
    publish_alerts(alert_record("cache", FIRING, 2, facts={"sessions": 44, "masked_errors": 1}))
    until = time.monotonic() + 12
    while time.monotonic() < until:
        assert alertmanager.firing() == {"prices", "cache"}
        time.sleep(0.2)
    assert "44 sessions" in alertmanager.alerts()["cache"]["annotations"]["summary"]
    assert sorted(notified(people)) == [("firing", "cache"), ("firing", "prices")]

    first.kill()
    eventually(lambda: alertmanager.firing() == set())
    second = watch(*arguments)
    eventually(lambda: alertmanager.firing() == {"prices", "cache"})
    publish_alerts(("prices", RESOLVED, 3))
    eventually(lambda: alertmanager.firing() == {"cache"})
    assert second.end() == 0
    assert [(found["upstream"], found["state"]) for found in second.told] == [("prices", RESOLVED)]


@pytest.mark.chaos
def test_nothing_is_lost_while_alertmanager_is_away_or_when_it_comes_back_with_nothing_in_its_mind(
    alertmanager: AlertmanagerProcess, people: Hook, watch: Watch, publish_alerts: Publish
) -> None:
    arguments = ("--alertmanager", alertmanager.url, "--resolve-after", "15", "--timeout", "2")
    publish_alerts(("a", FIRING, 1), ("b", FIRING, 1))
    watcher = watch(*arguments)
    eventually(lambda: alertmanager.firing() == {"a", "b"})
    eventually(lambda: len(notified(people)) == 2)
    alertmanager.stop()
    publish_alerts(("a", RESOLVED, 2), ("c", FIRING, 2), *((f"u-{number}", FIRING, 2) for number in range(150)))
    eventually(lambda: "ConnectError" in watcher.log)
    watcher.kill()
    watcher = watch(*arguments)
    publish_alerts(("u-149", RESOLVED, 3))
    eventually(lambda: "ConnectError" in watcher.log)
    alertmanager.start()
    expected = {"b", "c", *(f"u-{number}" for number in range(149))}
    eventually(lambda: alertmanager.firing() == expected)
    eventually(lambda: ("resolved", "a") in notified(people))
    assert watcher.end() == 0
    assert "did not take a delivery" in watcher.log


def test_alertmanager_takes_every_kind_of_alert_and_its_refusal_is_told_from_a_failure(
    alertmanager: AlertmanagerProcess,
) -> None:
    receiver = Receiver(ReceiverKind.ALERTMANAGER, alertmanager.url)
    now = datetime.now(UTC)
    with Poster(receiver, timeout=5.0) as poster:
        every_kind = [Posted(alert_of_kind(kind), timedelta(minutes=5)) for kind in AlertKind]
        assert poster.post(Content(post_body("unmask", every_kind, now), {})).result(10) == Accepted(200)
        broken = json.loads(post_body("unmask", every_kind[:1], now))
        broken[0]["labels"]["not a name"] = "x"
        assert poster.post(Content(json.dumps(broken).encode(), {})).result(10) == Refused(400)
    fires = {one["labels"]["alert_id"] for one in alertmanager.alerts().values()}
    assert fires == {alert_of_kind(kind).alert_id for kind in AlertKind}
