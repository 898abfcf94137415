"""The closed classifier of upstream errors: whatever failed becomes a signature of the grammar; the text is forgotten.

Libraries are recognised by the shape of their exceptions (class names, status, code, errno), never imported. Record
calls wait for this, so that the usual errors are told by little: a status, or the class alone.
"""

import errno

from unmask.producers import foreign
from unmask.producers.classify_kinds import CODE_NAMES, kind_of
from unmask.producers.remembered import LONGEST, Remembered
from unmask.producers.spellings import milliseconds_in, signature_in, timeout_signature
from unmask.schemas.signatures import is_signature

__all__ = ["UNATTRIBUTED", "VAGUE", "classify_swallowed", "classify_upstream"]

UNATTRIBUTED = "UNATTRIBUTED"

VAGUE = {"CONNECTION_FAILED"}
"""What gives way to anything that says more."""
_STATUSES = {status: f"HTTP_{status}" for status in range(100, 600)}
_NUMBERS = {
    errno.ETIMEDOUT: "TIMEOUT",
    errno.ECONNREFUSED: "CONNECTION_REFUSED",
    errno.ECONNRESET: "CONNECTION_RESET",
    errno.ECONNABORTED: "CONNECTION_RESET",
    errno.EPIPE: "CONNECTION_RESET",
    errno.EHOSTUNREACH: "CONNECTION_FAILED",
    errno.ENETUNREACH: "CONNECTION_FAILED",
}
# Codes of gRPC and of providers. RESOURCE_EXHAUSTED is gRPC's word for both limits; the milder one is claimed.
_CODES = {
    "deadline_exceeded": "TIMEOUT",
    "etimedout": "TIMEOUT",
    "timeout": "TIMEOUT",
    "resource_exhausted": "RATE_LIMITED",
    "unavailable": "CONNECTION_FAILED",
    "unauthenticated": "AUTH_REFUSED",
    "permission_denied": "AUTH_REFUSED",
    "internal": "PROVIDER_ERROR",
    "data_loss": "PROVIDER_ERROR",
    "unknown": "PROVIDER_ERROR",
    "aborted": "PROVIDER_ERROR",
    "econnrefused": "CONNECTION_REFUSED",
    "econnreset": "CONNECTION_RESET",
    "enotfound": "DNS_FAILURE",
    "rate_limit_exceeded": "RATE_LIMITED",
    "rate_limit_error": "RATE_LIMITED",
    "throttlingexception": "RATE_LIMITED",
    "overloaded_error": "PROVIDER_ERROR",
    "api_error": "PROVIDER_ERROR",
    "server_error": "PROVIDER_ERROR",
    "authentication_error": "AUTH_REFUSED",
    "permission_error": "AUTH_REFUSED",
    "invalid_api_key": "AUTH_REFUSED",
}
_QUOTA_CODES = {
    "insufficient_quota", "quota_exceeded", "billing_hard_limit_reached", "billing_error", "billing_not_active",
    "credit_balance_too_low", "servicequotaexceededexception",
}  # fmt: skip


def classify_upstream(error: object, *, handling: int = 0) -> str:
    """The signature of what an upstream did: `HTTP_503`, `TIMEOUT_5000ms`, `CONNECTION_REFUSED`, ...

    `error` is an exception, an HTTP status, a text, a signature or None. What cannot be attributed is `UNATTRIBUTED`;
    nothing is guessed. `handling` is the id() of an exception that was being handled before the upstream was asked;
    neither it nor what lies before it is taken for the upstream's. Never raises an Exception, whatever the object
    does when it is read.
    """
    try:
        return _classify(error, handling)
    except Exception:
        return UNATTRIBUTED


