"""Alerts carried from a real topic to a real HTTP server that fails, hangs, refuses and comes back."""

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.alert_records import FIRING, RESOLVED, alert_record
from tests.integration.consumers.alerts.receiving import Hook, Watcher, eventually

pytestmark = pytest.mark.integration

Joined = Callable[..., None]
Publish = Callable[..., None]
Watch = Callable[..., Watcher]


def identity(upstream: str) -> str:
    return f"UPSTREAM_OUTAGE|{upstream}"


def of(hook: Hook, upstream: str) -> list[str]:
    """The states that were taken of one alert, each delivery once, in the order of their first arrival."""
    seen = dict.fromkeys((request.key, request.change) for request in hook.accepted)
    return [state for _, (found, state) in seen if found == identity(upstream)]


def test_what_fires_and_what_is_resolved_arrives_once_and_in_order_also_over_a_restart(
    hook: Hook, watch: Watch, publish_alerts: Publish
) -> None:
    publish_alerts(("old", FIRING, 1), ("old", RESOLVED, 2), ("a", FIRING, 1))
    watcher = watch("--webhook", hook.url, UNMASK_WATCH_AUTHORIZATION="Bearer t0ken")
    eventually(lambda: hook.changes() == [(identity("a"), FIRING)])
    # A worker that starts anew publishes what stands once more; counts that grow are no news.
    publish_alerts(("a", FIRING, 1), alert_record("a", FIRING, 2, facts={"sessions": 9}), ("b", FIRING, 2))
    eventually(lambda: len(hook.accepted) == 2)
    assert watcher.end() == 0
    assert "2 change(s) told, 0 set aside, 0 left" in watcher.log

    publish_alerts(("a", FIRING, 1), ("b", FIRING, 2), ("a", RESOLVED, 3))
    again = watch("--webhook", hook.url)
    eventually(lambda: len(hook.accepted) == 3)
    publish_alerts(("c", FIRING, 4))
    eventually(lambda: len(hook.accepted) == 4)
    assert hook.changes() == [
        (identity("a"), FIRING), (identity("b"), FIRING), (identity("a"), RESOLVED), (identity("c"), FIRING),
    ]  # fmt: skip
    eventually(lambda: [found["alert_id"] for found in list(again.told)] == [identity("a"), identity("c")])
    for request in hook.accepted:
        assert request.body["idempotency_key"] == request.key
        assert (request.body["schema"], request.body["schema_version"]) == ("unmask.alert", 1)


@pytest.mark.chaos
@pytest.mark.timeout(240)
def test_no_alert_is_lost_or_overtaken_over_an_outage_and_killed_watchers(
    hook: Hook, watch: Watch, publish_alerts: Publish
) -> None:
    names = [f"u-{number:02}" for number in range(30)]

    def start() -> Watcher:
        return watch("--webhook", hook.url, "--timeout", "1")

    watcher = start()
    publish_alerts(*((name, FIRING, 1) for name in names[:10]))
    eventually(lambda: len(hook.accepted) == 10)

    hook.answer = lambda _: 503
    publish_alerts(*((name, RESOLVED, 2) for name in names[:10]))
    eventually(lambda: len(hook.requests) > 12)
    watcher.kill()

    hook.answer = lambda _: Hook.HANG
    watcher = start()
    publish_alerts(*((name, FIRING, 3) for name in names[10:20]))
    eventually(lambda: hook.requests[-1].status == Hook.HANG)
    eventually(lambda: "no answer within 1 s" in watcher.log)
    watcher.kill()

    hook.stop()
    watcher = start()
    publish_alerts(*((name, RESOLVED, 4) for name in names[10:20]), *((name, FIRING, 5) for name in names[20:]))
    eventually(lambda: "ConnectError" in watcher.log)
    assert "s3cret" not in watcher.log

    # It comes back and takes every other request, and a watcher is killed once more while it does.
    before = len(hook.requests)
    hook.answer = lambda _: 200 if len(hook.requests) % 2 else 503
    hook.start()
    eventually(lambda: len(hook.requests) > before + 8)
    watcher.kill()
    hook.answer = lambda _: 200
    watcher = start()
    expected = {name: [FIRING, RESOLVED] if name < "u-20" else [FIRING] for name in names}
    eventually(lambda: all(of(hook, name) == expected[name] for name in names), timeout=60)
    assert watcher.end() == 0

    calm = len(hook.requests)
    last = start()
    publish_alerts(("last", FIRING, 6))
    eventually(lambda: of(hook, "last") == [FIRING])
    assert len(hook.requests) == calm + 1
    assert last.end() == 0
    # What was taken and not yet committed when a watcher was killed came twice, under the same key; nothing else did.
    twice = [key for key, count in Counter(request.key for request in hook.accepted).items() if count > 1]
    assert len(twice) <= 20


