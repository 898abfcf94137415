"""Old and new hosts, workers and gates side by side: nothing is quarantined, nothing lost, and evidence stays right."""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.growth.earlier import Earlier
from tests.integration.growth.plain_host import ATTEMPTS, FALLBACKS, MASKED, TEARDOWNS, emitter_of, work
from tests.integration.growth.record_log import (
    FIRST,
    LATER,
    SIZE,
    evidence,
    newest,
    quarantined,
    state,
    totals,
    versions,
    windows,
)
from tests.schema_registry import running_registry
from tests.tables_on_kafka import Stream, WorkerProcess, eventually

from unmask.consumers.gate import Gate
from unmask.consumers.verify.outcome import Exit
from unmask.consumers.verify.request import Request
from unmask.consumers.verify.rules import RecountRules
from unmask.consumers.verify.verification import verify
from unmask.producers import Emitter
from unmask.schemas.codes import Family
from unmask.schemas.export import export_schemas

pytestmark = pytest.mark.integration

_QUICK = ("--instance", "one", "--window-seconds", str(SIZE), "--grace-seconds", "0.3", "--no-page")
_PLAIN = {
    Family.ROUTE_ATTEMPT: ATTEMPTS,
    Family.KERNEL_FALLBACK: FALLBACKS,
    Family.MASKED_ERROR: MASKED,
    Family.SESSION_TEARDOWN: TEARDOWNS,
}
_TOLD = {Family.ROUTE_SELECTION: 2, Family.DELEGATION_PROGRESS: 3, Family.DELEGATION_EFFECT: 1}

Keep = Callable[[WorkerProcess], WorkerProcess]
Host = Callable[[str], Emitter]


@pytest.fixture
def stream(kafka: str, namespace: str) -> Stream:
    return Stream(kafka, namespace)


@pytest.fixture
def earlier(tmp_path: Path) -> Earlier:
    return Earlier(tmp_path / "earlier")


@pytest.fixture
def keep() -> Iterator[Keep]:
    """Whatever is kept is ended with the test."""
    kept: list[WorkerProcess] = []

    def take(worker: WorkerProcess) -> WorkerProcess:
        kept.append(worker)
        return worker

    yield take
    for worker in kept:
        worker.end(signal.SIGKILL)


@pytest.fixture
def host(stream: Stream) -> Iterator[Host]:
    """Makes hosts of this tree, of a release line; closed with the test."""
    made: list[Emitter] = []

    def make(release_line: str) -> Emitter:
        made.append(emitter_of(stream.bootstrap, stream.topics.namespace, release_line))
        return made[-1]

    yield make
    for emitter in made:
        emitter.close(1)


def new_worker(stream: Stream) -> WorkerProcess:
    return WorkerProcess(stream.bootstrap, stream.topics.namespace, *_QUICK).wait_ready()


def tell(emitter: Emitter, prefix: str) -> None:
    """Everything that is new, in a session PREFIX-told of which nothing is wrong."""
    with emitter.session(f"{prefix}-told") as session:
        session.call("prices", lambda: 1, lambda: 2, receipt="cache")
        for turn in (1, 2):
            emitter.record_selection(session, turn, "precise", source="user", scope="session", timeline="live")
        with emitter.delegation(f"{prefix}-delegation") as delegation:
            for content in ("a", "b", "c"):
                delegation.call(state=content, signal="tests", tokens=5)
        emitter.record_delegation_effect(
            delegation_id=f"{prefix}-delegation", session_id=session, invocation_id="i1", turn=2, step="granted",
            enforcer="effects", answer="GRANTED", effect_key="k1", fencing_token=1,
        )  # fmt: skip


def verdicts(stream: Stream, *sessions: str) -> dict[str, dict[str, Any]]:
    """The sessions' verdicts, once all stand on complete evidence."""

    def all_stand() -> dict[str, dict[str, Any]] | None:
        found = {verdict["session_id"]: verdict for verdict in newest(stream, "verdict")}
        whole = all(session in found and found[session]["evidence"] == "COMPLETE" for session in sessions)
        return {session: found[session] for session in sessions} if whole else None

    found: dict[str, dict[str, Any]] = eventually(all_stand, 60)
    return found


