"""`unmask quarantine`: records that could not be read, and how to hand them to the ledger again. Never their bytes."""

import json
from collections import Counter
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

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
from unmask.consumers.quarantine import (
    BadPlace,
    Entries,
    LogStretch,
    Place,
    Replay,
    State,
    append,
    conditions,
    parse_place,
    read_entries,
)
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.verify.strict import StrictReader
from unmask.schemas.framing import framing_from_environment
from unmask.schemas.instants import iso, to_micros
from unmask.schemas.models import Quarantined
from unmask.schemas.topics import Topics

__all__ = ["app"]

app = typer.Typer(
    help="Records that could not be read: list them, look at one, hand them to the ledger again.",
    no_args_is_help=True,
    add_completion=False,
)

_WIDTH = 180
Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]
Timeout = Annotated[float, typer.Option(min=0.1, help="Seconds that the broker may take for an answer.")]


@app.command("list")
def list_entries(
    as_json: Json = False, timeout: Timeout = 30.0, bootstrap: Bootstrap = None, namespace: Namespace = DEFAULT
) -> None:
    """List what is in quarantine: where it stands, when it came, why it could not be read."""
    topics = topics_of(namespace)
    with named_failures("quarantine list"):
        entries = _entries(topics, bootstrap, timeout)
    if as_json:
        typer.echo(json.dumps([_document(place, entry) for place, entry in entries], indent=2))
        return
    table = Table()
    for name in ("place", "broker's time", "reason", "bytes", "key", "schema"):
        table.add_column(name, overflow="fold", justify="right" if name == "bytes" else "left")
    for place, entry in entries:
        told = _document(place, entry)
        table.add_row(*(str(told[n] or "") for n in ("place", "broker_time", "reason", "size", "key", "fingerprint")))
    if len(entries):
        _print(table)
    reasons = Counter(entry.reason.value for _, entry in entries)
    parts = ", ".join(f"{n:,} {reason}" for reason, n in reasons.most_common())
    typer.echo(f"{len(entries):,} in quarantine" + (f": {parts}" if parts else ""))