def classify_swallowed(error: BaseException, *, handling: int = 0) -> str | None:
    """The signature of an exception that nobody stated to be an upstream's; None for one that need not be.

    Stricter than classify_upstream: the text of a fault of the program itself (a ValueError, a missing file) spells
    nothing. Never raises an Exception.
    """
    if not isinstance(error, Exception) or id(error) == handling:
        return None
    try:
        signature = _of_exception(error, handling, stated=False)
    except Exception:
        return None
    return None if signature == UNATTRIBUTED else signature


def _classify(error: object, handling: int) -> str:
    if type(error) is int:
        return _STATUSES.get(error, UNATTRIBUTED)
    if isinstance(error, BaseException):
        return _of_exception(error, handling)
    if isinstance(error, bool) or error is None:
        return UNATTRIBUTED
    if isinstance(error, int):
        return f"HTTP_{int(error)}" if 100 <= error <= 599 else UNATTRIBUTED
    if isinstance(error, str):
        # A str subclass may be an enum member or worse; str.__str__ reads the characters themselves.
        text = str.__str__(error)
        return text if len(text) <= 32 and is_signature(text) else signature_in(text) or UNATTRIBUTED
    status = foreign.status_of(error)
    return UNATTRIBUTED if status is None else f"HTTP_{status}"


def _of_exception(error: BaseException, handling: int, *, stated: bool = True) -> str:
    if kind_of[type(error)].silent and foreign.stands_alone(error):
        if not stated and foreign.is_own_fault(error):
            return UNATTRIBUTED
        signature = _by_text(error)
        return UNATTRIBUTED if signature is None else _with_milliseconds(signature, error)
    return _of_chains(error, handling, stated)


def _of_chains(error: BaseException, handling: int, stated: bool) -> str:
    # Mostly the error itself says it, and what else it holds need not be gathered.
    signature = _by_shape(error)
    if signature is not None and signature not in VAGUE:
        return _with_milliseconds(signature, error)
    vague = signature
    # What the error wraps explains it; what was being handled before may be another story, and is asked last.
    for chain_of in (foreign.wrapped, lambda error: foreign.handled_before(error, handling)):
        chain = chain_of(error)
        for step in (_by_shape, _by_text):
            for link in chain:
                if link is error and step is _by_shape:
                    continue
                if step is _by_text and not stated and foreign.is_own_fault(link):
                    continue
                signature = step(link)
                if signature is None:
                    continue
                if signature not in VAGUE:
                    return _with_milliseconds(signature, link)
                vague = vague or signature
    return vague or UNATTRIBUTED


def _by_shape(link: BaseException) -> str | None:
    return _by_code(link) or kind_of[type(link)].signature or _by_number(link)


def _by_code(link: BaseException) -> str | None:
    fields = foreign.fields_of(link, CODE_NAMES)
    if fields is not None and CODE_NAMES.isdisjoint(fields):
        return None
    # Fields are read like attributes, only faster.
    place = link if fields is None else fields
    words = foreign.code_words(place)
    if words:
        words = [word.lower() for word in words]
        if not _QUOTA_CODES.isdisjoint(words):
            return "QUOTA_EXHAUSTED"
    status = foreign.status_of(place)
    if status is not None and status >= 400:
        return _STATUSES[status]
    return next((_CODES[word] for word in words if word in _CODES), None)


def _by_number(link: BaseException) -> str | None:
    number = foreign.error_number(link)
    return None if number is None else _NUMBERS.get(number)


def _by_text(link: BaseException) -> str | None:
    return signature_in(foreign.text_of(link))


def _with_milliseconds(signature: str, link: BaseException) -> str:
    if signature != "TIMEOUT":
        return signature
    seconds = foreign.read(link, "timeout")
    if type(seconds) in (int, float):
        return timeout_signature(float(seconds) * 1000)
    return timeout_signature(_milliseconds(foreign.text_of(link)))


def _milliseconds(text: str) -> float | None:
    return _known_milliseconds(text) if len(text) <= LONGEST else milliseconds_in(text)


_known_milliseconds = Remembered(milliseconds_in)
