"""One performance from the first process to the last check."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.live import Live

from demo.board import Board
from demo.checks import Comparison, attempts_journalled, check_answers, check_verdicts, check_windows
from demo.ending import show_answers, show_comparison, show_verdicts, show_windows
from demo.expected import ExpectedSession
from demo.host import UPSTREAM
from demo.journal import HostJournal
from demo.live import picture
from demo.plain import PlainProgress
from demo.plan import PLANS, WINDOW_S
from demo.play import Play
from demo.processes import Cluster
from demo.scene import Scene
from demo.stage import Stage, prepared_stage
from demo.workers import start_workers, wait_until_ready
from unmask.consumers.devbroker.ports import free_ports
from unmask.consumers.windows_view import WindowRecords, read_windows, windows_source
from unmask.schemas.codes import VerdictKind
from unmask.schemas.instants import iso
from unmask.schemas.windowing import LIFETIME, MICROS, window_start

__all__ = ["UNKNOWN_SESSION", "perform"]

UNKNOWN_SESSION = "never-seen"
"""A session that no host ever had; the successor asks for it too."""
_HOUR_S = 3600
_PATIENCE_S = 5.0
_READ_S = 10.0


def perform(console: Console, plan_name: str, folder: Path, *, live: bool, keep: bool) -> Comparison:
    """Plays the plan of that name, prints what came of it, and returns what was compared. Raises what went wrong."""
    began = time.monotonic()

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    say("Looking for a Kafka, or starting one (the first time, it is fetched) ...")
    with prepared_stage(folder, say, keep=keep) as stage, Cluster(folder, stage.environment()) as cluster:
        ports = dict(zip("ab", free_ports(2), strict=True))
        start_workers(cluster, ports, PLANS[plan_name].capabilities)
        wait_until_ready(cluster, ports)
        say(f"Two stream workers are ready after {time.monotonic() - began:.0f} s; the hosts start.")
        play = Play(plan_name, PLANS[plan_name], folder, cluster)
        with Board(stage.bootstrap, stage.topics) as board:
            scene = play.begin(board)
            with _shown(console, say, live=live) as show:
                play.look_on(scene, show)
            journals = play.journals()
            comparison, records = _windows_compared(stage, play, journals)
            expected = check_verdicts(comparison, journals, board.verdicts)
            reconciled, capability = _to_reconcile(expected)
            ending = play.succeed([*expected, UNKNOWN_SESSION], reconciled, capability)
            answers = {session_id: answer for session_id, (answer, _) in ending.asked.items()}
            after, _ = ending.reconciled.get(reconciled, ("none", ""))
            check_answers(comparison, expected, answers, UNKNOWN_SESSION, reconciled, after)
            say("")
            show_windows(console, records, play.windows())
            show_verdicts(console, board.verdicts.values())
            show_answers(console, ending)
            killed = window_start(play.killed_at, WINDOW_S)
            journalled, counted = attempts_journalled(journals, killed), _attempts(records, killed)
            victim, at, window = PLANS[plan_name].victim.name, iso(play.killed_at)[11:19], iso(killed)[11:19]
            say(
                f"Host {victim} was killed at {at}: of the {journalled} attempts that the journals have for the window "
                f"of {window}, {counted} left the hosts. So the window is LOSSY, and says so."
            )
            say(f"All this took {time.monotonic() - began:.0f} s.")
            show_comparison(console, comparison)
    return comparison


@contextmanager
def _shown(console: Console, say: Callable[[str], None], *, live: bool) -> Iterator[Callable[[Scene], None]]:
    if not live:
        yield PlainProgress(say).update
        return
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as screen:
        yield lambda scene: screen.update(picture(scene), refresh=True)


def _windows_compared(stage: Stage, play: Play, journals: list[HostJournal]) -> tuple[Comparison, WindowRecords]:
    """All window sizes; snapshots of windows that stay open may take a second more."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        comparison, report = Comparison(), WindowRecords((), (), ())
        for seconds in (WINDOW_S, _HOUR_S, LIFETIME):
            # Windows after the plan's last are not over, and are not shown.
            until = play.windows().stop * MICROS if seconds == WINDOW_S else 1 << 62
            records = read_windows(
                windows_source(stage.bootstrap, stage.topics.namespace), seconds, 0, until, timeout=_READ_S
            )
            comparison.value(f"{seconds} s windows", "records that cannot be read", 0, len(records.unreadable))
            check_windows(comparison, journals, records.windows, seconds, UPSTREAM, play.killed_at)
            report = records if seconds == WINDOW_S else report
        if not comparison.mismatches or time.monotonic() > deadline:
            return comparison, report
        time.sleep(0.5)


def _to_reconcile(expected: dict[str, ExpectedSession]) -> tuple[str, str]:
    """The last session that must be reconciled, and a capability that its probe asks for."""
    degraded = [s for s in expected.values() if s.verdict is VerdictKind.DEGRADED_SUCCESS]
    if not degraded:
        return UNKNOWN_SESSION, "retrieval"
    return degraded[-1].session_id, degraded[-1].capability


def _attempts(records: WindowRecords, start: int) -> int:
    return sum(w.attempts for w in records.windows if w.scope is None and w.window_start.timestamp() * MICROS == start)
