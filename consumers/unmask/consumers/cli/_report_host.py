"""`unmask report host`: what hosts say to have recorded, against what is on record."""

import json
import time
from typing import Annotated

import typer
from confluent_kafka import KafkaException
from rich.console import Console

from unmask.consumers.cli._connection import DEFAULT, Bootstrap, Namespace, address, complain, topics_of
from unmask.consumers.cli._reading import reading
from unmask.consumers.unreadable import TopicUnreadable
from unmask.schemas.errors import ContractError

__all__ = ["host"]

_WIDTH = 200
"""Columns of a table that is not written to a terminal."""
_UNEXPLAINED, _NOT_COMPARED = 1, 2


def host(
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    settle: Annotated[
        float, typer.Option(min=0.0, help="Seconds that the tables may take to publish what was counted.")
    ] = 5.0,
    silence_factor: Annotated[
        int, typer.Option(min=1, help="Heartbeats an emitter may miss, as the workers have it.")
    ] = 3,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that the broker may take for an answer.")] = 60.0,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Compare hosts' own counts, as their accounts carry them, with the durable record, and explain each difference.

    Per emitter: recorded, dropped, and what the log has received. Per release line and composition: the log, what is
    counted, and what is published. Exits with 0 where every difference is explained, with 1 where one is not, with 2
    where nothing could be compared.
    """
    # What it needs of `unmask verify` is more than the other reports should wait for.
    from unmask.consumers.report.hosts import HostRequest, compare_hosts
    from unmask.consumers.report.hosts.render import to_document, to_renderable

    topics = topics_of(namespace)
    now = time.time_ns() // 1_000
    try:
        request = HostRequest(topics, address(bootstrap), settle, timeout, silence_factor)
        with reading("topics") as progress:
            most: dict[str, int] = {}

            def tell(topic: str, left: int) -> None:
                if progress is not None:
                    most[topic] = max(left, most.get(topic, 0))
                    progress(most[topic], left)

            comparison = compare_hosts(request, tell, now=now)
    except (ContractError, TopicUnreadable) as error:
        complain(f"unmask report host: {error}")
        raise typer.Exit(_NOT_COMPARED) from error
    except KafkaException as error:
        complain(f"unmask report host: the Kafka client failed ({error}); check the UNMASK_KAFKA_* variables")
        raise typer.Exit(_NOT_COMPARED) from error
    if as_json:
        typer.echo(json.dumps(to_document(comparison, generated_at=now), indent=2, allow_nan=False))
    else:
        console = Console()
        # A file or a pipe has no width of its own; a table squeezed into the default one loses its numbers.
        (console if console.is_terminal else Console(width=_WIDTH)).print(to_renderable(comparison))
    if comparison.pipeline.fix is not None:
        complain(f"To do: {comparison.pipeline.fix}")
    raise typer.Exit(_UNEXPLAINED if comparison.unexplained else 0)
