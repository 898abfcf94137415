"""One performance from the first process to the last check."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.live import Live

from demo.board import Board
from demo.comparison import Comparison
from demo.ending import show_answers, show_comparison, show_verdicts, show_windows
from demo.expected import ExpectedSession, expected_sessions
from demo.host import UPSTREAM
from demo.journal import HostJournal
from demo.live import picture
from demo.plain import PlainProgress
from demo.plan import PLANS, WINDOW_S
from demo.play import Play
from demo.processes import Cluster
from demo.scene import Scene
from demo.session_checks import check_alerts, check_answers, check_verdicts
from demo.stage import Stage, prepared_stage
from demo.window_checks import attempts_journalled, check_totals, check_windows
from demo.workers import scrape_totals, start_workers, wait_until_ready
from unmask.consumers.devbroker.ports import free_ports
from unmask.consumers.windows_view import WindowRecords, read_windows, windows_source
from unmask.schemas.codes import AlertKind, AlertState, VerdictKind
from unmask.schemas.instants import iso
from unmask.schemas.windowing import LIFETIME, MICROS, window_start

__all__ = ["UNKNOWN_SESSION", "perform"]

UNKNOWN_SESSION = "never-seen"
"""A session that no host ever had; the successor asks for it too."""
_HOUR_S = 3600
_PATIENCE_S = 6.0
_READ_S = 10.0
_FOR_EVER = 1 << 62


def perform(console: Console, plan_name: str, folder: Path, *, live: bool, keep: bool) -> Comparison:
    """Plays the plan of that name, prints what came of it, and returns what was compared. Raises what went wrong."""
    began = time.monotonic()
    plan = PLANS[plan_name]

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    say("Looking for a Kafka, or starting one (the first time, it is fetched) ...")
    with prepared_stage(folder, say, keep=keep) as stage, Cluster(folder, stage.environment()) as cluster:
        ports = dict(zip("ab", free_ports(2), strict=True))
        start_workers(cluster, ports, plan.capabilities)
        wait_until_ready(cluster, ports)
        say(f"Two stream workers are ready after {time.monotonic() - began:.0f} s; the hosts start.")
        play = Play(plan_name, plan, folder, cluster)
        with Board(stage.bootstrap, stage.topics) as board:
            scene = play.begin(board)
            with _shown(console, say, live=live) as show:
                play.look_on(scene, show)
            journals = play.journals()
            comparison, records = _compared(stage, play, board, journals, ports)
            expected = expected_sessions(journals)
            reconciled = _to_reconcile(expected)
            ending = play.succeed([*expected, UNKNOWN_SESSION], reconciled)
            check_answers(comparison, expected, ending, UNKNOWN_SESSION, reconciled.session_id)
            state = _alert_after(board, reconciled.session_id)
            comparison.equal(reconciled.session_id, "alert, after reconciling", AlertState.RESOLVED, state)
            say("")
            show_windows(console, records, play.windows())
            show_verdicts(console, board.verdicts.values())
            show_answers(console, ending)
            say(_about_the_kill(plan.victim.name, play.killed_at, journals, records))
            say(f"The alert of {reconciled.session_id} is {state}. All this took {time.monotonic() - began:.0f} s.")
            show_comparison(console, comparison)
    return comparison


@contextmanager
def _shown(console: Console, say: Callable[[str], None], *, live: bool) -> Iterator[Callable[[Scene], None]]:
    if not live:
        yield PlainProgress(say).update
        return
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as screen:
        yield lambda scene: screen.update(picture(scene, console.height), refresh=True)


def _compared(
    stage: Stage, play: Play, board: Board, journals: Sequence[HostJournal], ports: dict[str, int]
) -> tuple[Comparison, WindowRecords]:
    """Everything that Unmask says by now. Snapshots of windows that stay open, and alerts, may come a second later."""
    deadline = time.monotonic() + _PATIENCE_S
    source = windows_source(stage.bootstrap, stage.topics.namespace)
    while True:
        board.poll()
        comparison, report = Comparison(), WindowRecords((), (), ())
        for seconds in (WINDOW_S, _HOUR_S, LIFETIME):
            # The window after the plan's last is not over, and is not shown.
            until = play.windows().stop * MICROS if seconds == WINDOW_S else _FOR_EVER
            records = read_windows(source, seconds, 0, until, timeout=_READ_S)
            comparison.equal(f"windows of {seconds} s", "records that cannot be read", 0, len(records.unreadable))
            check_windows(comparison, journals, records.windows, seconds, UPSTREAM, play.killed_at)
            report = records if seconds == WINDOW_S else report
        check_verdicts(comparison, journals, board.verdicts)
        check_alerts(comparison, journals, board.alerts(), UPSTREAM, play.killed_at)
        for name, port in ports.items():
            check_totals(comparison, journals, scrape_totals(port), f"worker {name}'s metrics", UPSTREAM)
        if not comparison.mismatches or time.monotonic() > deadline:
            return comparison, report
        time.sleep(0.5)


def _to_reconcile(expected: dict[str, ExpectedSession]) -> ExpectedSession:
    """The session whose directive the successor carries out: the one with the most degraded operations."""
    ranked = sorted(
        expected.values(), key=lambda session: (session.verdict is VerdictKind.DEGRADED_SUCCESS, session.degraded)
    )
    return ranked[-1]


def _alert_after(board: Board, session_id: str) -> str:
    """The state of a session's alert once it is over, or after some patience."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        board.poll()
        states = [
            alert.state
            for alert in board.alerts()
            if alert.session_id == session_id and alert.kind is AlertKind.DEGRADED_SESSION
        ]
        if states == [AlertState.RESOLVED] or time.monotonic() > deadline:
            return states[0] if states else "none"
        time.sleep(0.1)


def _about_the_kill(victim: str, killed_at: int, journals: Sequence[HostJournal], records: WindowRecords) -> str:
    start = window_start(killed_at, WINDOW_S)
    journalled = attempts_journalled(journals, start)
    whole = (window for window in records.windows if window.scope is None)
    counted = sum(window.attempts for window in whole if window.window_start.timestamp() * MICROS == start)
    return (
        f"Host {victim} was killed at {iso(killed_at)[11:19]}: of the {journalled} attempts that the journals have for "
        f"the window of {iso(start)[11:19]}, {counted} left the hosts. So the window is LOSSY, and says so."
    )
