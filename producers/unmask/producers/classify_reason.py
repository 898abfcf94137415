"""The closed classifier of refusals: why the kernel route did not answer, as a code. The text is forgotten.

A rollback or a pin is an operator's choice, not a refusal: it has no reason and records nothing. Record calls wait for
this, so that the usual reasons are told by little: a code, a status, or the class of an exception.
"""

import re
from typing import NamedTuple

from unmask.producers import foreign
from unmask.producers.classify import UNATTRIBUTED, VAGUE, classify_upstream
from unmask.producers.classify_kinds import CODE_NAMES, PerClass, kind_of
from unmask.producers.remembered import LONGEST, Remembered
from unmask.producers.sieve import Sieve
from unmask.producers.spellings import signature_in
from unmask.schemas.codes import ReasonCode, UpstreamClass
from unmask.schemas.signatures import classify_signature

__all__ = ["classify_refusal", "reason_of_signature"]

_CODES = {code.value: code for code in ReasonCode}
_OPERATOR = re.compile(
    r"(?:(?:operator|manual|manually|admin|release|route|kernel|deliberate|planned)_)?"
    r"(?:roll(?:ed|ing)?_?backs?|pin(?:ned|ning)?|operator(?:_(?:chosen|choice|action|override|selected))?|"
    r"kill_?switch|forced_legacy|legacy_forced)"
    r"(?:_(?:by|to|from|of|on|at|for|in|route|legacy|active|release|operator)(?:_.*)?)?"
)
_OPERATOR_ROOTS = "back pin operator kill forced"
_CODE_ROOTS = (
    "timeout limited exhausted error unreachable open unsupported refused request response exceeded filtered ready "
    "cancelled refusal"
)
_NOT_ALNUM = re.compile(r"[^a-z0-9]+")
_CLASSES = {
    UpstreamClass.TIMEOUT: ReasonCode.TIMEOUT,
    UpstreamClass.RATE_LIMITED: ReasonCode.RATE_LIMITED,
    UpstreamClass.QUOTA: ReasonCode.QUOTA_EXHAUSTED,
    UpstreamClass.SERVER_ERROR: ReasonCode.UPSTREAM_ERROR,
    UpstreamClass.CONNECTION: ReasonCode.UPSTREAM_UNREACHABLE,
    UpstreamClass.CLIENT_ERROR: ReasonCode.INVALID_REQUEST,
    UpstreamClass.INVALID_RESPONSE: ReasonCode.INVALID_RESPONSE,
    UpstreamClass.NOT_ATTEMPTED: ReasonCode.CIRCUIT_OPEN,
    UpstreamClass.UNATTRIBUTED: ReasonCode.UNKNOWN_REFUSAL,
}
_SIGNATURES = {
    "AUTH_REFUSED": ReasonCode.AUTH_REFUSED,
    "HTTP_401": ReasonCode.AUTH_REFUSED,
    "HTTP_402": ReasonCode.QUOTA_EXHAUSTED,
    "HTTP_403": ReasonCode.AUTH_REFUSED,
    "HTTP_404": ReasonCode.CAPABILITY_UNSUPPORTED,
    "HTTP_405": ReasonCode.CAPABILITY_UNSUPPORTED,
    "HTTP_407": ReasonCode.AUTH_REFUSED,
    "HTTP_413": ReasonCode.CONTEXT_EXCEEDED,
    "HTTP_415": ReasonCode.CAPABILITY_UNSUPPORTED,
    "HTTP_451": ReasonCode.POLICY_REFUSED,
    "HTTP_501": ReasonCode.CAPABILITY_UNSUPPORTED,
}
_EXCEPTIONS = {
    "CancelledError": ReasonCode.CANCELLED,
    "NotImplementedError": ReasonCode.CAPABILITY_UNSUPPORTED,
    "ContextWindowExceededError": ReasonCode.CONTEXT_EXCEEDED,
    "ContentPolicyViolationError": ReasonCode.CONTENT_FILTERED,
    "ContentFilterFinishReasonError": ReasonCode.CONTENT_FILTERED,
    "PermissionError": ReasonCode.POLICY_REFUSED,
}
# Faults of the kernel route's own code; they say nothing about an upstream.
_FAULTS = {
    "TypeError", "AttributeError", "LookupError", "AssertionError", "ArithmeticError", "NameError", "RecursionError",
    "MemoryError", "ImportError", "SystemError",
}  # fmt: skip
# Of each code: the roots of its pattern (see Sieve), and the pattern.
_SPELLINGS: tuple[tuple[ReasonCode, str, str], ...] = (
    (
        ReasonCode.CONTEXT_EXCEEDED,
        "context token too",
        r"context[\s_-]?(?:length|window|limit|size)?[\s\w]{0,12}exceed|maximum context|max(?:imum)?[\s_-]tokens|"
        r"too many tokens|(?:prompt|input|request|payload|entity)[\s\w]{0,12}too (?:long|large)|token limit",
    ),
    (
        ReasonCode.CONTENT_FILTERED,
        "content moderation safety responsible",
        r"content[\s_-]?(?:filter|policy|moderat)|moderation|safety (?:filter|system|setting)|responsible ai",
    ),
    (
        ReasonCode.POLICY_REFUSED,
        "polic guard allow prohibited blocked denied",
        r"polic(?:y|ies)|\bguard(?:rail)?s?\b|not allowed|disallowed|prohibited|blocked by|denied by|"
        r"allow[\s-]?list",
    ),
    (
        ReasonCode.CAPABILITY_UNSUPPORTED,
        "supported implemented unknown such matching found",
        r"(?:not|un)[\s_-]?supported|not[\s_-]?implemented|unimplemented|unknown (?:capability|method|tool|model)|"
        r"no (?:such|matching) (?:capability|tool|model)|model[\s_-]not[\s_-]found",
    ),
    (
        ReasonCode.NOT_READY,
        "ready configured initiali started available starting warming draining shutting disabled loading",
        r"not[\s_-]?(?:yet[\s_-])?(?:ready|configured|initiali[sz]ed|started|available yet)|starting up|warming|"
        r"draining|shutting[\s_-]?down|uninitiali[sz]ed|unconfigured|disabled|loading",
    ),
    (ReasonCode.CANCELLED, "cancel aborted", r"cancel+ed|aborted by (?:the )?(?:user|caller|client)"),
    (
        ReasonCode.INVALID_REQUEST,
        "request invalid malformed unprocessable missing",
        r"bad[\s_-]?request|invalid[\s_-]?(?:request|argument|parameter|input|timeout)|malformed (?:request|input)|"
        r"unprocessable|missing (?:required )?(?:argument|parameter|field)",
    ),
)
_SIEVE = Sieve([*(roots for _, roots, _ in _SPELLINGS), f"{_OPERATOR_ROOTS} {_CODE_ROOTS}"])
_NORMAL_BIT = 1 << len(_SPELLINGS)
_WORDS = tuple(
    (1 << number, code, re.compile(pattern, re.IGNORECASE)) for number, (code, _, pattern) in enumerate(_SPELLINGS)
)


