"""`unmask evidence`: publishes what a parity suite's CI run counted, and lists what stands."""

import json
import time
from pathlib import Path
from typing import Annotated

import typer

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
from unmask.consumers.parity import (
    JUnitUnusable,
    ParityUndelivered,
    ParityUnusable,
    parity_source,
    publish_run,
    read_junit,
    read_parity,
)
from unmask.consumers.report.time_range import RangeError, parse_instant
from unmask.schemas.instants import iso
from unmask.schemas.models import ParityRun

__all__ = ["app"]

app = typer.Typer(
    help="Parity evidence: publish the counts of a CI run, list what stands.",
    no_args_is_help=True,
    add_completion=False,
)

Timeout = Annotated[float, typer.Option(min=0.1, help="Seconds that the broker may take for an answer.")]


@app.command()
def publish(
    suite: Annotated[str, typer.Option(help="Name of the suite.")],
    release_line: Annotated[str, typer.Option(help="The release line that was tested.")],
    junit: Annotated[Path, typer.Option(help="JUnit XML file of the run.")],
    composition: Annotated[
        str | None,
        typer.Option(help="Digest of the composition that was tested (default: the line in any).", show_default=False),
    ] = None,
    capability: Annotated[
        list[str] | None,
        typer.Option(help="A capability that the run speaks of; may be repeated (default: all).", show_default=False),
    ] = None,
    run_at: Annotated[
        str | None,
        typer.Option(
            help="When the run began: ISO 8601 with a zone, now, or 10m back from now (default: what the file says).",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write the published record as JSON.")] = False,
    timeout: Timeout = 30.0,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Publish how many tests of a run held. Only counts and the file's digest leave, no name and no text of a test.

    It replaces the run before it of the same suite, release line and composition, and exits with 0 once the broker
    has it, green or red; 1 where the file cannot be believed or the broker did not take it.
    """
    topics = topics_of(namespace)
    now = time.time_ns() // 1_000
    try:
        began_at = None if run_at is None else parse_instant(run_at, now)
    except RangeError as error:
        raise typer.BadParameter(str(error), param_hint="--run-at") from error
    with named_failures("evidence publish"):
        try:
            record = publish_run(
                topics, address(bootstrap), read_junit(junit),
                suite=suite, release_line=release_line, composition=composition, capabilities=capability or (),
                run_at=began_at, now=now, timeout=timeout,
            )  # fmt: skip
        except (JUnitUnusable, ParityUnusable, ParityUndelivered) as error:
            complain(f"unmask evidence publish: {error}")
            raise typer.Exit(FAILED) from error
    if as_json:
        document = record | {name: iso(record[name]) for name in ("run_at", "published_at")}
        typer.echo(json.dumps(document, indent=2, allow_nan=False))
        return
    counts = f"{record['tests']} tests, {record['failures']} failed, {record['errors']} in error"
    said = f"{counts}, {record['skipped']} skipped"
    typer.echo(f"Published on {topics.parity.name}: suite {suite} for {release_line} / {composition or 'any'}: {said}.")
    typer.echo(f"Run of {iso(record['run_at'])}, file sha256 {record['digest']}.")


@app.command("list")
def list_runs(
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    timeout: Timeout = 30.0,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """List the newest run of every suite, release line and composition."""
    topics_of(namespace)
    with named_failures("evidence list"):
        records = read_parity(parity_source(address(bootstrap), namespace), timeout=timeout)
    if as_json:
        typer.echo(json.dumps([run.model_dump(mode="json") for run in records.runs], indent=2, allow_nan=False))
    else:
        for run in records.runs:
            typer.echo(_line(run))
        if not records.runs:
            typer.echo("No parity run is published.")
    for key in records.unreadable:
        complain(f"The record of {key} cannot be read.")


def _line(run: ParityRun) -> str:
    held = "green" if run.passed > 0 and not run.failures and not run.errors else "not green"
    counts = f"{run.tests} tests, {run.failures} failed, {run.errors} in error, {run.skipped} skipped"
    told = f"for {', '.join(run.capabilities)}" if run.capabilities else "for all capabilities"
    began = run.run_at.isoformat().replace("+00:00", "Z")
    return f"{run.suite}  {run.release_line} / {run.composition or 'any'}  {held}: {counts}, {told}, run of {began}"
