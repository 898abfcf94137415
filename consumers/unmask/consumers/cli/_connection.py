"""What all commands share: where the broker is, and how a failure is told to a person."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from confluent_kafka import KafkaException

from unmask.consumers.unreadable import TopicUnreadable
from unmask.schemas.errors import ContractError
from unmask.schemas.kafka import bootstrap_from_environment
from unmask.schemas.topics import DEFAULT_NAMESPACE, Topics

__all__ = ["FAILED", "Bootstrap", "Namespace", "address", "complain", "named_failures", "topics_of"]

FAILED = 1
"""Exit code of a command that could not do what it was asked."""

Bootstrap = Annotated[
    str | None,
    typer.Option(
        "--bootstrap",
        envvar="KAFKA_BOOTSTRAP_SERVERS",
        help="Kafka brokers, host:port, several divided by commas.",
        show_default=False,
    ),
]
Namespace = Annotated[
    str,
    typer.Option("--namespace", envvar="UNMASK_NAMESPACE", help="First part of all topic names."),
]
DEFAULT = DEFAULT_NAMESPACE


def complain(text: str) -> None:
    """Say something on standard error, so that standard output stays what was asked for."""
    typer.echo(text, err=True)


@contextmanager
def named_failures(command: str) -> Iterator[None]:
    """Turn the named errors of broker, topics and records into one message and exit code 1, without a traceback."""
    try:
        yield
    except (ContractError, TopicUnreadable) as error:
        complain(f"unmask {command}: {error}")
        raise typer.Exit(FAILED) from error
    except KafkaException as error:
        complain(
            f"unmask {command}: the Kafka client refused its settings ({error}); check the UNMASK_KAFKA_* variables"
        )
        raise typer.Exit(FAILED) from error


def address(bootstrap: str | None) -> str:
    """The brokers that a command talks to. Raises NoBroker where neither option nor environment names any."""
    return bootstrap or bootstrap_from_environment()


def topics_of(namespace: str, **partitions: int) -> Topics:
    """The topics of a namespace; a name that cannot be one is the caller's mistake."""
    try:
        return Topics(namespace, **partitions)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--namespace") from error
