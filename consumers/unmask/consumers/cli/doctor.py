"""`unmask doctor`: looks at broker, topics, ledger, clock and worker; each failure with its fix."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from unmask.consumers.cli._connection import (
    DEFAULT,
    FAILED,
    Bootstrap,
    Namespace,
    address,
    named_failures,
    topics_of,
)
from unmask.consumers.doctor import Finding, Status, examine

__all__ = ["app"]

app = typer.Typer(add_completion=False)

_MARKS = {Status.OK: ("ok  ", "green"), Status.WARNING: ("warn", "yellow"), Status.FAILED: ("FAIL", "bold red")}


@app.command()
def doctor(
    worker: Annotated[
        str | None, typer.Option(help="Address of a stream worker, to ask for its readiness.", show_default=False)
    ] = None,
    max_lag: Annotated[int, typer.Option(min=0, help="Records that the ledger may be behind.")] = 10_000,
    clock: Annotated[
        bool, typer.Option("--clock/--no-clock", help="Compare clocks, for which a topic is made and deleted.")
    ] = True,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that each question may take.")] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Look at everything that Unmask needs. Exits with 1 where something failed; warnings alone do not."""
    topics_of(namespace)
    console = Console(soft_wrap=True)
    found: list[Finding] = []
    with named_failures("doctor"):
        where = address(bootstrap)
        for finding in examine(where, namespace, worker=worker, max_lag=max_lag, clock=clock, timeout=timeout):
            found.append(finding)
            if not as_json:
                _tell(console, finding)
    failures = sum(finding.status is Status.FAILED for finding in found)
    if as_json:
        plain = [{"check": f.check, "status": str(f.status), "detail": f.detail, "fix": f.fix} for f in found]
        typer.echo(json.dumps({"ok": not failures, "findings": plain}, indent=2))
    else:
        typer.echo("All well." if not failures else f"{failures} failed; mend these first.")
    if failures:
        raise typer.Exit(FAILED)


def _tell(console: Console, finding: Finding) -> None:
    mark, style = _MARKS[finding.status]
    console.print(Text.assemble((mark, style), "  ", (finding.check, "bold"), "  ", finding.detail))
    if finding.fix is not None:
        console.print(Text(f"      fix: {finding.fix}"))
