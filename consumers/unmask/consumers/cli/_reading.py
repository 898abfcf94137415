"""Progress of a long read, on standard error and only where somebody sees it."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["reading"]

_SHOWN_AFTER_S = 0.5


@contextmanager
def reading(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A function to be told how many records there are and how many are left; None where nobody looks.

    A read that is over at once shows nothing.
    """
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("Reading {task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None, visible=False)
        began = time.monotonic()

        def tell(total: int, left: int) -> None:
            shown = total > 0 and time.monotonic() - began > _SHOWN_AFTER_S
            progress.update(task, total=total, completed=total - left, visible=shown)

        yield tell
