"""`unmask report`: what was counted, with what it proves."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from unmask.consumers.cli._connection import (
    DEFAULT,
    FAILED,
    Bootstrap,
    Namespace,
    address,
    complain,
    named_failures,
    topics_of,
)
from unmask.consumers.cli._eligibility import eligibility
from unmask.consumers.cli._report_host import host
from unmask.consumers.cli._report_windows import Asked, WindowReport, gather
from unmask.consumers.report import DimensionError, RangeError, Selection, parse_range, to_csv, to_json, to_table
from unmask.consumers.report.extras import ExtraMissing
from unmask.consumers.report.table import MOST_LINES
from unmask.consumers.report.tenants import TenantlessRefused, UnknownTenants
from unmask.schemas.tokens import is_token, opaque_id

__all__ = ["app"]

app = typer.Typer(help="Reports on what was counted.", no_args_is_help=True, add_completion=False)

_WIDTH = 200
"""Columns of a table that is not written to a terminal."""


@app.callback()
def _report() -> None:
    """Reports on what was counted."""


app.command()(eligibility)
app.command()(host)


@app.command()
def windows(
    since: Annotated[
        str, typer.Option(help="From when: 90s, 36h, 28d back from now, or ISO 8601 in UTC (2026-01-31T12:00:00Z).")
    ] = "1h",
    until: Annotated[str, typer.Option(help="Until when, likewise.")] = "now",
    granularity: Annotated[
        str | None,
        typer.Option(
            help="How long a line's time is: 1m, 1h, or 1d, the sum of 24 hours. By default what suits the range.",
            show_default=False,
        ),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            help="Instead: windows of so many seconds, as workers count them; 0 for everything since the beginning.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="What lines are divided by: release_line, composition, capability, reason, entry_point, tenant, or "
            "window for nothing; several times or with commas. By default release line, composition and capability.",
            show_default=False,
        ),
    ] = None,
    release_line: Annotated[str | None, typer.Option(help="Only this release line.", show_default=False)] = None,
    composition: Annotated[
        str | None, typer.Option(help="Only this composition; the first digits do.", show_default=False)
    ] = None,
    capability: Annotated[str | None, typer.Option(help="Only this capability.", show_default=False)] = None,
    tenant: Annotated[
        str | None, typer.Option(help="Only fallbacks of this tenant, as hosts name it.", show_default=False)
    ] = None,
    unknown_tenant: Annotated[
        UnknownTenants,
        typer.Option(help="Fallbacks without a tenant: a group of their own, refused, or counted with --tenant's."),
    ] = UnknownTenants.SEPARATE,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON; what is not known is null.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Write CSV; what is not known is empty.")] = False,
    parquet: Annotated[
        Path | None, typer.Option(help="Write a Parquet file (unmask[reports]).", show_default=False, dir_okay=False)
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(help="Write one HTML file with plots (unmask[reports]).", show_default=False, dir_okay=False),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that reading may take.")] = 60.0,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Attempts, fallbacks and rates per window, each with its evidence. All times are UTC.

    A window that nobody witnessed is ABSENT, and its counts are empty, never zero. A rate is shown only where attempts
    and fallbacks are both COMPLETE and there were attempts. What state the pipeline is in is told with every report.
    """
    if sum((as_json, as_csv, parquet is not None, html is not None)) > 1:
        raise typer.BadParameter("choose one", param_hint="--json / --csv / --parquet / --html")
    if window is not None and granularity is not None:
        raise typer.BadParameter("choose one", param_hint="--granularity / --window")
    if unknown_tenant is UnknownTenants.MERGE and tenant is None:
        raise typer.BadParameter("merge needs the --tenant that they are counted with", param_hint="--unknown-tenant")
    topics = topics_of(namespace)
    now = time.time_ns() // 1_000
    labels = {"--release-line": release_line, "--composition": composition, "--capability": capability}
    for option, value in labels.items():
        if value is not None and not is_token(value):
            raise typer.BadParameter("one word of at most 64 letters, digits, _ . and -", param_hint=option)
    named = None if tenant is None else opaque_id(tenant)
    selection = Selection(tuple(by or Selection().by), release_line, composition, capability, named)
    try:
        dimensions = selection.dimensions
        wanted = parse_range(since, until, granularity if window is None else window, now)
    except RangeError as error:
        raise typer.BadParameter(str(error), param_hint="--since / --until / --granularity / --window") from error
    except DimensionError as error:
        raise typer.BadParameter(str(error), param_hint="--by") from error
    if "tenant" in dimensions and wanted.seconds == 0:
        raise typer.BadParameter(
            "fallbacks are on record by tenant for 7 days, not since the beginning", param_hint="--window"
        )
    with named_failures("report windows"):
        asked = Asked(address(bootstrap), topics, wanted, selection, unknown_tenant, now, timeout)
        try:
            found = gather(asked)
        except (RangeError, TenantlessRefused) as error:
            complain(f"unmask report windows: {error}")
            raise typer.Exit(FAILED) from error
    try:
        _write(found, asked, as_json=as_json, as_csv=as_csv, parquet=parquet, html=html)
    except (ExtraMissing, OSError) as error:
        complain(f"unmask report windows: {error}")
        raise typer.Exit(FAILED) from error
    if found.nothing_to_read:
        raise typer.Exit(FAILED)


def _write(
    found: WindowReport, asked: Asked, *, as_json: bool, as_csv: bool, parquet: Path | None, html: Path | None
) -> None:
    told: dict[str, Any] = {
        "generated_at": asked.now,
        "selection": asked.selection,
        "pipeline": found.pipeline,
        "remarks": found.remarks,
    }
    if as_json:
        typer.echo(to_json(found.rows, asked.wanted, **told))
    elif as_csv:
        typer.echo(to_csv(found.rows), nl=False)
    elif parquet is not None:
        from unmask.consumers.report.parquet import write_parquet

        write_parquet(parquet, found.rows, asked.wanted, generated_at=asked.now, pipeline=found.pipeline)
        complain(f"{parquet}: {len(found.rows):,} lines.")
    elif html is not None:
        from unmask.consumers.report_html import to_html

        page = to_html(found.rows, asked.wanted, overall=found.overall, **told)
        html.write_text(page, encoding="utf-8")
        complain(f"{html}: {len(found.rows):,} lines.")
    elif found.rows:
        console = Console()
        # A file or a pipe has no width of its own; a table squeezed into the default one loses its numbers.
        if not console.is_terminal:
            console = Console(width=_WIDTH)
        console.print(to_table(found.rows, asked.wanted, width=console.width))
        if len(found.rows) > MOST_LINES:
            complain(
                f"The newest lines of {len(found.rows):,} are shown; --json, --csv and --parquet have all of them."
            )
    _tell(found, plain=not (as_json or as_csv or parquet or html))


def _tell(found: WindowReport, *, plain: bool) -> None:
    """The state in words: with the table, and on standard error where something is wrong."""
    if plain and found.rows:
        typer.echo(f"Pipeline {found.pipeline.stage}: {found.pipeline.words}")
    elif not found.pipeline.well:
        complain(f"Pipeline {found.pipeline.stage}: {found.pipeline.words}")
    if found.pipeline.fix is not None:
        complain(f"To do: {found.pipeline.fix}")
    for remark in found.remarks:
        complain(remark)


@app.command()
def schema() -> None:
    """The JSON schema of what `unmask report windows --json` writes."""
    import json

    from unmask.consumers.report.document import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))
