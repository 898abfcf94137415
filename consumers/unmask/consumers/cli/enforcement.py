"""`unmask enforcement`: what was refused, who held that to be wrong, and what turned out to have been right."""

import json
import time
from typing import Annotated

import typer
from rich.console import Console

from unmask.consumers.cli._connection import DEFAULT, Bootstrap, Namespace, address, complain, named_failures, topics_of
from unmask.consumers.cli._reading import reading
from unmask.consumers.cli._signing import TrustedKeys
from unmask.consumers.enforcement import json_schema, read_report, render
from unmask.schemas.signing_setup import signing_from_environment

__all__ = ["app"]

app = typer.Typer(add_completion=False)

_WIDTH = 140


def _print_schema(wanted: bool) -> None:
    if wanted:
        typer.echo(json.dumps(json_schema(), indent=2))
        raise typer.Exit


@app.command()
def enforcement(
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, of the schema that --schema prints.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", callback=_print_schema, is_eager=True, help="Print the JSON's schema, and end.")
    ] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that reading may take.")] = 120.0,
    trusted_keys: TrustedKeys = None,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Count what gate, breaker and effects ledger refused, by answer; appeals, false refusals, turns without a write.

    Each number says where it is from and what it proves: topics keep their records for a bounded time. Of the gate's
    answers alone, with what became of each: unmask gate stats.
    """
    topics = topics_of(namespace)
    now = time.time_ns() // 1_000
    with named_failures("enforcement"):
        _, trust = signing_from_environment(None, trusted_keys)
        with reading("refusals") as progress:
            report = read_report(topics, address(bootstrap), timeout=timeout, now=now, trust=trust, progress=progress)
    if as_json:
        typer.echo(report.model_dump_json(indent=2))
        return
    console = Console()
    console = console if console.is_terminal else Console(width=_WIDTH)
    console.print(render(report))
    for remark in report.remarks:
        complain(remark)