def test_a_delivery_that_is_refused_for_good_is_set_aside_and_counted_and_the_rest_arrives(
    hook: Hook, watch: Watch, joined: Joined, publish_alerts: Publish, tmp_path: Path
) -> None:
    hook.answer = lambda body: 422 if body["alert"]["upstream"].startswith("bad") else 200
    file = tmp_path / "refused.jsonl"
    watcher = watch("--webhook", hook.url, "--name", "pager", "--set-aside", str(file))
    joined("pager")
    publish_alerts(("bad-1", FIRING, 1), ("good", FIRING, 1), ("bad-2", FIRING, 1), ("good", RESOLVED, 2))
    eventually(lambda: len(hook.accepted) == 2 and watcher.log.count("DeliveryRefused") == 2)
    publish_alerts(("good-2", FIRING, 3))
    eventually(lambda: len(hook.accepted) == 3)
    assert watcher.end() == 1
    assert "HTTP 422" in watcher.log
    assert "2 so far" in watcher.log
    assert "3 change(s) told, 2 set aside, 0 left" in watcher.log
    refused = [json.loads(line) for line in file.read_text().splitlines()]
    assert {line["alert"]["upstream"] for line in refused} == {"bad-1", "bad-2"}
    assert {line["status"] for line in refused} == {422}

    # Not an endless loop: neither was tried twice, nor is it after a restart, but what follows of it is.
    again = watch("--webhook", hook.url, "--name", "pager")
    publish_alerts(("bad-1", RESOLVED, 4), ("good-3", FIRING, 4))
    eventually(lambda: len(hook.accepted) == 4)
    eventually(lambda: "DeliveryRefused" in again.log)
    assert Counter(request.change for request in hook.requests if request.status == 422) == {
        (identity("bad-1"), FIRING): 1, (identity("bad-2"), FIRING): 1, (identity("bad-1"), RESOLVED): 1,
    }  # fmt: skip


def test_a_wrong_address_ends_the_watcher_and_costs_no_alert(hook: Hook, watch: Watch, publish_alerts: Publish) -> None:
    names = [f"u-{number:02}" for number in range(25)]
    publish_alerts(*((name, FIRING, 1) for name in names))
    hook.answer = lambda _: 404
    watcher = watch("--webhook", hook.url)
    assert eventually(lambda: watcher.process.poll()) == 1
    watcher.end()
    # Another lane's refusal may be under way when the twentieth is counted.
    assert re.search(r"refused 2\d deliveries in a row", watcher.log), watcher.log
    assert "correct its path" in watcher.log
    assert "Traceback" not in watcher.log
    hook.answer = lambda _: 200
    watch("--webhook", hook.url)
    eventually(lambda: {found for found, _ in hook.changes()} == {identity(name) for name in names})
    assert len(hook.accepted) == 25


@pytest.mark.chaos
def test_two_watchers_of_one_name_share_the_work_and_one_takes_over_from_the_other(
    hook: Hook, watch: Watch, joined: Joined, publish_alerts: Publish
) -> None:
    names = [f"u-{number:02}" for number in range(40)]
    first, second = watch("--webhook", hook.url, "--name", "pager"), watch("--webhook", hook.url, "--name", "pager")
    joined("pager", members=2)
    publish_alerts(*((name, FIRING, 1) for name in names[:30]))
    eventually(lambda: len(hook.accepted) == 30)
    eventually(lambda: first.told and second.told)
    first.kill()
    publish_alerts(*((name, FIRING, 2) for name in names[30:]), *((name, RESOLVED, 2) for name in names[:5]))
    eventually(lambda: all(of(hook, name)[:1] == [FIRING] for name in names))
    eventually(lambda: all(of(hook, name) == [FIRING, RESOLVED] for name in names[:5]))
    assert second.end() == 0


def test_a_receiver_that_refuses_one_alert_with_a_fault_of_its_own_gets_all_others(
    hook: Hook, watch: Watch, publish_alerts: Publish
) -> None:
    hook.answer = lambda body: 500 if body["alert"]["upstream"] == "poison" else 200
    watch("--webhook", hook.url)
    publish_alerts(("poison", FIRING, 1), *((f"u-{number}", FIRING, 1) for number in range(20)))
    eventually(lambda: len(hook.accepted) == 20)
    hook.answer = lambda _: 200
    eventually(lambda: of(hook, "poison") == [FIRING])


def test_a_topic_that_is_not_there_is_named_at_the_start(kafka: str, namespace: str, hook: Hook) -> None:
    watcher = Watcher(kafka, namespace, "--webhook", hook.url)
    assert eventually(lambda: watcher.process.poll()) == 1
    watcher.end()
    assert "unmask topics create" in watcher.log
    assert "Traceback" not in watcher.log
