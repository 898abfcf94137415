"""Ends sessions that were begun by hand in a thread that then died of an exception nobody caught.

A session used as a context sees such an exception pass; one that was begun by hand does not, and would stay open for as
long as the process lives. The hook that was in place before is called all the same, first. The main thread needs none:
its end is the emitter's, and a session without a teardown is a failed one. sys.excepthook is left alone, since what
arrives there need not be an end: interactive shells and event loops report with it and go on.
"""

import threading

from unmask.producers.place import current_session

__all__ = ["watch_threads"]

_watched = False


def watch_threads() -> None:
    """Put the hook in place, once per process. It stays: whoever came later may have kept it as the one before."""
    global _watched
    if _watched:
        return
    _watched = True
    before = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        died_of = args.exc_value
        try:
            before(args)
        finally:
            _end_session(died_of)

    threading.excepthook = hook


def _end_session(died_of: BaseException | None) -> None:
    try:
        session = current_session()
        if session is not None:
            session.end(RuntimeError() if died_of is None else died_of)
    except Exception:
        return
