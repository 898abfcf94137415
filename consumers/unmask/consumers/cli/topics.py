"""`unmask topics`: create all topics with their full configuration, or check them."""

import json
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
from unmask.schemas.topic_admin import create_topics, discover_topics, verify_topics

__all__ = ["app"]

app = typer.Typer(help="Create and check the topics.", no_args_is_help=True, add_completion=False)

EventsPartitions = Annotated[
    int, typer.Option(min=1, help="Partitions of the event topic; the most ledgers that can share the work.")
]
TablePartitions = Annotated[
    int, typer.Option(min=1, help="Partitions of all table topics. They cannot be changed later.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON.")]


@app.command()
def create(
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
    events_partitions: EventsPartitions = 6,
    table_partitions: TablePartitions = 6,
    replication: Annotated[
        int | None, typer.Option(min=1, help="Replicas of each partition (default: the brokers, at most 3).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create the topics that are missing, in one call, then verify all; existing ones are never altered."""
    topics = topics_of(namespace, events_partitions=events_partitions, table_partitions=table_partitions)
    with named_failures("topics create"):
        made = create_topics(address(bootstrap), topics, replication)
    if as_json:
        typer.echo(
            json.dumps({"created": made.created, "existed": made.existed, "replication": made.replication}, indent=2)
        )
        return
    for name in made.created:
        typer.echo(f"created {name}")
    typer.echo(f"{len(made.created)} created, {len(made.existed)} existed already, all verified.")


@app.command()
def check(
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Verify that all topics exist and keep what they must; each fault with its fix. Exits with 1 on a fault."""
    topics_of(namespace)
    with named_failures("topics check"):
        where = address(bootstrap)
        # Partition counts are the cluster's own choice; what must hold among them is checked.
        topics = discover_topics(where, namespace)
        problems = verify_topics(where, topics)
    if as_json:
        plain = [{"topic": p.topic, "kind": str(p.kind), "what": p.what, "fix": p.fix} for p in problems]
        typer.echo(json.dumps({"ok": not problems, "problems": plain}, indent=2))
    elif problems:
        for problem in problems:
            complain(f"{problem.topic}: {problem.what}\n  fix: {problem.fix}")
    else:
        typer.echo(f"All {len(topics.all())} topics of {namespace} are as they must be.")
    if problems:
        raise typer.Exit(FAILED)