def kinds(judged: dict[str, dict[str, Any]]) -> dict[str, str]:
    return by_kind({session: str(verdict["verdict"]) for session, verdict in judged.items()})


def by_kind(answers: dict[str, str]) -> dict[str, str]:
    """By the second part of the sessions' names; all that share it must have the same answer."""
    found: dict[str, str] = {}
    for session, answer in answers.items():
        assert found.setdefault(session.partition("-")[2], answer) == answer, answers
    return found


def proven(stream: Stream, expected: dict[Family, int], release_line: str | None = None) -> list[dict[str, Any]]:
    """The windows, once they add up and are proven for the families that every host tells of."""
    deadline = time.monotonic() + 60
    while True:
        found = windows(stream, release_line)
        states = {family: evidence(found, family) for family in FIRST}
        if totals(found) == expected and all(state == {"COMPLETE"} for state in states.values()):
            return found
        assert time.monotonic() < deadline, (totals(found), states)
        time.sleep(0.1)


def times(n: int, counts: dict[Family, int]) -> dict[Family, int]:
    return {family: n * count for family, count in counts.items()}


JUDGED = {"clean": "CLEAN_SUCCESS", "degraded": "DEGRADED_SUCCESS"}


def test_old_hosts_and_new_ones_are_counted_by_a_new_worker_and_an_old_gate_goes_on(
    stream: Stream, earlier: Earlier, keep: Keep, host: Host
) -> None:
    """Case (a): of the later families nothing is proven where only old hosts were, and all where a new one told."""
    keep(new_worker(stream))
    newer = host("new")
    earlier.host(stream.bootstrap, stream.topics.namespace, "old", "old")
    tell(newer, "new")
    work(newer, "new")
    assert newer.close(30).complete
    old = proven(stream, _PLAIN, "old")
    assert all(evidence(old, family) == {"ABSENT"} for family in LATER)
    new = proven(stream, {**_PLAIN, **_TOLD, Family.SESSION_TEARDOWN: TEARDOWNS + 1}, "new")
    assert all(evidence(new, family) == {"COMPLETE"} for family in LATER)
    judged = verdicts(stream, "old-clean", "old-degraded", "new-clean", "new-degraded", "new-told")
    assert kinds(judged) == {**JUDGED, "told": "CLEAN_SUCCESS"}
    assert judged["new-told"]["user_profile"] == "precise"
    assert quarantined(stream) == 0
    # A verdict that says nothing new is the old gate's as well; one that does is refused there, and not misread.
    answers = {"clean": "ADMITTED", "degraded": "RECONCILE_FIRST"}
    plain = {f"{host}-{name}": answer for host in ("old", "new") for name, answer in answers.items()}
    asked = earlier.gate(stream.bootstrap, stream.topics.namespace, *plain, "new-told")
    assert asked == {**plain, "new-told": "UNVERIFIABLE"}
    checked = verify(Request(stream.topics, stream.bootstrap, rules=RecountRules(window_seconds=(SIZE,))))
    assert (checked.exit, checked.differences) == (Exit.EQUAL, ())
    with Gate(stream.bootstrap, stream.topics.namespace) as gate:
        assert {session: str(gate.admit(session, timeout=30).answer) for session in plain} == plain
        assert str(gate.admit("new-told", timeout=30).answer) == "ADMITTED"


def test_an_old_worker_takes_back_what_a_new_one_did_where_nothing_new_was_told(
    stream: Stream, earlier: Earlier, keep: Keep, host: Host
) -> None:
    """Cases (c) and (d): new hosts with nothing new to tell, a new worker, and then an old one on its state."""
    plain = host("plain")
    first = keep(new_worker(stream))
    work(plain, "one")
    verdicts(stream, "one-clean", "one-degraded")
    assert first.end() == 0
    work(plain, "two")
    keep(earlier.worker(stream.bootstrap, stream.topics.namespace, *_QUICK))
    work(plain, "three")
    assert plain.close(30).complete
    sessions = [f"{part}-{name}" for part in ("one", "two", "three") for name in JUDGED]
    judged = verdicts(stream, *sessions)
    assert kinds(judged) == JUDGED
    proven(stream, times(3, _PLAIN))
    assert quarantined(stream) == 0
    assert set().union(*versions(stream).values()) == {1}
    asked = earlier.gate(stream.bootstrap, stream.topics.namespace, *sessions)
    assert by_kind(asked) == {"clean": "ADMITTED", "degraded": "RECONCILE_FIRST"}


