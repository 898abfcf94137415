"""`unmask gate`: ask the gate from a shell; the exit code is the answer."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from unmask.consumers.cli._connection import (
    DEFAULT,
    Bootstrap,
    Namespace,
    address,
    complain,
    named_failures,
    topics_of,
)
from unmask.consumers.gate import DEFAULT_TIMEOUT, Admission, Gate, OverrideNotNamed, exit_code_table

__all__ = ["app"]

_TABLE = "\n\n".join(f"{code:>2}  {answer}: {meaning}." for code, answer, meaning in exit_code_table())
_EPILOG = f"Exit codes:\n\n{_TABLE}\n\n 1  the command itself could not run;  2  it was called wrongly."

app = typer.Typer(add_completion=False)


@app.command(epilog=_EPILOG)
def gate(
    session: Annotated[str, typer.Argument(help="The session whose work is to be continued.", show_default=False)],
    mutating: Annotated[
        bool, typer.Option("--mutating/--read-only", help="Whether the successor wants to change anything.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Write the whole admission as JSON.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that the answer may take.")] = DEFAULT_TIMEOUT,
    successor: Annotated[
        str | None, typer.Option(help="The session that wants to begin, for the records.", show_default=False)
    ] = None,
    override_by: Annotated[
        str | None, typer.Option(help="Let the successor pass on this operator's word.", show_default=False)
    ] = None,
    reason_code: Annotated[
        str | None, typer.Option(help="Why, with --override-by: one word of letters, digits, _ . -", show_default=False)
    ] = None,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Ask whether a successor of SESSION may act. Every question is recorded; every doubt is a refusal."""
    if (override_by is None) != (reason_code is None):
        raise typer.BadParameter("give both or neither", param_hint="--override-by / --reason-code")
    topics_of(namespace)
    with named_failures("gate"), Gate(address(bootstrap), namespace, live=False, record_timeout=timeout) as opened:
        admission = opened.admit(session, mutating=mutating, timeout=timeout, successor=successor)
        if override_by is not None and reason_code is not None:
            try:
                admission = admission.override(by=override_by, reason_code=reason_code)
            except OverrideNotNamed as error:
                raise typer.BadParameter(str(error), param_hint="--override-by / --reason-code") from error
    if as_json:
        typer.echo(json.dumps(admission.as_dict(), indent=2, allow_nan=False))
    else:
        _tell(admission)
    raise typer.Exit(admission.exit_code)


def _tell(admission: Admission) -> None:
    style = "bold green" if admission.admitted else "bold red"
    Console(soft_wrap=True).print(Text(str(admission.answer), style=style), Text(admission.reason))
    owed = admission.obligation
    if owed is not None and owed.upstreams:
        complain(f"upstreams: {', '.join(owed.upstreams)} ({', '.join(owed.signatures)})")
    if owed is not None and owed.inherited_from:
        complain(f"inherited from: {', '.join(owed.inherited_from)}")
