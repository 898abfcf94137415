"""`unmask timeline`: what a session used, what was written down, what was taken back, over one another."""

import json
import time
from typing import Annotated

import typer
from rich.console import Console

from unmask.consumers.cli._connection import DEFAULT, Bootstrap, Namespace, address, named_failures, topics_of
from unmask.consumers.cli._signing import TrustedKeys
from unmask.consumers.record_answers import NotShown
from unmask.consumers.timeline import (
    EXIT_CODES,
    RecordAnswer,
    TurnsError,
    build_timeline,
    draw,
    exit_code_table,
    json_schema,
    nothing_to_show,
    parse_turns,
    read_record,
)
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
def timeline(
    session: Annotated[str, typer.Argument(help="The session.", show_default=False)],
    turns: Annotated[
        str | None, typer.Option(help="Only these turns: 7, 3-9, 3- or -9 (all).", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, of the schema that --schema prints.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", callback=_print_schema, is_eager=True, help="Print the JSON's schema, and end.")
    ] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that reading may take.")] = 30.0,
    trusted_keys: TrustedKeys = None,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Show SESSION's live selection, persisted state and cleanup, turn by turn, and what became of each recovery.

    Also its findings and the delegations that worked in it, all with what the evidence is worth: what nobody tells of
    is said to be that, and never called none. All times are UTC.
    """
    topics = topics_of(namespace)
    try:
        wanted = parse_turns(turns)
    except TurnsError as error:
        raise typer.BadParameter(str(error), param_hint="--turns") from error
    now = time.time_ns() // 1_000
    with named_failures("timeline"):
        _, trust = signing_from_environment(None, trusted_keys)
        try:
            record = read_record(topics, address(bootstrap), session, timeout=timeout, now=now, trust=trust)
            found = build_timeline(record, now=now, turns=wanted)
        except NotShown as missing:
            found = nothing_to_show(opaque_id(session), missing.answer, str(missing), now=now)
    if as_json:
        typer.echo(found.model_dump_json(indent=2))
    elif found.answer != RecordAnswer.SHOWN:
        typer.echo(f"{found.answer}: {found.reason}")
    else:
        console = Console()
        # A file or a pipe has no width of its own; three lanes squeezed into the default one cannot be read.
        console = console if console.is_terminal else Console(width=_WIDTH)
        console.print(draw(found))
    raise typer.Exit(EXIT_CODES[RecordAnswer(found.answer)])
