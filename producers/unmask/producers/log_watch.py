"""Listens to the host's log calls for swallowed errors, without becoming part of its logging.

The record factory is where every log call comes by, whatever its logger's handlers, levels of handlers and propagation
are. A handler on the root logger would not do: with one in place basicConfig() does nothing, and warnings of a host
that configured no logging are not shown any more.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any

from unmask.producers.swallowed import note_record

__all__ = ["TraceHandler", "watch_logging"]


class _Listening(threading.local):
    """Whether this thread is inside of a record's making already: factories may be stacked."""

    now = False


_listening = _Listening()


class _Listener:
    """A record factory: what the host's own one makes, listened to."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[..., logging.LogRecord]) -> None:
        self._make = make

    def __call__(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        if _listening.now:
            return self._make(*args, **kwargs)
        _listening.now = True
        try:
            record = self._make(*args, **kwargs)
            _listen(record)
        finally:
            _listening.now = False
        return record


class TraceHandler(logging.Handler):
    """For records that no log call makes, for example those of another logging library: hand them to this handler.

    It writes nothing. Log calls through `logging` need no handler, they are listened to anyway.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Listen to one record."""
        _listen(record)


def watch_logging() -> None:
    """Listen from now on, also after the host has put a record factory of its own in place."""
    make = logging.getLogRecordFactory()
    if not isinstance(make, _Listener):
        logging.setLogRecordFactory(_Listener(make))


def _listen(record: logging.LogRecord) -> None:
    try:
        note_record(record)
    except Exception:
        # The host's log call goes on, whatever is wrong with what it was given.
        return
