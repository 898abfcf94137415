"""`unmask watch`: alerts as they fire and resolve, for people, as JSON lines, or carried to a receiver."""

import json
import os
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from unmask.consumers.alerts import ForwardSettings
from unmask.consumers.alerts.change import UnreadableAlert
from unmask.consumers.alerts_feed import AlertsFeed, alerts_source
from unmask.consumers.cli._alert_line import alert_line
from unmask.consumers.cli._connection import (
    DEFAULT,
    Bootstrap,
    Namespace,
    address,
    complain,
    named_failures,
    topics_of,
)
from unmask.consumers.cli._forwarding import AUTHORIZATION, forward_alerts, receiver_of
from unmask.consumers.unreadable import TopicUnreadable
from unmask.schemas.tokens import is_token

__all__ = ["app"]

app = typer.Typer(add_completion=False)

_POLL_SECONDS = 0.5
_RETRY_SECONDS = 2.0


@app.command()
def watch(
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON document per line.")] = False,
    standing: Annotated[
        bool, typer.Option("--standing/--from-now", help="Begin with the alerts that fire already, or only with new.")
    ] = True,
    count: Annotated[int | None, typer.Option(min=1, help="End after this many.", show_default=False)] = None,
    seconds: Annotated[
        float | None, typer.Option("--for", min=0.0, help="End after this many seconds.", show_default=False)
    ] = None,
    webhook: Annotated[
        str | None,
        typer.Option(envvar="UNMASK_WATCH_WEBHOOK", help="POST each change as JSON to this URL.", show_default=False),
    ] = None,
    alertmanager: Annotated[
        str | None,
        typer.Option(
            envvar="UNMASK_WATCH_ALERTMANAGER", help="Keep the Alertmanager at this URL told.", show_default=False
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Watchers of one name share the work and its progress (default: one per URL)."),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, max=300.0, help="Seconds that a request may take.")] = 10.0,
    resolve_after: Annotated[
        float, typer.Option(min=5.0, help="Seconds after which Alertmanager gives up an alert that is not repeated.")
    ] = 300.0,
    set_aside: Annotated[
        Path | None,
        typer.Option(help="Append what the receiver refuses for good to this file.", show_default=False),
    ] = None,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Show alerts as they fire and resolve, until interrupted. All times are UTC.

    With --webhook or --alertmanager they are carried there, and shown once the
    receiver has taken them. How far that is stands on the broker: no alert is
    lost while the receiver is away or the watcher is not running. The
    Authorization header for it is taken from UNMASK_WATCH_AUTHORIZATION.
    """
    topics_of(namespace)
    # By the environment alone: whoever lists processes reads their options.
    receiver = receiver_of(webhook, alertmanager, os.environ.get(AUTHORIZATION))
    if name is not None and not is_token(name):
        raise typer.BadParameter("letters, digits, '_', '-' and '.', at most 64 of them", param_hint="--name")
    with named_failures("watch"):
        if receiver is not None:
            settings = ForwardSettings(
                receiver,
                namespace=namespace,
                bootstrap=address(bootstrap),
                name=name,
                standing=standing,
                timeout=timeout,
                resolve_after=resolve_after,
            )
            forward_alerts(settings, as_json=as_json, count=count, seconds=seconds, set_aside=set_aside)
            return
        feed = AlertsFeed(alerts_source(address(bootstrap), namespace), standing=standing)
        try:
            _follow(feed, as_json=as_json, count=count, seconds=seconds)
        except KeyboardInterrupt:
            pass
        finally:
            feed.close()


def _follow(feed: AlertsFeed, *, as_json: bool, count: int | None, seconds: float | None) -> None:
    console = Console(soft_wrap=True)
    deadline = None if seconds is None else time.monotonic() + seconds
    shown = 0
    opened = False
    while True:
        left = _POLL_SECONDS if deadline is None else min(_POLL_SECONDS, deadline - time.monotonic())
        # What stood at the start is shown in full, however short the time is.
        if left <= 0 and opened and not feed.replaying:
            return
        try:
            news = feed.next(max(0.0, left))
            opened = True
        except TopicUnreadable as trouble:
            if not opened:
                raise
            if left <= 0:
                return
            complain(f"{trouble} Trying again.")
            time.sleep(_RETRY_SECONDS)
            continue
        for alert in news:
            if isinstance(alert, UnreadableAlert):
                complain(f"Partition {alert.partition}, offset {alert.offset} is no alert ({alert.reason}).")
                continue
            if as_json:
                typer.echo(json.dumps(alert.model_dump(mode="json"), allow_nan=False))
            else:
                console.print(alert_line(alert))
            shown += 1
            if count is not None and shown >= count:
                return