def test_an_old_worker_that_was_taught_counts_new_hosts_and_hands_over_to_a_new_one_and_takes_back(
    stream: Stream, earlier: Earlier, keep: Keep, host: Host, tmp_path: Path
) -> None:
    """Case (b): what an old worker has no word for is passed over, and nothing that it knows suffers."""
    export_schemas(tmp_path / "taught")
    taught = {"UNMASK_EXTRA_SCHEMAS": str(tmp_path / "taught")}
    old = keep(earlier.worker(stream.bootstrap, stream.topics.namespace, *_QUICK, **taught))
    newer = host("new")
    tell(newer, "one")
    work(newer, "one")
    judged = verdicts(stream, "one-clean", "one-degraded", "one-told")
    assert kinds(judged) == {**JUDGED, "told": "CLEAN_SUCCESS"}
    written = versions(stream)
    assert 2 in written.pop("event_batch")
    assert set().union(*written.values()) == {1}
    assert old.end() == 0
    tell(newer, "two")
    new = keep(new_worker(stream))
    work(newer, "two")
    # It goes on until it was heard for the whole of a window.
    eventually(lambda: any(state(window, family) == "COMPLETE" for window in windows(stream) for family in LATER), 60)
    judged = verdicts(stream, "two-clean", "two-degraded")
    assert kinds(judged) == JUDGED
    found = proven(stream, {**times(2, _PLAIN), **_TOLD, Family.SESSION_TEARDOWN: 2 * TEARDOWNS + 2})
    for family in LATER:
        # Of the time in which nobody counted it nothing is proven; the host's own account tells what was passed over.
        told = [entry for window in found for entry in window["evidence"] if entry["family"] == family]
        assert (told[0]["state"], told[0]["missing"]) == ("LOSSY", _TOLD[family])
        assert "COMPLETE" in {entry["state"] for entry in told[1:]}
    # Back again, with something on its way of which the old one knows nothing.
    tell(newer, "three")
    new.end(signal.SIGKILL)
    keep(earlier.worker(stream.bootstrap, stream.topics.namespace, *_QUICK, **taught))
    work(newer, "three")
    assert newer.close(30).complete
    judged = verdicts(stream, "three-clean", "three-degraded", "three-told")
    assert kinds(judged) == {**JUDGED, "told": "CLEAN_SUCCESS"}
    # What the new one had counted of later families is not counted on: of the others nothing is missing.
    deadline = time.monotonic() + 60
    expected = times(3, _PLAIN) | {Family.SESSION_TEARDOWN: 3 * TEARDOWNS + 3}
    while {family: totals(windows(stream))[family] for family in FIRST} != expected:
        assert time.monotonic() < deadline, totals(windows(stream))
        time.sleep(0.1)
    assert quarantined(stream) == 0


def test_an_old_worker_and_an_old_gate_learn_from_a_schema_registry(
    stream: Stream, earlier: Earlier, keep: Keep, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case (b) with a registry: nobody is taught, the writers' schemas are fetched."""
    with running_registry() as registry:
        # For the hosts of this process, and for whatever it starts.
        monkeypatch.setenv("SCHEMA_REGISTRY_URL", registry.url)
        keep(earlier.worker(stream.bootstrap, stream.topics.namespace, *_QUICK))
        newer = host("new")
        tell(newer, "one")
        work(newer, "one")
        assert newer.close(30).complete
        judged = verdicts(stream, "one-clean", "one-degraded", "one-told")
        assert kinds(judged) == {**JUDGED, "told": "CLEAN_SUCCESS"}
        proven(stream, {**_PLAIN, Family.SESSION_TEARDOWN: TEARDOWNS + 1})
        assert quarantined(stream) == 0
        asked = earlier.gate(stream.bootstrap, stream.topics.namespace, *judged)
        assert by_kind(asked) == {"clean": "ADMITTED", "degraded": "RECONCILE_FIRST", "told": "ADMITTED"}
