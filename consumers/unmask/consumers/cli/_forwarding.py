"""`unmask watch` with a receiver: what it says while it forwards, and how it ends."""

import contextlib
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.console import Console

from unmask.consumers.alerts import (
    BadAddress,
    ForwardSettings,
    Parcel,
    Receiver,
    ReceiverKind,
    ReceiverRefusesAll,
    SetAside,
    forward,
)
from unmask.consumers.alerts.set_aside import SetAsideFile, SetAsideUnwritable
from unmask.consumers.cli._alert_line import alert_line
from unmask.consumers.cli._connection import FAILED, complain

__all__ = ["AUTHORIZATION", "forward_alerts", "receiver_of"]

AUTHORIZATION = "UNMASK_WATCH_AUTHORIZATION"


def receiver_of(webhook: str | None, alertmanager: str | None, authorization: str | None) -> Receiver | None:
    """The receiver that the options name, if any."""
    if webhook and alertmanager:
        raise typer.BadParameter("one watcher serves one receiver; run two", param_hint="--webhook, --alertmanager")
    if not webhook and not alertmanager:
        return None
    kind = ReceiverKind.WEBHOOK if webhook else ReceiverKind.ALERTMANAGER
    try:
        return Receiver(kind, webhook or alertmanager or "", authorization or None)
    except BadAddress as error:
        raise typer.BadParameter(str(error), param_hint=f"--{kind}") from error


def forward_alerts(
    settings: ForwardSettings,
    *,
    as_json: bool,
    count: int | None,
    seconds: float | None,
    set_aside: Path | None,
) -> None:
    """Forwards until interrupted, told to stop, or as long as asked for. Exit code 1 where a delivery was refused."""
    try:
        with _until_told_to_stop() as stopped, _opened(set_aside) as file:
            deadline = None if seconds is None else time.monotonic() + seconds

            def done(told: int) -> bool:
                if stopped() or (count is not None and told >= count):
                    return True
                return deadline is not None and time.monotonic() >= deadline

            outcome = forward(settings, _Teller(settings.receiver, as_json=as_json, file=file), done)
    except (ReceiverRefusesAll, SetAsideUnwritable, BadAddress) as error:
        complain(f"unmask watch: {error}")
        raise typer.Exit(FAILED) from error
    done_and_left = (
        f"{outcome.told} change(s) told, {outcome.refused} set aside, {outcome.waiting} left for the next start"
    )
    complain(f"unmask watch: {done_and_left}.")
    if outcome.refused:
        raise typer.Exit(FAILED)


class _Teller:
    """Says on standard output what was told, and on standard error what was not."""

    def __init__(self, receiver: Receiver, *, as_json: bool, file: SetAsideFile | None) -> None:
        self._receiver = receiver
        self._as_json = as_json
        self._file = file
        self._console = Console(soft_wrap=True)

    def told(self, parcel: Parcel) -> None:
        for alert in parcel.alerts[: parcel.fresh]:
            if self._as_json:
                typer.echo(json.dumps(alert.model_dump(mode="json"), allow_nan=False))
            else:
                self._console.print(alert_line(alert))

    def set_aside(self, refused: SetAside) -> None:
        complain(f"unmask watch: {type(refused.error).__name__}: {refused.error}")
        if self._file is not None:
            self._file.write(self._receiver, refused, datetime.now(UTC))

    def trouble(self, text: str) -> None:
        complain(f"unmask watch: {text}")


@contextlib.contextmanager
def _opened(path: Path | None) -> Iterator[SetAsideFile | None]:
    if path is None:
        yield None
        return
    with contextlib.closing(SetAsideFile(path)) as file:
        yield file


@contextlib.contextmanager
def _until_told_to_stop() -> Iterator[Callable[[], bool]]:
    """Turns SIGTERM and SIGINT into an answer, so that what is under way is finished and kept."""
    told = threading.Event()
    before = {}
    for number in (signal.SIGTERM, signal.SIGINT):
        # Only the main thread may take signals; elsewhere whoever runs it ends it otherwise.
        with contextlib.suppress(ValueError):
            before[number] = signal.signal(number, lambda *_: told.set())
    try:
        yield told.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
