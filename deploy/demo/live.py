"""The live picture: windows with their evidence, sessions with their verdicts, alerts."""

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from demo.plan import WINDOW_S
from demo.scene import Scene
from unmask.schemas.codes import AlertState, Evidence, VerdictKind
from unmask.schemas.models import Alert, Window

__all__ = ["EVIDENCE_STYLE", "VERDICT_STYLE", "picture", "subject"]

EVIDENCE_STYLE: Mapping[Evidence, str] = {
    Evidence.COMPLETE: "green",
    Evidence.LOSSY: "bold red",
    Evidence.PENDING: "yellow",
    Evidence.ABSENT: "dim",
}
VERDICT_STYLE: Mapping[VerdictKind, str] = {
    VerdictKind.CLEAN_SUCCESS: "green",
    VerdictKind.DEGRADED_SUCCESS: "yellow",
    VerdictKind.HARD_FAILURE: "bold red",
}
_FRAME = 12
"""Lines of the picture that are no rows: the headline, and each table's title, header and blank line."""


def picture(scene: Scene, height: int) -> RenderableType:
    """Everything on one screen of `height` lines: the newest rows of each table."""
    rows = max(height - _FRAME, 6)
    windows = min(len(scene.plan.phases) + 1, rows * 2 // 5)
    sessions = (rows - windows + 1) // 2
    alerts = rows - windows - sessions
    return Group(
        _headline(scene), Text(), _windows(scene, windows), Text(), _sessions(scene, sessions), Text(),
        _alerts(scene, alerts),
    )  # fmt: skip


def subject(alert: Alert) -> str:
    """What an alert is about, in a word or two."""
    for name in (alert.session_id, alert.upstream, alert.capability):
        if name is not None:
            return name
    if alert.emitter_id is not None:
        return f"emitter {alert.emitter_id[:8]}"
    return "all" if alert.window_start is None else f"window {alert.window_start:%H:%M:%S}"


def _headline(scene: Scene) -> Text:
    if scene.elapsed > scene.plan.length:
        return Text("The hosts are done; the last window closes.", style="bold")
    clock = f"{max(scene.elapsed, 0):4.0f} s of {scene.plan.length:.0f} s"
    line = Text.assemble((clock, "bold"), "   the upstream ", (scene.upstream, "bold cyan"), f"   {scene.hosts} hosts")
    if scene.events:
        line.append(f"   {scene.events[-1]}", style="bold red")
    return line


def _table(title: str, *columns: str, numbers: tuple[str, ...] = ()) -> Table:
    table = Table(
        title=title, box=None, title_justify="left", title_style="bold", header_style="dim", pad_edge=False,
        padding=(0, 2, 0, 0),
    )  # fmt: skip
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", no_wrap=True)
    return table


def _windows(scene: Scene, rows: int) -> Table:
    numbers = ("attempts", "fallbacks", "masked", "hosts")
    table = _table("Windows", "window", "evidence", *numbers, "reasons", numbers=numbers)
    for window in list(scene.board.whole_windows(WINDOW_S).values())[-rows:]:
        state = window.evidence_state
        table.add_row(
            f"{window.window_start:%H:%M:%S}",
            Text(str(state), style=EVIDENCE_STYLE[state]),
            f"{window.attempts:,}",
            f"{window.fallbacks_total:,}",
            f"{window.masked_errors:,}",
            str(window.emitters),
            _reasons(window),
        )
    return table


def _reasons(window: Window) -> str:
    said = [f"{count} {reason}" for reason, count in sorted(window.fallbacks_by_reason.items()) if count]
    causes = dict.fromkeys(str(cause) for entry in window.evidence for cause in entry.causes)
    return "; ".join([*said, *(f"because of: {cause}" for cause in causes)])


def _sessions(scene: Scene, rows: int) -> Table:
    numbers = ("degraded", "operations")
    table = _table("Sessions that have ended", "session", "verdict", *numbers, "directive", numbers=numbers)
    for verdict in sorted(scene.board.verdicts.values(), key=lambda verdict: verdict.ended_at)[-rows:]:
        table.add_row(
            verdict.session_id,
            Text(str(verdict.verdict), style=VERDICT_STYLE[verdict.verdict]),
            str(verdict.degraded_operations),
            str(verdict.operations),
            str(verdict.directive),
        )
    return table


def _alerts(scene: Scene, rows: int) -> Table:
    table = _table("Alerts, newest first", "alert", "state", "about")
    for alert in scene.board.alerts()[:rows]:
        style = "bold red" if alert.state is AlertState.FIRING else "dim"
        table.add_row(Text(str(alert.kind), style=style), Text(str(alert.state), style=style), subject(alert))
    return table
