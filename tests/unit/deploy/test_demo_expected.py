"""What the demo expects is worked out from journals alone, within bounds where a journal cannot tell."""

import json
from pathlib import Path
from typing import Any

import pytest

from demo.expected import NOTHING, Bounds, Cell, expected_counts, expected_sessions, upstream_outage
from demo.journal import Entry, HostJournal, Journal, Kind, read_journal
from demo.plan import PLANS, WINDOW_S, Behaviour
from unmask.schemas.codes import Directive, Measure, VerdictKind
from unmask.schemas.windowing import LIFETIME, MICROS

UPSTREAM = "up"
START = 1_767_268_800 * MICROS
SIZE = WINDOW_S * MICROS


def attempt(at: int, ended: int | None = None, **facts: Any) -> Entry:
    return Entry(Kind.ATTEMPT, at, at + 5 if ended is None else ended, {"capability": "c", "entry_point": "e"} | facts)


def fallback(at: int, outcome: str, **facts: Any) -> Entry:
    return Entry(Kind.FALLBACK, at, at + 5, {"capability": "c", "outcome": outcome} | facts)


def journal(*entries: Entry, killed: bool = False) -> HostJournal:
    return HostJournal("h", killed, entries)


def attempts(start: int) -> Cell:
    return Cell(start, WINDOW_S, Measure.ROUTE_ATTEMPT, "c", "e")


def test_a_step_within_one_window_is_expected_exactly() -> None:
    cells = expected_counts([journal(attempt(START), attempt(START + 7))], WINDOW_S, UPSTREAM)
    assert cells == {attempts(START): Bounds(low=2, high=2)}


def test_a_step_over_a_windows_edge_may_be_counted_on_either_side_and_once_in_all() -> None:
    over = attempt(START + SIZE - 2, START + SIZE + 3)
    cells = expected_counts([journal(over)], WINDOW_S, UPSTREAM)
    assert cells == {attempts(START): Bounds(0, 1), attempts(START + SIZE): Bounds(0, 1)}
    lifetime = expected_counts([journal(over)], LIFETIME, UPSTREAM)
    assert lifetime[Cell(0, LIFETIME, Measure.ROUTE_ATTEMPT, "c", "e")] == Bounds(1, 1)


def test_what_a_killed_host_did_may_be_missing_in_a_lossy_window_only() -> None:
    cells = expected_counts([journal(attempt(START)), journal(attempt(START), killed=True)], WINDOW_S, UPSTREAM)
    bounds = cells[attempts(START)]
    assert [bounds.allow(count, lossy=True) for count in (0, 1, 2, 3)] == [False, True, True, False]
    assert [bounds.allow(count, lossy=False) for count in (0, 1, 2, 3)] == [False, False, True, False]
    assert (bounds.words(lossy=True), bounds.words(lossy=False)) == ("1 to 2", "2")


def test_a_step_in_which_the_host_was_killed_may_have_been_recorded_or_not() -> None:
    cut = Entry(Kind.ATTEMPT, START, None, {"capability": "c", "entry_point": "e"})
    bounds = expected_counts([journal(cut, killed=True)], WINDOW_S, UPSTREAM)[attempts(START)]
    assert [bounds.allow(count, lossy=False) for count in (0, 1, 2)] == [True, True, False]


def test_a_fallback_masks_an_error_of_the_upstream_only_inside_a_session() -> None:
    cells = expected_counts(
        [journal(fallback(START, "status 429"), fallback(START, "timed out", session="s", operation="o"))],
        WINDOW_S,
        UPSTREAM,
    )
    assert {(cell.measure, cell.capability, cell.code) for cell in cells} == {
        (Measure.KERNEL_FALLBACK, "c", "rate_limited"),
        (Measure.KERNEL_FALLBACK, "c", "timeout"),
        (Measure.MASKED_ERROR, UPSTREAM, "timeout"),
    }


def test_an_emitter_witnesses_every_window_from_its_opening_to_its_closing() -> None:
    opened = Entry(Kind.EMITTER_OPEN, START + 1, START + 2)
    closed = Entry(Kind.EMITTER_CLOSE, START + 2 * SIZE + 1, START + 2 * SIZE + 2)
    cells = expected_counts([journal(opened, closed)], WINDOW_S, UPSTREAM)
    starts = [START, START + SIZE, START + 2 * SIZE]
    assert cells == {Cell(s, WINDOW_S, Measure.EMITTERS, NOTHING, NOTHING): Bounds(1, 1) for s in starts}


