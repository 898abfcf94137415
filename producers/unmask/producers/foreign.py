"""Reading foreign exceptions without trusting them: any attribute may be missing, callable, of any type, or raise.

Only `Exception` is caught. What a signal handler raises (KeyboardInterrupt, SystemExit) is about the process, not
about the object that is being read, and must reach the host.
"""

from collections.abc import Iterator
from typing import Any

__all__ = [
    "class_names",
    "code_words",
    "error_number",
    "handled_before",
    "is_own_fault",
    "read",
    "status_of",
    "text_of",
    "wrapped",
]

_STATUS_NAMES = ("status_code", "status", "http_status", "http_code", "code")
_WORD_NAMES = ("code", "type", "error_code", "grpc_status_code")
_WRAPPED_NAMES = ("__cause__", "reason", "os_error", "original_error")
_LONGEST_CHAIN = 12
# Faults of the program itself. What their texts spell is about its arguments, files and keys, not about an upstream.
_OWN_FAULTS = (
    ValueError, TypeError, LookupError, AttributeError, AssertionError, ArithmeticError, NameError, ImportError,
    SyntaxError, NotImplementedError, BufferError, SystemError, MemoryError, RecursionError, StopIteration,
    StopAsyncIteration, Warning,
)  # fmt: skip


def read(thing: object, name: str) -> Any:
    """An attribute; None where it is missing or cannot be read."""
    try:
        return getattr(thing, name, None)
    except Exception:
        return None


def _item(thing: object, name: str) -> Any:
    return thing.get(name) if type(thing) is dict else read(thing, name)


def text_of(error: object) -> str:
    """`str(error)`; empty where that fails."""
    try:
        return str(error)
    except Exception:
        return ""


def class_names(error: object) -> Iterator[str]:
    """Names of the classes of `error`, most special first."""
    for kind in type(error).__mro__:
        yield kind.__name__


def status_of(error: object) -> int | None:
    """The HTTP status that an exception or its response carries, 100 to 599."""
    for place in (error, read(error, "response")):
        if place is None:
            continue
        for name in _STATUS_NAMES:
            status = _as_status(_item(place, name))
            if status is not None:
                return status
        metadata = _item(place, "ResponseMetadata")
        if type(metadata) is dict and (status := _as_status(metadata.get("HTTPStatusCode"))) is not None:
            return status
    return None


def _as_status(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    digits = type(value) is str and len(value) == 3 and value.isascii() and value.isdigit()
    if not digits and not isinstance(value, int):
        return None
    status = int(value)
    return status if 100 <= status <= 599 else None


def code_words(error: object) -> Iterator[str]:
    """Short code words that an exception carries: gRPC's code(), a provider's code and type, a cloud's Error.Code."""
    body = read(error, "body")
    response = read(error, "response")
    places = (error, body, _item(body, "error"), _item(response, "Error"))
    for place in places:
        if place is None:
            continue
        for name in (*_WORD_NAMES, "Code") if type(place) is dict else _WORD_NAMES:
            if name == "code" and isinstance(_item(place, "status"), int):
                continue  # aiohttp's old name for the status; reading it warns
            word = _as_word(_item(place, name))
            if word is not None:
                yield word


def _as_word(value: object) -> str | None:
    if isinstance(value, type):
        return None
    if callable(value):
        try:
            value = value()
        except Exception:
            return None
    name = value if type(value) is str else read(value, "name")
    return name if type(name) is str and 0 < len(name) <= 64 else None


def error_number(error: object) -> int | None:
    """The errno of an OSError or of what looks like one."""
    number = read(error, "errno")
    return number if type(number) is int else None


def wrapped(error: BaseException) -> list[BaseException]:
    """The exception and those that it wraps on purpose (causes, reasons, groups, arguments), at most 12."""
    found: list[BaseException] = []
    waiting = [error]
    while waiting and len(found) < _LONGEST_CHAIN:
        current = waiting.pop(0)
        if any(current is known for known in found):
            continue
        found.append(current)
        for name in _WRAPPED_NAMES:
            inner = read(current, name)
            if isinstance(inner, BaseException):
                waiting.append(inner)
        for many in (read(current, "exceptions"), read(current, "args")):
            if type(many) is tuple:
                waiting.extend(inner for inner in many[:4] if isinstance(inner, BaseException))
    return found


def handled_before(error: BaseException, handling: int = 0) -> list[BaseException]:
    """What was being handled when `error` was raised, nearest first, at most 12. It may have nothing to do with it.

    `handling` is the id() of the exception that was being handled already when the work began: the interpreter hangs
    it below whatever is raised from then on, so the chain ends before it.
    """
    found: list[BaseException] = []
    current = error
    while len(found) < _LONGEST_CHAIN and read(current, "__suppress_context__") is not True:
        context = read(current, "__context__")
        if not isinstance(context, BaseException) or id(context) == handling:
            break
        if any(context is known for known in found):
            break
        found.append(context)
        current = context
    return found


def is_own_fault(error: BaseException) -> bool:
    """Whether `error` is of a built-in kind that tells of the program itself, a local file or process included."""
    if type(error).__module__ != "builtins":
        return False
    if isinstance(error, OSError):
        # What is left of OSError without these has an errno that says more than its class.
        return not isinstance(error, ConnectionError | TimeoutError)
    return isinstance(error, _OWN_FAULTS)
