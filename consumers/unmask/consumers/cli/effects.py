"""`unmask effects`: what became of a tenant's effects, and a check of the effects ledger's whole history."""

import json
from typing import Annotated

import typer
from confluent_kafka import KafkaException
from rich.console import Console

from unmask.consumers.cli._connection import DEFAULT, Bootstrap, Namespace, address, complain, topics_of
from unmask.consumers.cli._effects import history, list_effects
from unmask.consumers.effects_check import Rules, check_history, read_history
from unmask.consumers.effects_check.render import to_document, to_lines
from unmask.consumers.unreadable import TopicUnreadable
from unmask.consumers.verify import Exit
from unmask.schemas.errors import ContractError
from unmask.schemas.windowing import MICROS

__all__ = ["app"]

app = typer.Typer(
    help="The effects ledger: what became of a tenant's effects; check its history.",
    no_args_is_help=True,
    add_completion=False,
)
app.command("list")(list_effects)
app.command()(history)


@app.callback()
def _group() -> None:
    """Hold the options of all commands; there are none."""


@app.command()
def verify(
    tenant: Annotated[
        str | None, typer.Option(help="Tell the problems of this tenant alone.", show_default=False)
    ] = None,
    retention_seconds: Annotated[
        int, typer.Option(min=86_400, help="How long the ledger remembers a key, as the workers have it.")
    ] = 30 * 86_400,
    ended_within: Annotated[
        float | None,
        typer.Option(
            min=0.0, help="Seconds after its time in which each lease must have been ended.", show_default=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that the broker may take for an answer.")] = 30.0,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Read every request and decision, and check with code of its own that each answer is the right one.

    No key is committed twice, no commit is lost or taken late, no two leases overlap, tokens only grow, budgets hold,
    every request has one decision in order, and every lease ends. Exits with 0 when nothing is wrong, with 1 when
    anything is, with 2 when it could not be checked. The broker's clock decides what is over.
    """
    rules = Rules(
        retention=retention_seconds * MICROS,
        ended_within=None if ended_within is None else round(ended_within * MICROS),
    )
    topics = topics_of(namespace)
    try:
        with Console(stderr=True).status("Reading the history") as status:
            read = read_history(
                topics, address(bootstrap), timeout,
                lambda topic, left: status.update(f"Reading {topic}: {left:,} records left"),
            )  # fmt: skip
    except (ContractError, TopicUnreadable) as error:
        complain(f"unmask effects verify: {error}")
        raise typer.Exit(Exit.NOT_CHECKED) from error
    except KafkaException as error:
        complain(f"unmask effects verify: the Kafka client failed ({error}); check the UNMASK_KAFKA_* variables")
        raise typer.Exit(Exit.NOT_CHECKED) from error
    account = check_history(read, rules)
    problems = account.problems if tenant is None else account.of(tenant)
    if as_json:
        typer.echo(json.dumps(to_document(account, problems), indent=2, allow_nan=False))
    else:
        typer.echo("\n".join(to_lines(account, problems)))
    raise typer.Exit(Exit.DIFFERENT if problems else Exit.EQUAL)
