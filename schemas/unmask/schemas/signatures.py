"""The closed grammar of masked upstream signatures, and what each means.

A signature is `HTTP_` and a status, `TIMEOUT`, `TIMEOUT_` and milliseconds and `ms`, or one of the words below. The
host derives it from an exception, a status or a text and forgets the rest.
"""

import re
from functools import lru_cache

from unmask.schemas.codes import Directive, UpstreamClass

__all__ = ["SIGNATURE_WORDS", "classify_signature", "directive_for", "is_signature", "is_unreachable"]

SIGNATURE_WORDS: dict[str, UpstreamClass] = {
    "TIMEOUT": UpstreamClass.TIMEOUT,
    "RATE_LIMITED": UpstreamClass.RATE_LIMITED,
    "QUOTA_EXHAUSTED": UpstreamClass.QUOTA,
    "PROVIDER_ERROR": UpstreamClass.SERVER_ERROR,
    "CONNECTION_REFUSED": UpstreamClass.CONNECTION,
    "CONNECTION_RESET": UpstreamClass.CONNECTION,
    "CONNECTION_FAILED": UpstreamClass.CONNECTION,
    "DNS_FAILURE": UpstreamClass.CONNECTION,
    "TLS_FAILURE": UpstreamClass.CONNECTION,
    "AUTH_REFUSED": UpstreamClass.CLIENT_ERROR,
    "INVALID_RESPONSE": UpstreamClass.INVALID_RESPONSE,
    "STREAM_BROKEN": UpstreamClass.CONNECTION,
    "NOT_ATTEMPTED": UpstreamClass.NOT_ATTEMPTED,
    "UNATTRIBUTED": UpstreamClass.UNATTRIBUTED,
}

_HTTP = re.compile(r"HTTP_([1-5][0-9]{2})")
_TIMEOUT_MS = re.compile(r"TIMEOUT_[0-9]{1,7}ms")
# 522 and 524 are what proxies answer when the origin did not; 408 and 504 are timeouts by definition.
_TIMEOUT_STATUS = {408, 504, 522, 524}
_UNREACHABLE = {
    UpstreamClass.TIMEOUT,
    UpstreamClass.RATE_LIMITED,
    UpstreamClass.QUOTA,
    UpstreamClass.CONNECTION,
}
_UNREACHABLE_STATUS = {502, 503}


@lru_cache(maxsize=2048)
def classify_signature(signature: str) -> UpstreamClass:
    """The class of a signature. Raises ValueError for text that is no signature."""
    word = SIGNATURE_WORDS.get(signature)
    if word is not None:
        return word
    if _TIMEOUT_MS.fullmatch(signature):
        return UpstreamClass.TIMEOUT
    http = _HTTP.fullmatch(signature)
    if http is None:
        raise ValueError("not a masked upstream signature; see unmask.schemas.signatures for the grammar")
    status = int(http.group(1))
    if status in _TIMEOUT_STATUS:
        return UpstreamClass.TIMEOUT
    if status == 429:
        return UpstreamClass.RATE_LIMITED
    if status >= 500:
        return UpstreamClass.SERVER_ERROR
    if status >= 400:
        return UpstreamClass.CLIENT_ERROR
    return UpstreamClass.INVALID_RESPONSE


def is_signature(text: str) -> bool:
    """Whether `text` belongs to the closed grammar."""
    try:
        classify_signature(text)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=2048)
def is_unreachable(signature: str) -> bool:
    """Whether the upstream was unreachable or exhausted: any timeout, 502, 503, 504, 429, quota, connection errors."""
    if classify_signature(signature) in _UNREACHABLE:
        return True
    http = _HTTP.fullmatch(signature)
    return http is not None and int(http.group(1)) in _UNREACHABLE_STATUS


def directive_for(signature: str) -> Directive:
    """What a successor must do about one masked error (design, section 6, rule 3)."""
    return Directive.PROBE_UPSTREAM_BEFORE_ACTION if is_unreachable(signature) else Directive.RE_FETCH_FROM_PRIMARY