def session_of(*entries: Entry, outcome: str | None) -> HostJournal:
    opening = Entry(Kind.SESSION_OPEN, START, START + 1, {"session": "s"})
    closing = Entry(Kind.SESSION_CLOSE, START + 90, START + 91, {"session": "s", "outcome": outcome})
    return journal(opening, *entries, *([] if outcome is None else [closing]), killed=outcome is None)


@pytest.mark.parametrize(
    ("outcome", "failed", "verdict", "directive"),
    [
        ("success", False, VerdictKind.CLEAN_SUCCESS, Directive.NONE),
        ("success", True, VerdictKind.DEGRADED_SUCCESS, Directive.PROBE_UPSTREAM_BEFORE_ACTION),
        ("failure", False, VerdictKind.HARD_FAILURE, Directive.HALT_AND_ALERT_DEVELOPER),
        (None, False, VerdictKind.HARD_FAILURE, Directive.HALT_AND_ALERT_DEVELOPER),
    ],
)
def test_a_sessions_verdict_follows_from_its_journal(
    outcome: str | None, failed: bool, verdict: VerdictKind, directive: Directive
) -> None:
    steps = [attempt(START + n, session="s", operation=f"o{n}") for n in range(4)]
    if failed:
        steps.append(fallback(START + 20, "refused", session="s", operation="o1"))
    (session,) = expected_sessions([session_of(*steps, outcome=outcome)]).values()
    assert (session.verdict, session.directive, session.killed) == (verdict, directive, outcome is None)
    assert (session.operations, session.degraded, session.ratio) == (4, int(failed), 0.25 if failed else 0.0)


def test_an_outage_is_expected_where_two_sessions_met_the_failing_upstream_in_one_window() -> None:
    def met(session: str, at: int) -> HostJournal:
        return journal(fallback(at, "refused", session=session, operation="o"))

    assert upstream_outage([met("a", START), met("b", START + 1)])
    assert not upstream_outage([met("a", START), met("a", START + 1)])
    assert not upstream_outage([met("a", START), met("b", START + SIZE)])
    assert not upstream_outage([journal(fallback(START, "refused"), fallback(START + 1, "refused"))])


def test_a_journal_holds_a_step_before_it_is_done_and_survives_a_torn_last_line(tmp_path: Path) -> None:
    path = tmp_path / "host-1.jsonl"
    written = Journal(path)
    with written.about(Kind.ATTEMPT, capability="c", entry_point="e"):
        assert json.loads(path.read_text())["kind"] == "attempt"
    written.begin(Kind.FALLBACK, capability="c", outcome="refused")
    with path.open("a") as torn:
        torn.write('{"n": 3, "at": 17')
    read = read_journal(path, killed=True)
    assert (read.host, read.killed) == ("host-1", True)
    assert [(entry.kind, entry.ended is None) for entry in read.entries] == [
        (Kind.ATTEMPT, False),
        (Kind.FALLBACK, True),
    ]


@pytest.mark.parametrize("name", sorted(PLANS))
def test_a_plan_tells_the_whole_story_in_whole_windows(name: str) -> None:
    plan = PLANS[name]
    assert plan.length % WINDOW_S == 0
    assert plan.phases[0].begin == 0
    assert all(before.end == after.begin for before, after in zip(plan.phases, plan.phases[1:], strict=False))
    assert {phase.behaviour for phase in plan.phases} == set(Behaviour)
    assert plan.behaviour_at(plan.length + 1) is Behaviour.ANSWERS
    killed_at = plan.victim.killed_at
    assert killed_at is not None
    # Silent after three heartbeats of a second, which must end in the window of the kill.
    assert 0 < killed_at % WINDOW_S < WINDOW_S - 4
    assert plan.behaviour_at(killed_at - 1) is plan.behaviour_at(killed_at) is Behaviour.ANSWERS
    for host in plan.hosts:
        ends = [session.end for session in host.sessions]
        assert all(session.begin < session.end for session in host.sessions)
        assert all(end <= later.begin for end, later in zip(ends, host.sessions[1:], strict=False))
