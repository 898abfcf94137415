"""Ends sessions that were begun by hand when nobody caught the exception that their thread died of.

A session used as a context sees such an exception pass. One that was begun by hand does not, and its teardown would
be missing. The hooks that were in place before are called all the same, first and with the same arguments.
"""

import sys
import threading
from types import TracebackType
from typing import Any

from unmask.producers.place import current_session

__all__ = ["watch_uncaught"]

_in_place = False


def watch_uncaught() -> None:
    """Put the hooks in place, once per process. They stay: whoever came later may have kept them as the ones before."""
    global _in_place
    if _in_place:
        return
    _in_place = True
    _watch_main(sys.excepthook)
    _watch_threads(threading.excepthook)


def _watch_main(before: Any) -> None:
    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        try:
            before(kind, error, traceback)
        finally:
            _end_session(error)

    sys.excepthook = hook


def _watch_threads(before: Any) -> None:
    def hook(args: threading.ExceptHookArgs) -> None:
        error = args.exc_value
        try:
            before(args)
        finally:
            _end_session(error)

    threading.excepthook = hook


def _end_session(error: BaseException | None) -> None:
    try:
        session = current_session()
        if session is not None:
            session.end(error if error is not None else RuntimeError())
    except Exception:
        return
