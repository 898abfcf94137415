"""`unmask watch`: alerts as they fire and resolve, for people or as JSON lines."""

import json
import time
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from unmask.consumers.alerts_feed import AlertsFeed, UnreadableAlert, alerts_source
from unmask.consumers.cli._connection import (
    DEFAULT,
    Bootstrap,
    Namespace,
    address,
    complain,
    named_failures,
    topics_of,
)
from unmask.consumers.unreadable import TopicUnreadable
from unmask.schemas.codes import AlertState
from unmask.schemas.instants import iso, to_micros
from unmask.schemas.models import Alert

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
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Show alerts as they fire and resolve, until interrupted. All times are UTC."""
    topics_of(namespace)
    with named_failures("watch"):
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
                console.print(_line(alert))
            shown += 1
            if count is not None and shown >= count:
                return


def _line(alert: Alert) -> Text:
    firing = alert.state is AlertState.FIRING
    at = alert.since if firing or alert.until is None else alert.until
    subject = {
        "session": alert.session_id,
        "upstream": alert.upstream,
        "emitter": alert.emitter_id,
        "release": None if alert.scope is None else alert.scope.release_line,
        "capability": alert.capability,
        "window": None if alert.window_start is None else iso(to_micros(alert.window_start)),
    }
    parts = [f"{name} {value}" for name, value in subject.items() if value is not None]
    parts += [f"{name} {value:,}" for name, value in sorted(alert.facts.items())]
    parts += [", ".join(alert.causes)] if alert.causes else []
    parts += [f"do: {alert.directive}"] if alert.directive is not None else []
    return Text.assemble(
        (iso(to_micros(at)), "dim"),
        "  ",
        (f"{alert.state:<8}", "bold red" if firing else "green"),
        "  ",
        (f"{alert.kind}", "bold"),
        "  ",
        "; ".join(parts),
    )