@app.command()
def show(
    place: Annotated[str, typer.Argument(help="PARTITION/OFFSET or TOPIC/PARTITION/OFFSET.", metavar="PLACE")],
    as_json: Json = False,
    timeout: Timeout = 30.0,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Tell all that is known of one record, whether it still stands in the log, and whether it can be read now.

    Exits with 1 where nothing at that place is in quarantine.
    """
    topics = topics_of(namespace)
    (wanted,) = _places([place], topics)
    with named_failures("quarantine show"):
        entries = _entries(topics, bootstrap, timeout)
        entry = entries.get(wanted)
        if entry is None:
            complain(f"unmask quarantine show: nothing at {wanted} is in quarantine; see: unmask quarantine list")
            raise typer.Exit(FAILED)
        (replay,) = _conditions([wanted], entries, topics, bootstrap, timeout)
    told = {**_document(wanted, entry), "state": replay.condition.state.value, "detail": replay.condition.detail}
    told["stands"] = replay.condition.state not in (State.GONE, State.REPLACED)
    if as_json:
        typer.echo(json.dumps(told, indent=2))
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in told.items():
        table.add_row(name.replace("_", " "), str(value) if value is not None else "")
    _print(table)


@app.command()
def replay(
    places: Annotated[
        list[str] | None, typer.Argument(help="PARTITION/OFFSET of each record.", metavar="[PLACE]...")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that is in quarantine.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only tell what would be done.")] = False,
    as_json: Json = False,
    timeout: Timeout = 30.0,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Append records that can be read now to their partition again, so that the ledger counts them, each once.

    Do so after an upgrade that lets them be read, of every worker first: a worker that cannot read them puts them
    aside again. What still cannot be read is refused. The counts then include them; windows that were LOSSY because of
    the unreadable record stay so. Exits with 1 where something that was asked for is refused.
    """
    topics = topics_of(namespace)
    if bool(places) == everything:
        raise typer.BadParameter("name places, or give --all", param_hint="PLACE / --all")
    wanted = _places(places or [], topics)
    with named_failures("quarantine replay"):
        entries = _entries(topics, bootstrap, timeout)
        if everything:
            wanted = [place for place, _ in entries if place.topic == topics.events.name]
        replays = _conditions(wanted, entries, topics, bootstrap, timeout)
        if yes:
            append(replays, address(bootstrap), timeout)
    if as_json:
        typer.echo(json.dumps([_outcome(replay, yes=yes) for replay in replays], indent=2))
    else:
        _tell(replays, yes=yes)
    # Of everything, what cannot be replayed was not asked for by name; a broker's refusal always counts.
    if any(replay.refused if not everything else replay.failure for replay in replays):
        raise typer.Exit(FAILED)


def _tell(replays: list[Replay], *, yes: bool) -> None:
    table = Table()
    for name in ("place", "state", "what was done" if yes else "what would be done", "detail"):
        table.add_column(name, overflow="fold")
    for replay in replays:
        told = _outcome(replay, yes=yes)
        table.add_row(told["place"], told["state"], told["done"], told["detail"])
    if replays:
        _print(table)
    able = sum(replay.condition.state is State.READABLE for replay in replays)
    done = sum(replay.appended_at is not None for replay in replays)
    if yes:
        typer.echo(f"{done:,} of {len(replays):,} replayed.")
    else:
        typer.echo(f"{able:,} of {len(replays):,} can be replayed. Nothing was done; add --yes to do it.")


def _outcome(replay: Replay, *, yes: bool) -> dict[str, Any]:
    if replay.failure is not None:
        done = f"not taken by the broker ({replay.failure})"
    elif replay.appended_at is not None:
        done = f"replayed as offset {replay.appended_at}"
    elif replay.condition.state is State.READABLE:
        done = "not replayed" if yes else "replay"
    else:
        done = "nothing" if replay.condition.state is State.REPLAYED else "refused"
    return {
        "place": str(replay.place),
        "state": replay.condition.state.value,
        "done": done,
        "appended_at": replay.appended_at,
        "detail": replay.condition.detail,
    }


def _places(texts: list[str], topics: Topics) -> list[Place]:
    try:
        places = [parse_place(text, topics.events.name) for text in texts]
    except BadPlace as error:
        raise typer.BadParameter(str(error), param_hint="PLACE") from error
    for place in places:
        if place.topic != topics.events.name:
            raise typer.BadParameter(
                f"{place.topic} is not the event topic of this namespace, {topics.events.name}", param_hint="PLACE"
            )
    return list(dict.fromkeys(places))


def _entries(topics: Topics, bootstrap: str | None, timeout: float) -> Entries:
    source = TopicSource(topics.quarantine.name, address(bootstrap), compacted=False)
    entries = read_entries(source, framing_from_environment(), timeout)
    if entries.unreadable:
        complain(f"{entries.unreadable} entries of {topics.quarantine.name} cannot be read themselves.")
    return entries


def _conditions(
    places: list[Place], entries: Entries, topics: Topics, bootstrap: str | None, timeout: float
) -> list[Replay]:
    stretch = LogStretch(TopicSource(topics.events.name, address(bootstrap), compacted=False), timeout)
    return conditions(places, entries, stretch, StrictReader(framing_from_environment()))


def _document(place: Place, entry: Quarantined) -> dict[str, Any]:
    return {
        "place": str(place),
        "broker_time": iso(to_micros(entry.broker_time)),
        "reason": entry.reason.value,
        "size": entry.size,
        "digest": entry.digest,
        "fingerprint": entry.fingerprint,
        "key": entry.key,
    }


def _print(table: Table) -> None:
    console = Console()
    (console if console.is_terminal else Console(width=_WIDTH)).print(table)
