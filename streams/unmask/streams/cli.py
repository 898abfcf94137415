"""`unmask stream`: runs a worker until it is told to stop."""

import asyncio
import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from unmask.schemas.errors import ContractError
from unmask.schemas.kafka import bootstrap_from_environment
from unmask.schemas.tokens import is_token
from unmask.schemas.topics import namespace_from_environment
from unmask.streams.settings import SettingsError, StreamSettings

__all__ = ["stream"]

_PARTS = ("ledger", "tables", "effects")


def stream(
    only: Annotated[str | None, typer.Option(help="Run one part alone: ledger, tables or effects.")] = None,
    bootstrap: Annotated[str | None, typer.Option(help="Brokers (default: KAFKA_BOOTSTRAP_SERVERS).")] = None,
    namespace: Annotated[
        str | None, typer.Option(help="First part of topic names (default: UNMASK_NAMESPACE).")
    ] = None,
    instance: Annotated[
        str | None, typer.Option(help="Name of this worker slot, kept over restarts (default: a random one).")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address of the web endpoints (default: 127.0.0.1).")] = None,
    port: Annotated[int | None, typer.Option(help="Their port; 0 takes a free one (default: 8080).")] = None,
    window_seconds: Annotated[str | None, typer.Option(help="Window sizes in seconds, e.g. 60,3600.")] = None,
    grace_seconds: Annotated[float | None, typer.Option(help="How long a window waits after its end.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Degraded ratio above which a session is DEGRADED.")] = None,
    fallback_rate: Annotated[float | None, typer.Option(help="Fallbacks per attempt above which to alert.")] = None,
    signing_key: Annotated[
        Path | None, typer.Option(help="Private key, PEM, that signs verdicts (default: UNMASK_SIGNING_KEY).")
    ] = None,
    trusted_keys: Annotated[
        Path | None, typer.Option(help="Public keys, file or folder, to believe (default: UNMASK_TRUSTED_KEYS).")
    ] = None,
    capabilities: Annotated[
        str | None, typer.Option(help="Capabilities whose series exist from the start, e.g. search,summarize.")
    ] = None,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Serve the live page, which names sessions.")] = True,
) -> None:
    """Count, prove, judge and decide: run the ledger, the tables and the effects ledger until told to stop."""
    _log()
    try:
        parts = _parts(only)
        settings = _settings(
            bootstrap=bootstrap or bootstrap_from_environment(),
            namespace=namespace or namespace_from_environment(),
            instance=instance,
            static_membership=True if instance is not None else None,
            host=host,
            port=port,
            window_seconds=None if window_seconds is None else _numbers(window_seconds),
            grace_ms=None if grace_seconds is None else round(grace_seconds * 1000),
            threshold=threshold,
            fallback_rate_threshold=fallback_rate,
            capabilities=None if capabilities is None else _names(capabilities),
            page=page,
            signing_key=signing_key,
            trusted_keys=trusted_keys,
        )
        asyncio.run(_run(settings, parts))
    except (ContractError, SettingsError) as error:
        raise _failed(error) from error
    except Exception as error:
        logging.getLogger(__name__).debug("the worker ended", exc_info=True)
        raise _failed(error) from error


def _log() -> None:
    level = os.environ.get("UNMASK_LOG_LEVEL", "INFO").upper()
    known = logging.getLevelNamesMapping()
    logging.basicConfig(level=known.get(level, logging.INFO), format="%(asctime)s %(levelname)s %(name)s %(message)s")
    # What these say at INFO is of no use to whoever runs a worker, and there is much of it.
    for chatty in ("faust", "aiokafka", "mode", "unmask.streams.tables.transport"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


async def _run(settings: StreamSettings, parts: tuple[str, ...]) -> None:
    # Faust and aiohttp are only paid for by whoever runs a worker.
    from unmask.streams.worker import Worker, find_topics

    topics = await asyncio.get_running_loop().run_in_executor(None, find_topics, settings)
    worker = Worker(settings, topics, parts)
    await worker.run(lambda port: typer.echo(f"unmask stream: {', '.join(parts)} on {settings.host}:{port}", err=True))


def _parts(only: str | None) -> tuple[str, ...]:
    if only is None:
        return _PARTS
    if only not in _PARTS:
        raise SettingsError(f"--only is one of {', '.join(_PARTS)}")
    return (only,)


def _settings(**given: Any) -> StreamSettings:
    return replace(StreamSettings(), **{name: value for name, value in given.items() if value is not None})


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise SettingsError("--window-seconds is a list of whole numbers of seconds, e.g. 60,3600") from None


def _names(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if not all(is_token(name) for name in names):
        raise SettingsError("--capabilities is a list of labels: letters, digits, '_', '-' and '.', at most 64 of them")
    return names


def _failed(error: Exception) -> typer.Exit:
    sys.stderr.write(f"unmask stream: {type(error).__name__}: {error}\n")
    return typer.Exit(1)
