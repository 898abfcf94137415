"""What the class of an exception alone says, worked out once for each class.

Libraries are recognised by the names of their classes, never imported. Reading an exception means asking it for some
twenty attributes that it usually has not: where its class looks attributes up in the interpreter's own way, what
neither its class nor its own fields have need not be asked for.
"""

from abc import ABCMeta
from collections.abc import Callable
from typing import TypeVar

__all__ = ["CODE_NAMES", "READ_NAMES", "WRAPPED_NAMES", "Kind", "PerClass", "kind_of"]

T = TypeVar("T")

CODE_NAMES = frozenset(
    ("status_code", "status", "http_status", "http_code", "code", "type", "error_code", "grpc_status_code", "body",
     "response", "ResponseMetadata")
)  # fmt: skip
"""Attributes from which codes and statuses are read."""
WRAPPED_NAMES = frozenset(("reason", "os_error", "original_error", "exceptions"))
"""Attributes in which an exception holds others, besides the interpreter's own."""
READ_NAMES = CODE_NAMES | WRAPPED_NAMES | {"errno"}
"""All of them."""

_MOST = 1_024
_OWN = ("__cause__", "__context__", "__suppress_context__", "__dict__", "__getattr__", "args")
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


class PerClass(dict[type[BaseException], T]):
    """A function of a class of exceptions, worked out when it is first asked for. Raises what the function raises."""

    __slots__ = ("_work",)

    def __init__(self, work: Callable[[type[BaseException]], T]) -> None:
        self._work = work

    def __missing__(self, cls: type[BaseException]) -> T:
        value = self._work(cls)
        # Classes that are made on the way are not kept for ever; those with a metaclass of their own not at all.
        if type(cls) in (type, ABCMeta):
            if len(self) >= _MOST:
                self.clear()
            self[cls] = value
        return value


class Kind:
    """A class of exceptions, as it was when it was first met."""

    __slots__ = ("names", "own", "plain", "signature", "silent")

    def __init__(self, cls: type[BaseException]) -> None:
        self.names = tuple(kind.__name__ for kind in cls.__mro__)
        """Of the classes, most special first."""
        self.signature = next((_CLASSES[name] for name in self.names if name in _CLASSES), None)
        """What the first of them that is known amounts to."""
        attributes = {name for kind in cls.__mro__ if kind not in (BaseException, object) for name in kind.__dict__}
        self.plain = cls.__getattribute__ is BaseException.__getattribute__ and attributes.isdisjoint(_OWN)
        """Whether attributes are where the interpreter looks for them, so that `__dict__` has all the own fields."""
        self.own = READ_NAMES & attributes
        """Of the attributes that are read, those that the class itself has."""
        self.silent = self.plain and not self.own and self.signature is None
        """Whether the class says nothing, so that without fields of its own an exception has only its text."""


kind_of = PerClass(Kind)