_VAGUE = {ReasonCode.UNKNOWN_REFUSAL, ReasonCode.INVALID_REQUEST}


def classify_refusal(raw: object) -> ReasonCode | None:
    """Why the kernel route did not answer; None for a rollback, a pin or another choice of an operator.

    `raw` is a reason code, an exception, an HTTP status, a text or None. What nothing fits is `unknown_refusal`.
    Never raises an Exception.
    """
    try:
        # First what is asked most, in one step each; all of it is in _classify too.
        kind = type(raw)
        if kind is ReasonCode:
            return raw  # type: ignore[return-value]
        if kind is int:
            return _STATUSES.get(raw, ReasonCode.UNKNOWN_REFUSAL)  # type: ignore[call-overload,no-any-return]
        said = _by_class.get(kind)  # type: ignore[arg-type]
        return _classify(raw) if said is None else _of_exception(raw, said)  # type: ignore[arg-type]
    except Exception:
        return ReasonCode.UNKNOWN_REFUSAL


def reason_of_signature(signature: str) -> ReasonCode:
    """The reason that a masked upstream signature amounts to. Raises ValueError for text that is no signature."""
    return _SIGNATURES.get(signature) or _CLASSES[classify_signature(signature)]


_STATUSES = {status: reason_of_signature(f"HTTP_{status}") for status in range(100, 600)}


