"""`unmask report`: what was counted, with what it proves."""

import time
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from unmask.consumers.cli._connection import (
    DEFAULT,
    Bootstrap,
    Namespace,
    address,
    complain,
    named_failures,
    topics_of,
)
from unmask.consumers.report import RangeError, Selection, build_rows, parse_range, to_csv, to_json, to_table
from unmask.consumers.windows_view import WindowRecords, read_windows, windows_source

__all__ = ["app"]

app = typer.Typer(help="Reports on what was counted.", no_args_is_help=True, add_completion=False)


_WIDTH = 180
"""Columns of a table that is not written to a terminal."""


class _By(StrEnum):
    WINDOW = "window"
    SCOPE = "scope"
    CAPABILITY = "capability"


@app.callback()
def _report() -> None:
    """Reports on what was counted."""


@app.command()
def windows(
    since: Annotated[str, typer.Option(help="From when: 90s, 2h, 28d back from now, or ISO 8601 with a zone.")] = "1h",
    until: Annotated[str, typer.Option(help="Until when, likewise.")] = "now",
    window: Annotated[int, typer.Option(help="Window size in seconds; 0 for everything since the beginning.")] = 60,
    by: Annotated[
        _By, typer.Option(help="A line for each capability, for each release line and composition, or for the whole.")
    ] = _By.CAPABILITY,
    release_line: Annotated[str | None, typer.Option(help="Only this release line.", show_default=False)] = None,
    composition: Annotated[
        str | None, typer.Option(help="Only this composition; the first digits do.", show_default=False)
    ] = None,
    capability: Annotated[str | None, typer.Option(help="Only this capability.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON; what is not known is null.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Write CSV; what is not known is empty.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that reading may take.")] = 30.0,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Attempts, fallbacks and rates per window, each with its evidence. All times are UTC.

    A window that nobody witnessed is ABSENT, and its counts are empty, never zero. A rate is shown only where attempts
    and fallbacks are both COMPLETE and there were attempts.
    """
    if as_json and as_csv:
        raise typer.BadParameter("choose one", param_hint="--json / --csv")
    topics_of(namespace)
    now = time.time_ns() // 1_000
    try:
        wanted = parse_range(since, until, window, now)
    except RangeError as error:
        raise typer.BadParameter(str(error), param_hint="--since / --until / --window") from error
    selection = Selection(by.value, release_line, composition, capability)
    with named_failures("report windows"):
        source = windows_source(address(bootstrap), namespace)
        records = read_windows(source, wanted.seconds, wanted.since, wanted.until, timeout=timeout)
    rows = build_rows(records, wanted, selection, now=now)
    if as_json:
        typer.echo(to_json(rows, wanted, generated_at=now))
    elif as_csv:
        typer.echo(to_csv(rows), nl=False)
    else:
        console = Console()
        # A file or a pipe has no width of its own; a table squeezed into the default one loses its numbers.
        if not console.is_terminal:
            console = Console(width=_WIDTH)
        console.print(to_table(rows, wanted))
    _remark(records, window)


def _remark(records: WindowRecords, window: int) -> None:
    if records.unreadable:
        complain(f"{len(records.unreadable)} window(s) have a record that cannot be read; they are shown as LOSSY.")
    if window not in records.sizes and records.sizes:
        sizes = ", ".join(str(size) for size in records.sizes)
        complain(f"There are no windows of {window} s; sizes that are counted: {sizes}. Choose one with --window.")
