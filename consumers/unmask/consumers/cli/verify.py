"""`unmask verify`: recounts the log and compares it with what was published."""

import json
from typing import Annotated

import typer
from confluent_kafka import KafkaException
from rich.console import Console
from rich.status import Status

from unmask.consumers.cli._connection import DEFAULT, Bootstrap, Namespace, address, complain, topics_of
from unmask.consumers.report.time_range import RangeError
from unmask.consumers.unreadable import TopicUnreadable
from unmask.consumers.verify import Exit, LogNotStamped, RecountRules, Request, verify
from unmask.consumers.verify.render import to_document, to_renderable
from unmask.schemas.errors import ContractError
from unmask.schemas.windowing import MICROS

__all__ = ["app"]

app = typer.Typer(add_completion=False)

_WIDTH = 180
"""Columns of a table that is not written to a terminal."""


@app.command("verify")
def verify_command(
    since: Annotated[
        str | None,
        typer.Option(
            help="Windows from then on: 90s, 2h, 28d back from the broker's time, or ISO 8601 with a zone. "
            "Without it, all that the log still has.",
            show_default=False,
        ),
    ] = None,
    until: Annotated[str | None, typer.Option(help="Windows that start before then.", show_default=False)] = None,
    window_seconds: Annotated[
        list[int] | None,
        typer.Option(min=0, help="Window size (60), also several times. 0: since ever, counts alone."),
    ] = None,
    settle: Annotated[
        float, typer.Option(min=0.0, help="Seconds that the stream may take to publish what it was sent.")
    ] = 15.0,
    silence_factor: Annotated[
        int, typer.Option(min=1, help="Heartbeats an emitter may miss, as the workers have it.")
    ] = 3,
    write_off_seconds: Annotated[
        int, typer.Option(min=0, help="How much longer a silent emitter spoils its windows, as the workers have it.")
    ] = 0,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1.0, help="Degraded ratio that verdicts must have been judged by.", show_default=False
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 2 when anything in the range could not be checked.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that the broker may take for an answer.")] = 30.0,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Recount the log with code of its own, and compare windows, evidence and verdicts with what was published.

    Exits with 0 when all that could be checked is equal, with 1 when anything differs, with 2 when it could not be
    checked. All times are UTC; the broker's clock decides what is over, not this machine's.
    """
    rules = RecountRules(
        window_seconds=tuple(dict.fromkeys(window_seconds or [60])),
        silence_factor=silence_factor,
        write_off=write_off_seconds * MICROS,
        threshold=threshold,
    )
    topics = topics_of(namespace)
    try:
        request = Request(topics, address(bootstrap), since, until, rules, settle, timeout, strict)
        with Console(stderr=True).status("Reading the log") as status:
            outcome = verify(request, lambda topic, left: _tell(status, topic, left))
    except RangeError as error:
        raise typer.BadParameter(str(error), param_hint="--since / --until") from error
    except (ContractError, TopicUnreadable, LogNotStamped) as error:
        complain(f"unmask verify: {error}")
        raise typer.Exit(Exit.NOT_CHECKED) from error
    except KafkaException as error:
        complain(f"unmask verify: the Kafka client failed ({error}); check the UNMASK_KAFKA_* variables")
        raise typer.Exit(Exit.NOT_CHECKED) from error
    if as_json:
        typer.echo(json.dumps(to_document(outcome), indent=2, allow_nan=False))
    else:
        console = Console()
        # A file or a pipe has no width of its own; a table squeezed into the default one loses its numbers.
        (console if console.is_terminal else Console(width=_WIDTH)).print(to_renderable(outcome))
    raise typer.Exit(outcome.exit)


def _tell(status: Status, topic: str, left: int) -> None:
    status.update(f"Reading {topic}: {left:,} records left")
