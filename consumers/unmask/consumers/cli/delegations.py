"""`unmask delegations`: what delegations did, spent and were refused, over all sessions."""

import json
import time
from typing import Annotated

import typer
from rich.console import Console

from unmask.consumers.cli._connection import DEFAULT, Bootstrap, Namespace, address, complain, named_failures, topics_of
from unmask.consumers.cli._reading import reading
from unmask.consumers.cli._signing import TrustedKeys
from unmask.consumers.delegations.document import json_schema
from unmask.consumers.delegations.report import Question, no_report, read_report
from unmask.consumers.delegations.table import MOST_LINES, delegations_table
from unmask.consumers.record_answers import EXIT_CODES, NotShown, RecordAnswer, exit_code_table
from unmask.consumers.report.table import STATE_STYLES
from unmask.schemas.signing_setup import signing_from_environment
from unmask.schemas.tokens import opaque_id

__all__ = ["app"]

app = typer.Typer(add_completion=False)

_WIDTH = 160
_EPILOG = f"Exit codes:\n\n{exit_code_table()}\n\n 1  the command itself could not run;  2  it was called wrongly."


def _print_schema(wanted: bool) -> None:
    if wanted:
        typer.echo(json.dumps(json_schema(), indent=2))
        raise typer.Exit


@app.command(epilog=_EPILOG)
def delegations(
    delegation: Annotated[
        str | None, typer.Argument(help="The delegation (default: all of them).", show_default=False)
    ] = None,
    session: Annotated[str | None, typer.Option(help="Only what it did in this session.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, of the schema that --schema prints.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", callback=_print_schema, is_eager=True, help="Print the JSON's schema, and end.")
    ] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that reading may take.")] = 60.0,
    trusted_keys: TrustedKeys = None,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Show each delegation's invocations, calls, tokens, budgets, breaker, effects, refusals and findings.

    What the stream still keeps of it, over all sessions: about a day after a session's last event only its verdict
    tells of its delegations. All times are UTC.
    """
    topics = topics_of(namespace)
    asked = Question(
        None if delegation is None else opaque_id(delegation), None if session is None else opaque_id(session)
    )  # fmt: skip
    now = time.time_ns() // 1_000
    with named_failures("delegations"):
        _, trust = signing_from_environment(None, trusted_keys)
        try:
            with reading("sessions") as progress:
                found = read_report(
                    topics, address(bootstrap), asked, timeout=timeout, now=now, trust=trust, progress=progress
                )  # fmt: skip
        except NotShown as missing:
            found = no_report(asked, missing.answer, str(missing), now=now)
    if as_json:
        typer.echo(found.model_dump_json(indent=2))
    elif found.answer != RecordAnswer.SHOWN:
        typer.echo(f"{found.answer}: {found.reason}")
    else:
        console = Console()
        console = console if console.is_terminal else Console(width=_WIDTH)
        if found.delegations:
            console.print(delegations_table(found.delegations, "Delegations"))
        if len(found.delegations) > MOST_LINES:
            complain(f"{MOST_LINES} of {len(found.delegations):,} are shown; --json has all of them.")
        words = found.evidence_words.removeprefix(f"{found.evidence.lower()}: ")
        console.print(f"{found.evidence}: {words}", style=STATE_STYLES[found.evidence], highlight=False)
    if not as_json:
        for remark in found.remarks:
            complain(remark)
    raise typer.Exit(EXIT_CODES[RecordAnswer(found.answer)])
