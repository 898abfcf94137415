"""Reading foreign exceptions without trusting them: any attribute may be missing, callable, of any type, or raise.

Only `Exception` is caught. What a signal handler raises (KeyboardInterrupt, SystemExit) is about the process, not
about the object that is being read, and must reach the host.
"""

from typing import Any

from unmask.producers.classify_kinds import READ_NAMES, WRAPPED_NAMES, kind_of

__all__ = [
    "class_names",
    "code_words",
    "error_number",
    "fields_of",
    "handled_before",
    "is_own_fault",
    "read",
    "stands_alone",
    "status_of",
    "text_of",
    "wrapped",
]

_STATUS_NAMES = ("status_code", "status", "http_status", "http_code", "code")
_WORD_NAMES = ("code", "type", "error_code", "grpc_status_code")
_WRAPPED_NAMES = ("reason", "os_error", "original_error")
_ITEM_NAMES = (*_WORD_NAMES, "Code")
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


def class_names(error: BaseException) -> tuple[str, ...]:
    """Names of the classes of `error`, most special first."""
    return kind_of[type(error)].names


def fields_of(error: BaseException, names: frozenset[str]) -> dict[str, Any] | None:
    """All of `names` that `error` has as attributes, among others; None where it has to be asked for each of them."""
    kind = kind_of[type(error)]
    if not kind.plain or not kind.own.isdisjoint(names):
        return None
    fields = error.__dict__
    return fields if type(fields) is dict else None


def stands_alone(error: BaseException) -> bool:
    """Whether certainly nothing is wrapped in `error`, nothing was being handled, and no field says anything.

    To be asked of exceptions of a silent kind only: others may answer something else than what is there.
    """
    if error.__cause__ is not None or not READ_NAMES.isdisjoint(error.__dict__):
        return False
    if error.__context__ is not None and not error.__suppress_context__:
        return False
    for argument in error.args:  # noqa: SIM110 - a generator would cost more than all of the above
        if type(argument) is not str and isinstance(argument, BaseException):
            return False
    return True


def status_of(error: object) -> int | None:
    """The HTTP status that an exception or its response carries, 100 to 599. Of fields, what they are to `error`."""
    status = _status_in(error)
    if status is None and (response := _item(error, "response")) is not None:
        return _status_in(response)
    return status


def _status_in(place: object) -> int | None:
    for name in _STATUS_NAMES:
        value = place.get(name) if type(place) is dict else read(place, name)
        if value is not None and (status := _as_status(value)) is not None:
            return status
    metadata = _item(place, "ResponseMetadata")
    return _as_status(metadata.get("HTTPStatusCode")) if type(metadata) is dict else None


def _as_status(value: Any) -> int | None:
    if type(value) is int:
        return value if 100 <= value <= 599 else None
    if isinstance(value, bool):
        return None
    digits = type(value) is str and len(value) == 3 and value.isascii() and value.isdigit()
    if not digits and not isinstance(value, int):
        return None
    status = int(value)
    return status if 100 <= status <= 599 else None


def code_words(error: object) -> list[str]:
    """Short code words that an exception, or its fields, carry.

    They are gRPC's code(), a provider's code and type, a cloud's Error.Code.
    """
    words: list[str] = []
    # What is read first is read before anything is called, which may change it.
    body, response = _item(error, "body"), _item(error, "response")
    inner = None if body is None else _item(body, "error")
    cloud = None if response is None else _item(response, "Error")
    if type(error) is dict:
        _take_items(error, _WORD_NAMES, words)
    else:
        _take_words(error, words)
    for place in (body, inner, cloud):
        if place is None:
            continue
        if type(place) is dict:
            _take_items(place, _ITEM_NAMES, words)
        else:
            _take_words(place, words)
    return words


def _take_words(place: object, words: list[str]) -> None:
    for name in _WORD_NAMES:
        if name == "code" and isinstance(read(place, "status"), int):
            continue  # aiohttp's old name for the status; reading it warns
        value = read(place, name)
        if value is not None and (word := _as_word(value)) is not None:
            words.append(word)


def _take_items(place: dict[Any, Any], names: tuple[str, ...], words: list[str]) -> None:
    for name in names:
        value = place.get(name)
        if value is None or (name == "code" and isinstance(place.get("status"), int)):
            continue
        word = value if type(value) is str and 0 < len(value) <= 64 else _as_word(value)
        if word is not None:
            words.append(word)


def _as_word(value: object) -> str | None:
    if type(value) is str:
        return value if 0 < len(value) <= 64 else None
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
        cause = read(current, "__cause__")
        if isinstance(cause, BaseException):
            waiting.append(cause)
        many = [read(current, "args")]
        fields = fields_of(current, WRAPPED_NAMES)
        if fields is None or not WRAPPED_NAMES.isdisjoint(fields):
            inner = [read(current, name) for name in _WRAPPED_NAMES]
            waiting.extend(thing for thing in inner if isinstance(thing, BaseException))
            many.insert(0, read(current, "exceptions"))
        for things in many:
            if type(things) is tuple:
                waiting.extend(thing for thing in things[:4] if isinstance(thing, BaseException))
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
