"""`unmask schemas`: which versions of the contract this installation knows, and a folder to teach them with."""

import json
from pathlib import Path
from typing import Annotated

import typer

from unmask.consumers.cli._connection import FAILED, complain, named_failures
from unmask.schemas.export import export_schemas
from unmask.schemas.history import RECORDS, published, readable

__all__ = ["app"]

app = typer.Typer(help="The contract's schemas: list them, export them.", no_args_is_help=True, add_completion=False)

Folder = Annotated[Path, typer.Argument(help="Folder to write to; it is made where it is not there.")]


@app.command()
def export(folder: Folder) -> None:
    """Write all published schemas, as a folder that an older worker or reader can be taught with.

    Start the older one with UNMASK_EXTRA_SCHEMAS set to it.
    """
    with named_failures("schemas export"):
        try:
            written = export_schemas(folder)
        except OSError as error:
            complain(f"unmask schemas export: {folder} cannot be written ({error.strerror}); name another folder")
            raise typer.Exit(FAILED) from error
    typer.echo(f"{len(written)} schemas of {len(RECORDS)} records in {folder}")


@app.command(name="list")
def list_(as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False) -> None:
    """List every version that this installation reads, also those that UNMASK_EXTRA_SCHEMAS teaches it."""
    with named_failures("schemas list"):
        rows = [
            {
                "record": record,
                "version": schema.version,
                "fingerprint": schema.fingerprint.hex(),
                "taught": schema not in published(record),
            }
            for record in RECORDS
            for schema in readable(record)
        ]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        taught = "  taught by UNMASK_EXTRA_SCHEMAS" if row["taught"] else ""
        typer.echo(f"{row['record']:<16} v{row['version']}  {row['fingerprint']}{taught}")
