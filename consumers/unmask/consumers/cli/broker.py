"""`unmask broker`: a Kafka for development, started and stopped by one command."""

import time
from pathlib import Path
from typing import Annotated

import typer

from unmask.consumers.devbroker import BrokerError, Way, find_broker, resolve_broker, stop_broker

__all__ = ["app"]

app = typer.Typer(
    help="Start, stop and look at a Kafka broker for development.", no_args_is_help=True, add_completion=False
)

Folder = Annotated[
    Path | None,
    typer.Option(help="The broker's data folder (default: UNMASK_BROKER_DIR, or one in ~/.cache/unmask)."),
]


@app.command()
def start(folder: Folder = None) -> None:
    """Start the broker, or find the one that runs; print its bootstrap servers, alone, to standard output."""
    began = time.monotonic()
    try:
        broker = resolve_broker(folder)
    except BrokerError as error:
        raise _failed(error) from error
    if broker.way is Way.EXTERNAL:
        _note("KAFKA_BOOTSTRAP_SERVERS is set, so there is nothing to start.")
    elif broker.started:
        _note(f"Started ({broker.way.value}, {time.monotonic() - began:.1f} s); data in {broker.folder}")
    else:
        _note(f"Runs already ({broker.way.value}); data in {broker.folder}")
    typer.echo(broker.bootstrap)


@app.command()
def stop(
    folder: Folder = None,
    wipe: Annotated[bool, typer.Option("--wipe", help="Delete the broker's data as well.")] = False,
) -> None:
    """Stop the broker; its data stays unless --wipe is given."""
    try:
        # A named folder is meant, whatever the variable says: nobody else's broker is in it.
        if folder is None and (found := find_broker()) is not None and found.way is Way.EXTERNAL:
            _note("KAFKA_BOOTSTRAP_SERVERS is set, so there is nothing to stop.")
            return
        existed = stop_broker(folder, wipe=wipe)
    except BrokerError as error:
        raise _failed(error) from error
    _note(("Stopped, data deleted." if wipe else "Stopped.") if existed else "No broker was started here.")


@app.command()
def status(folder: Folder = None) -> None:
    """Print the running broker's bootstrap servers; exit with 1 when none answers."""
    try:
        broker = find_broker(folder)
    except BrokerError as error:
        raise _failed(error) from error
    if broker is None:
        _note("No broker answers. Start one with: unmask broker start")
        raise typer.Exit(1)
    where = f", data in {broker.folder}" if broker.folder is not None else ""
    _note(f"Running ({broker.way.value}{where})")
    typer.echo(broker.bootstrap)


def _note(text: str) -> None:
    # Standard output belongs to the address, so that a shell can take it: $(unmask broker start).
    typer.echo(text, err=True)


def _failed(error: BrokerError) -> typer.Exit:
    _note(str(error))
    return typer.Exit(1)
