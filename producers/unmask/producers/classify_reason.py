"""The closed classifier of refusals: why the kernel route did not answer, as a code. The text is forgotten.

A rollback or a pin is an operator's choice, not a refusal: it has no reason and records nothing.
"""

import re

from unmask.producers import foreign
from unmask.producers.classify import classify_upstream
from unmask.producers.spellings import LONGEST
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
_WORDS: tuple[tuple[ReasonCode, re.Pattern[str]], ...] = tuple(
    (code, re.compile(pattern, re.IGNORECASE))
    for code, pattern in (
        (
            ReasonCode.CONTEXT_EXCEEDED,
            r"context[\s_-]?(?:length|window|limit|size)?[\s\w]{0,12}exceed|maximum context|max(?:imum)?[\s_-]tokens|"
            r"too many tokens|(?:prompt|input|request|payload|entity)[\s\w]{0,12}too (?:long|large)|token limit",
        ),
        (
            ReasonCode.CONTENT_FILTERED,
            r"content[\s_-]?(?:filter|policy|moderat)|moderation|safety (?:filter|system|setting)|responsible ai",
        ),
        (
            ReasonCode.POLICY_REFUSED,
            r"polic(?:y|ies)|\bguard(?:rail)?s?\b|not allowed|disallowed|prohibited|blocked by|denied by|"
            r"allow[\s-]?list",
        ),
        (
            ReasonCode.CAPABILITY_UNSUPPORTED,
            r"(?:not|un)[\s_-]?supported|not[\s_-]?implemented|unimplemented|unknown (?:capability|method|tool|model)|"
            r"no (?:such|matching) (?:capability|tool|model)|model[\s_-]not[\s_-]found",
        ),
        (
            ReasonCode.NOT_READY,
            r"not[\s_-]?(?:yet[\s_-])?(?:ready|configured|initiali[sz]ed|started|available yet)|starting up|warming|"
            r"draining|shutting[\s_-]?down|uninitiali[sz]ed|unconfigured|disabled|loading",
        ),
        (ReasonCode.CANCELLED, r"cancel+ed|aborted by (?:the )?(?:user|caller|client)"),
        (
            ReasonCode.INVALID_REQUEST,
            r"bad[\s_-]?request|invalid[\s_-]?(?:request|argument|parameter|input|timeout)|malformed (?:request|input)|"
            r"unprocessable|missing (?:required )?(?:argument|parameter|field)",
        ),
    )
)


def classify_refusal(raw: object) -> ReasonCode | None:
    """Why the kernel route did not answer; None for a rollback, a pin or another choice of an operator.

    `raw` is a reason code, an exception, an HTTP status, a text or None. What nothing fits is `unknown_refusal`.
    Never raises an Exception.
    """
    try:
        return _classify(raw)
    except Exception:
        return ReasonCode.UNKNOWN_REFUSAL


def reason_of_signature(signature: str) -> ReasonCode:
    """The reason that a masked upstream signature amounts to. Raises ValueError for text that is no signature."""
    return _SIGNATURES.get(signature) or _CLASSES[classify_signature(signature)]


def _classify(raw: object) -> ReasonCode | None:
    if isinstance(raw, str):
        return _of_text(str.__str__(raw))
    if isinstance(raw, BaseException):
        return _of_exception(raw)
    return reason_of_signature(classify_upstream(raw))


def _of_text(text: str) -> ReasonCode | None:
    known = _CODES.get(text)
    if known is not None:
        return known
    normal = _NOT_ALNUM.sub("_", text[:LONGEST].lower()).strip("_")
    if _OPERATOR.fullmatch(normal):
        return None
    known = _CODES.get(normal)
    if known is not None:
        return known
    signature = classify_upstream(text)
    by_signature = reason_of_signature(signature)
    # A timeout or a status is said outright; the words below are vaguer, but fitter than a vague signature.
    if by_signature in (ReasonCode.UNKNOWN_REFUSAL, ReasonCode.INVALID_REQUEST) or signature == "PROVIDER_ERROR":
        by_words = _by_words(text)
        if by_words is not None:
            return by_words
        if "internal" in normal and signature == "PROVIDER_ERROR":
            return ReasonCode.INTERNAL_ERROR
    return by_signature


def _by_words(text: str) -> ReasonCode | None:
    return next((code for code, pattern in _WORDS if pattern.search(text[:LONGEST])), None)


def _of_exception(error: BaseException) -> ReasonCode:
    for name in foreign.class_names(error):
        code = _EXCEPTIONS.get(name)
        if code is not None:
            return code
    by_signature = reason_of_signature(classify_upstream(error))
    if by_signature not in (ReasonCode.UNKNOWN_REFUSAL, ReasonCode.INVALID_REQUEST):
        return by_signature
    by_words = _by_words(foreign.text_of(error))
    if by_words is not None:
        return by_words
    if by_signature is ReasonCode.UNKNOWN_REFUSAL and any(name in _FAULTS for name in foreign.class_names(error)):
        return ReasonCode.INTERNAL_ERROR
    return by_signature
