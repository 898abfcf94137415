"""What a log call or an uncaught exception tells of a swallowed error: a signature and names, never its text.

Everything is read at once and nothing is kept: the exception, its traceback and its frames stay the host's alone.
"""

import logging
import re
from collections.abc import Iterable, Iterator
from types import TracebackType

from unmask.producers import foreign
from unmask.producers.classify import UNATTRIBUTED, classify_swallowed, classify_upstream
from unmask.producers.place import Place, here
from unmask.producers.spellings import LONGEST
from unmask.producers.trace import plain

__all__ = ["note_exception", "note_record"]

_RETRY = re.compile(
    r"\bre-?trying\b|\bwill re-?try\b|\bretry (?:in|after|attempt|number|#|\d|%)|\bbacking[ -]off\b", re.IGNORECASE
)
_NO_RETRY = re.compile(
    r"\bgiv(?:e|es|en|ing) up\b|\bnot re-?trying\b|\bstop(?:s|ped)? re-?trying\b|\bno more retr", re.IGNORECASE
)
# These log what happened elsewhere, in the context of whoever comes by: a collected task, a callback of a pool.
_FROM_ELSEWHERE = ("asyncio", "concurrent")
# What hosts observe themselves with is never the upstream whose answer was wanted. Known by its loggers and exceptions,
# not by frames: it wraps the calls of others too.
_OBSERVERS = (
    "opentelemetry", "prometheus_client", "statsd", "datadog", "ddtrace", "sentry_sdk", "newrelic", "elasticapm",
)  # fmt: skip
_MOST_FRAMES = 64
_MOST_ARGUMENTS = 8


def note_record(record: logging.LogRecord) -> None:
    """Note what a log record tells, in the trace of the session that the log call runs in. May raise an Exception."""
    place = here()
    if place is None or place.claims.trace is None or _is_of(_FROM_ELSEWHERE, record.name):
        return
    template = record.msg if isinstance(record.msg, str) else ""
    if _RETRY.search(template, 0, LONGEST) and not _NO_RETRY.search(template, 0, LONGEST):
        _note(place, None, [record.name], [])
        return
    errors = list(_exceptions_of(record))
    if any(note_exception(place, error, logger=record.name) for error in errors) or errors:
        return
    # A sentence alone is vaguer than an exception: it counts inside of a try, where it is known whose it is.
    if template and place.hop is not None and record.levelno >= logging.ERROR:
        signature = classify_upstream(record.getMessage())
        if signature != UNATTRIBUTED:
            _note(place, signature, [record.name], [])


def note_exception(place: Place, error: BaseException, *, logger: str | None = None) -> bool:
    """Note an exception that was swallowed at `place`; whether it is one that an upstream may have caused."""
    signature = classify_swallowed(error, handling=place.handling)
    if signature is None:
        return False
    told_by = [type(error).__module__] if logger is None else [logger, type(error).__module__]
    _note(place, signature, told_by, list(_modules_of_frames(error)))
    return True


def _note(place: Place, signature: str | None, told_by: list[str], frames: list[str]) -> None:
    claims, hop = place.claims, place.hop
    names = _segments(told_by) | _segments(frames)
    strange = any(_is_of(_OBSERVERS, name) for name in told_by) or any(
        _is_of(claims.bystanders, name) for name in (*told_by, *frames)
    )
    if claims.trace is not None and (not strange or (hop is not None and plain(hop.target) in names)):
        claims.trace.note(place, signature, names)


def _exceptions_of(record: logging.LogRecord) -> Iterator[BaseException]:
    info, arguments = record.exc_info, record.args
    found: list[object] = [info[1]] if isinstance(info, tuple) and len(info) == 3 else []
    if isinstance(arguments, dict):
        found += list(arguments.values())[:_MOST_ARGUMENTS]
    elif isinstance(arguments, tuple):
        found += arguments[:_MOST_ARGUMENTS]
    found.append(record.msg)
    return (each for each in found if isinstance(each, BaseException))


def _modules_of_frames(error: BaseException) -> Iterator[str]:
    """Modules that the exception came through. The one that caught it is none of them: it names its own place only."""
    caught_by: object = None
    for link in foreign.wrapped(error):
        step: TracebackType | None = link.__traceback__
        if step is not None and caught_by is None:
            caught_by = step.tb_frame.f_globals.get("__name__")
        for _ in range(_MOST_FRAMES):
            if step is None:
                break
            module = step.tb_frame.f_globals.get("__name__")
            if type(module) is str and module != caught_by:
                yield module
            step = step.tb_next


def _is_of(packages: Iterable[str], name: str) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def _segments(names: Iterable[str]) -> frozenset[str]:
    return frozenset(plain(segment) for name in names for segment in name.split(".") if segment)
