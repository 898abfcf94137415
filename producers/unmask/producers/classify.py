"""The closed classifier of upstream errors: whatever failed becomes a signature of the grammar; the text is forgotten.

Libraries are recognised by the shape of their exceptions (class names, status, code, errno), never imported.
"""

import errno

from unmask.producers import foreign
from unmask.producers.spellings import milliseconds_in, signature_in, timeout_signature
from unmask.schemas.signatures import is_signature

__all__ = ["UNATTRIBUTED", "classify_swallowed", "classify_upstream"]

UNATTRIBUTED = "UNATTRIBUTED"

_CLASSES: dict[str, str] = {
    # timeouts: builtins, asyncio, concurrent.futures, socket, httpx, requests, urllib3, aiohttp, provider SDKs, gRPC
    **dict.fromkeys(
        (
            "TimeoutError", "timeout", "Timeout", "ConnectTimeout", "ReadTimeout", "WriteTimeout", "PoolTimeout",
            "TimeoutException", "ConnectTimeoutError", "ReadTimeoutError", "ServerTimeoutError", "SocketTimeoutError",
            "ConnectionTimeoutError", "APITimeoutError", "TimeoutExpired", "DeadlineExceeded", "GatewayTimeout",
            "RequestTimeout", "EndpointTimeoutError", "ConnectionTimeout", "SoftTimeLimitExceeded",
        ),
        "TIMEOUT",
    ),
    **dict.fromkeys(("ConnectionRefusedError",), "CONNECTION_REFUSED"),
    **dict.fromkeys(
        (
            "ConnectionResetError", "ConnectionAbortedError", "BrokenPipeError", "ServerDisconnectedError",
            "RemoteDisconnected", "ClientConnectionResetError", "ConnectionClosedError",
        ),
        "CONNECTION_RESET",
    ),
    **dict.fromkeys(("gaierror", "herror", "NameResolutionError", "ClientConnectorDNSError"), "DNS_FAILURE"),
    **dict.fromkeys(
        (
            "SSLError", "SSLCertVerificationError", "CertificateError", "ClientSSLError", "ClientConnectorSSLError",
            "ClientConnectorCertificateError", "ServerFingerprintMismatch", "SSLZeroReturnError",
        ),
        "TLS_FAILURE",
    ),
    **dict.fromkeys(
        (
            "IncompleteRead", "ChunkedEncodingError", "ClientPayloadError", "RemoteProtocolError", "StreamError",
            "InvalidChunkLength", "StreamClosed", "ResponseNotRead", "IncompleteReadError", "EventStreamError",
        ),
        "STREAM_BROKEN",
    ),
    **dict.fromkeys(("RateLimitError", "TooManyRequests", "ThrottlingException", "RateLimitExceeded"), "RATE_LIMITED"),
    **dict.fromkeys(("QuotaExceeded", "QuotaExceededError", "InsufficientQuotaError"), "QUOTA_EXHAUSTED"),
    **dict.fromkeys(
        (
            "AuthenticationError", "PermissionDeniedError", "Unauthorized", "Unauthenticated", "Forbidden",
            "PermissionDenied", "NoCredentialsError", "RefreshError",
        ),
        "AUTH_REFUSED",
    ),
    **dict.fromkeys(
        (
            "JSONDecodeError", "DecodingError", "ContentTypeError", "ValidationError", "InvalidJSONError",
            "APIResponseValidationError", "OutputParserException", "UnicodeDecodeError", "DecodeError",
            "ContentDecodingError",
        ),
        "INVALID_RESPONSE",
    ),
    **dict.fromkeys(
        ("InternalServerError", "ServiceUnavailableError", "ServiceUnavailable", "OverloadedError", "BadGateway"),
        "PROVIDER_ERROR",
    ),
    **dict.fromkeys(
        (
            "NotAttempted", "CircuitBreakerError", "CircuitBreakerOpen", "CircuitBreakerOpenError", "CircuitOpenError",
            "BreakerOpen", "BrokenCircuitException", "CircuitBreakerOpenException", "CallNotPermittedException",
        ),
        "NOT_ATTEMPTED",
    ),
    # Vague ones: what they wrap says more, so they answer only where nothing else does.
    **dict.fromkeys(
        (
            "NewConnectionError", "ConnectError", "ClientConnectorError", "APIConnectionError", "ConnectionError",
            "MaxRetryError", "ClientConnectionError", "NetworkError", "ReadError", "WriteError", "ProtocolError",
            "EndpointConnectionError", "ProxyError", "ClientOSError", "TransportError",
        ),
        "CONNECTION_FAILED",
    ),
}  # fmt: skip
_VAGUE = {"CONNECTION_FAILED"}
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
    vague: str | None = None
    # What the error wraps explains it; what was being handled before may be another story, and is asked last.
    for chain in (foreign.wrapped(error), foreign.handled_before(error, handling)):
        for step in (_by_shape, _by_text):
            for link in chain:
                if step is _by_text and not stated and foreign.is_own_fault(link):
                    continue
                signature = step(link)
                if signature is None:
                    continue
                if signature not in _VAGUE:
                    return _with_milliseconds(signature, link)
                vague = vague or signature
    return vague or UNATTRIBUTED


def _by_shape(link: BaseException) -> str | None:
    return _by_code(link) or _by_class(link)


def _by_code(link: BaseException) -> str | None:
    words = [word.lower() for word in foreign.code_words(link)]
    if any(word in _QUOTA_CODES for word in words):
        return "QUOTA_EXHAUSTED"
    status = foreign.status_of(link)
    if status is not None and status >= 400:
        return f"HTTP_{status}"
    return next((_CODES[word] for word in words if word in _CODES), None)


def _by_class(link: BaseException) -> str | None:
    for name in foreign.class_names(link):
        signature = _CLASSES.get(name)
        if signature is not None:
            return signature
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
    return timeout_signature(milliseconds_in(foreign.text_of(link)))
