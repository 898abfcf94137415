"""The end of the demo on paper: the window report, the verdicts, the gate's answers, and what was checked."""

import time
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from demo.comparison import Comparison
from demo.live import VERDICT_STYLE
from demo.plan import WINDOW_S
from demo.play import Ending
from unmask.consumers.report import Selection, TimeRange, build_rows, to_table
from unmask.consumers.windows_view import WindowRecords
from unmask.schemas.codes import AdmissionAnswer
from unmask.schemas.models import Verdict
from unmask.schemas.windowing import MICROS

__all__ = ["show_answers", "show_comparison", "show_verdicts", "show_windows"]

_ADMITTED = (AdmissionAnswer.ADMITTED, AdmissionAnswer.ADMITTED_READ_ONLY)


def show_windows(console: Console, records: WindowRecords, windows: range) -> None:
    """The report as `unmask report windows` draws it: each window as a whole, then its capabilities."""
    wanted = TimeRange(windows.start * MICROS, windows.stop * MICROS, WINDOW_S)
    for selection in (Selection(by="window"), Selection()):
        rows = build_rows(records, wanted, selection, now=time.time_ns() // 1_000)
        console.print(to_table(rows, wanted))


def show_verdicts(console: Console, verdicts: Iterable[Verdict]) -> None:
    """One line for each session."""
    table = _table("Verdicts", "session", "verdict", "operations", "degraded", "ratio", "directive", "findings")
    for verdict in sorted(verdicts, key=lambda verdict: verdict.ended_at):
        ratio = verdict.degraded_operation_ratio
        above = f" > {verdict.threshold:.0%}" if verdict.above_threshold else ""
        table.add_row(
            verdict.session_id,
            Text(str(verdict.verdict), style=VERDICT_STYLE[verdict.verdict]),
            str(verdict.operations),
            str(verdict.degraded_operations),
            "–" if ratio is None else f"{ratio:.1%}{above}",
            str(verdict.directive),
            ", ".join(verdict.findings),
        )
    console.print(table)


def show_answers(console: Console, ending: Ending) -> None:
    """What the gate told the successor."""
    table = _table("A successor asks the gate", "predecessor", "answer", "why")
    for session_id, (answer, reason) in ending.asked.items():
        _answer(table, session_id, answer, reason)
        if session_id in ending.reconciled:
            _answer(table, "  probe sent, asked on", *ending.reconciled[session_id])
    console.print(table)


def show_comparison(console: Console, comparison: Comparison) -> None:
    """How many values were compared with the hosts' journals, and each that differs."""
    if not comparison.mismatches:
        console.print(
            f"{comparison.compared} values compared with the hosts' own journals: all agree.", style="bold green"
        )
        return
    table = _table("Published, and not what the hosts did", "about", "what", "expected", "published")
    for mismatch in comparison.mismatches:
        table.add_row(mismatch.about, mismatch.what, mismatch.expected, mismatch.published)
    console.print(table)
    differ = len(comparison.mismatches)
    console.print(f"{differ} of {comparison.compared} values differ from the hosts' own journals.", style="bold red")


def _answer(table: Table, predecessor: str, answer: str, reason: str) -> None:
    style = "green" if answer in _ADMITTED else "bold red"
    table.add_row(predecessor, Text(answer, style=style), reason)


def _table(title: str, *columns: str, numbers: Sequence[str] = ("operations", "degraded", "ratio")) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(
            column, justify="right" if column in numbers else "left", no_wrap=column not in ("why", "findings")
        )
    return table