def _classify(raw: object) -> ReasonCode | None:
    if isinstance(raw, str):
        text = str.__str__(raw)
        return _CODES.get(text) or _of_text(text)
    if isinstance(raw, BaseException):
        return _of_exception(raw, _by_class[type(raw)])
    return reason_of_signature(classify_upstream(raw))


def _of_text_anew(text: str) -> ReasonCode | None:
    may = _SIEVE.of(text)
    if may & _NORMAL_BIT:
        normal = _NOT_ALNUM.sub("_", text.lower()).strip("_")
        if _OPERATOR.fullmatch(normal):
            return None
        known = _CODES.get(normal)
        if known is not None:
            return known
    signature = classify_upstream(text)
    by_signature = reason_of_signature(signature)
    # A timeout or a status is said outright; the words below are vaguer, but fitter than a vague signature.
    if by_signature in _VAGUE or signature == "PROVIDER_ERROR":
        by_words = _by_words(text, may)
        if by_words is not None:
            return by_words
        if signature == "PROVIDER_ERROR" and "internal" in text.lower():
            return ReasonCode.INTERNAL_ERROR
    return by_signature


_of_text = Remembered(_of_text_anew)


def _by_words(text: str, may: int) -> ReasonCode | None:
    return next((code for bit, code, pattern in _WORDS if may & bit and pattern.search(text)), None)


def _of_exception(error: BaseException, said: "_ByClass") -> ReasonCode:
    reason, outright, silent, fault = said
    if reason is not None and (outright or CODE_NAMES.isdisjoint(error.__dict__)):
        return reason
    if silent and foreign.stands_alone(error):
        spelled = _spelled(foreign.text_of(error))
    else:
        spelled = reason_of_signature(classify_upstream(error))
        if spelled in _VAGUE:
            text = foreign.text_of(error)[:LONGEST]
            spelled = _by_words(text, _SIEVE.of(text)) or spelled
    return ReasonCode.INTERNAL_ERROR if fault and spelled is ReasonCode.UNKNOWN_REFUSAL else spelled


class _ByClass(NamedTuple):
    """What a class of exceptions amounts to."""

    reason: ReasonCode | None
    """None where that depends on more than the class, and codes among the fields of an exception."""
    outright: bool
    """Whether such codes do not matter either."""
    silent: bool
    fault: bool


def _read_class(cls: type[BaseException]) -> _ByClass:
    kind = kind_of[cls]
    fault = not _FAULTS.isdisjoint(kind.names)
    outright = next((_EXCEPTIONS[name] for name in kind.names if name in _EXCEPTIONS), None)
    reason = outright
    if reason is None and kind.signature is not None and kind.plain and kind.own.isdisjoint(CODE_NAMES):
        reason = reason_of_signature(kind.signature)
        # A vague signature gives way to what the exception wraps, a vague reason to its text.
        if kind.signature in VAGUE or reason in _VAGUE:
            reason = None
    return _ByClass(reason, outright is not None, kind.silent, fault)


_by_class = PerClass(_read_class)


def _spell_anew(text: str) -> ReasonCode:
    """What an exception amounts to that has only its text."""
    reason = reason_of_signature(signature_in(text) or UNATTRIBUTED)
    if reason in _VAGUE:
        return _by_words(text, _SIEVE.of(text)) or reason
    return reason


_spelled = Remembered(_spell_anew)
