"""Upstream errors become signatures of the closed grammar."""

import concurrent.futures
import errno
import http.client
import json
import socket
import ssl
import subprocess
import urllib.error
from enum import Enum
from typing import Any

import pytest

from unmask.producers import NotAttempted, classify_upstream
from unmask.schemas.codes import Directive, UpstreamClass
from unmask.schemas.signatures import classify_signature, directive_for


def _class(name: str, *bases: type[BaseException], **attributes: Any) -> type[BaseException]:
    return type(name, bases or (Exception,), attributes)


def _raised_from(outer: BaseException, cause: BaseException) -> BaseException:
    try:
        raise outer from cause
    except BaseException as error:
        return error


class _Code(Enum):
    DEADLINE_EXCEEDED = 4
    UNAVAILABLE = 14
    RESOURCE_EXHAUSTED = 8
    INTERNAL = 13


def _grpc(code: _Code) -> BaseException:
    """As grpc.RpcError: the code is what a method returns."""
    return _class("RpcError", Exception, code=lambda self: code)("details that do not matter")


TIMEOUTS = [
    "TIMEOUT", "timeout", "Timeout", "time-out", "time out", "timed out", "timed-out", "TimedOut", "TIMED_OUT",
    "TIMEOUT_5000ms", "TIMEOUT_30s", "timeout of 5000ms exceeded", "Request timed out.", "read operation timed out",
    "The read operation timed out", "Read timed out. (read timeout=5)", "connect timeout=0.1", "socket timeout",
    "deadline exceeded", "DEADLINE_EXCEEDED", "context deadline exceeded", "deadline has elapsed",
    "Deadline Exceeded", "4 DEADLINE_EXCEEDED: Deadline exceeded after 4.999s", "deadline expired", "exceeded deadline",
    "terminated", "TypeError: terminated", "ETIMEDOUT", "connect ETIMEDOUT 10.0.0.1:443", "ESOCKETTIMEDOUT",
    "UND_ERR_HEADERS_TIMEOUT", "operation was aborted due to timeout", "connection timed out", "TLS handshake timeout",
    "Client.Timeout exceeded while awaiting headers", "execution time exceeded", "took too long", "no response in time",
    "upstream did not respond within 30 seconds", "time limit exceeded", "408", "504", "522", "524",
    "HTTP 408", "HTTP/1.1 504 Gateway Timeout", "status 522", "status code: 524", "504 Gateway Time-out",
    "error 524", "gateway timeout", 408, 504, 522, 524, "deadline_exceeded",
    TimeoutError(), TimeoutError("anything"), concurrent.futures.TimeoutError(),
    subprocess.TimeoutExpired("command", 5), OSError(errno.ETIMEDOUT, "text"),
    urllib.error.URLError(TimeoutError()),
    _class("ReadTimeout")(), _class("ConnectTimeout")(), _class("PoolTimeout")(), _class("ReadTimeoutError")(),
    _class("ServerTimeoutError")(), _class("APITimeoutError", _class("APIConnectionError"))(),
    _class("DeadlineExceeded")(), _class("ApiError", Exception, status_code=504)(), _grpc(_Code.DEADLINE_EXCEEDED),
    _class("APIStatusError", Exception, status_code=408)("anything"),
    _raised_from(RuntimeError("the call failed"), TimeoutError()),
]  # fmt: skip


@pytest.mark.parametrize("spelling", TIMEOUTS, ids=repr)
def test_every_spelling_of_a_timeout_is_a_timeout_and_asks_for_a_probe(spelling: object) -> None:
    signature = classify_upstream(spelling)
    assert classify_signature(signature) is UpstreamClass.TIMEOUT
    assert directive_for(signature) is Directive.PROBE_UPSTREAM_BEFORE_ACTION


@pytest.mark.parametrize(
    ("spelling", "signature"),
    [
        ("TIMEOUT_5000ms", "TIMEOUT_5000ms"),
        ("timeout of 5000ms exceeded", "TIMEOUT_5000ms"),
        ("timed out after 5 s", "TIMEOUT_5000ms"),
        ("timed out after 2.5 seconds", "TIMEOUT_2500ms"),
        ("timed out after 2 minutes", "TIMEOUT_120000ms"),
        ("Read timed out. (read timeout=5)", "TIMEOUT_5000ms"),
        ("deadline exceeded after 4.999s", "TIMEOUT_4999ms"),
        ("TIMEOUT_30s", "TIMEOUT_30000ms"),
        ("timed out after 500 ms", "TIMEOUT_500ms"),
        (subprocess.TimeoutExpired("command", 0.25), "TIMEOUT_250ms"),
        (TimeoutError("no answer after 1500 ms"), "TIMEOUT_1500ms"),
        ("timed out after 99999999999 s", "TIMEOUT"),
        ("timed out", "TIMEOUT"),
    ],
)
def test_the_milliseconds_of_a_timeout_are_kept_where_they_are_given(spelling: object, signature: str) -> None:
    assert classify_upstream(spelling) == signature


SERVER_ERRORS = [
    502, 503, 500, 529, "502", "503", "502 Bad Gateway", "503 Service Unavailable", "HTTP 502", "HTTP/1.1 503",
    "status code 503", "Error code: 503 - {'error': {'message': 'try later'}}", "service unavailable", "bad gateway",
    "503 after 3 s", "error 503 after 3000 ms", "upstream returned 502 in 30s", "503: upstream request timeout",
    "finish_reason: error", "finish reason error after 3 s", "finish_reason=error (3000ms)",
    "provider finish reason of error after 3 s", "provider error", "server_error", "model overloaded",
    _class("ApiError", Exception, status_code=503)("timed out waiting for a slot"),
    _class("InternalServerError")("after 3 s"), _grpc(_Code.INTERNAL),
]  # fmt: skip


@pytest.mark.parametrize("spelling", SERVER_ERRORS, ids=repr)
def test_a_providers_error_is_no_timeout_however_long_it_took(spelling: object) -> None:
    assert classify_signature(classify_upstream(spelling)) is UpstreamClass.SERVER_ERROR


@pytest.mark.parametrize("spelling", [503, "503", "HTTP 503", "service unavailable", 502, "bad gateway"])
def test_502_and_503_still_ask_for_a_probe(spelling: object) -> None:
    assert directive_for(classify_upstream(spelling)) is Directive.PROBE_UPSTREAM_BEFORE_ACTION


@pytest.mark.parametrize(
    ("error", "signature"),
    [
        (429, "HTTP_429"),
        ("rate limit exceeded", "RATE_LIMITED"),
        ("Too Many Requests", "HTTP_429"),
        ("You exceeded your current quota, please check your plan", "QUOTA_EXHAUSTED"),
        (_class("RateLimitError", Exception, status_code=429, code="insufficient_quota")(), "QUOTA_EXHAUSTED"),
        (_class("RateLimitError", Exception, status_code=429)(), "HTTP_429"),
        (_grpc(_Code.RESOURCE_EXHAUSTED), "RATE_LIMITED"),
        (ConnectionRefusedError(111, "x"), "CONNECTION_REFUSED"),
        ("connect ECONNREFUSED 127.0.0.1:80", "CONNECTION_REFUSED"),
        (ConnectionResetError(), "CONNECTION_RESET"),
        (BrokenPipeError(), "CONNECTION_RESET"),
        ("socket hang up", "CONNECTION_RESET"),
        (http.client.RemoteDisconnected("x"), "CONNECTION_RESET"),
        (http.client.IncompleteRead(b"part"), "STREAM_BROKEN"),
        ("peer closed connection without sending complete message body", "STREAM_BROKEN"),
        (socket.gaierror(-2, "Name or service not known"), "DNS_FAILURE"),
        ("getaddrinfo ENOTFOUND api.example.org", "DNS_FAILURE"),
        (ssl.SSLError("x"), "TLS_FAILURE"),
        (ssl.SSLCertVerificationError("x"), "TLS_FAILURE"),
        (_grpc(_Code.UNAVAILABLE), "CONNECTION_FAILED"),
        (OSError(errno.EHOSTUNREACH, "x"), "CONNECTION_FAILED"),
        (401, "HTTP_401"),
        ("Invalid API key provided", "AUTH_REFUSED"),
        (_class("AuthenticationError")(), "AUTH_REFUSED"),
        (json.JSONDecodeError("Expecting value", "", 0), "INVALID_RESPONSE"),
        ("invalid JSON in response", "INVALID_RESPONSE"),
        (NotAttempted(), "NOT_ATTEMPTED"),
        (_class("CircuitBreakerError")(), "NOT_ATTEMPTED"),
        ("circuit breaker 'openai' is open", "NOT_ATTEMPTED"),
        (ValueError("something else"), "UNATTRIBUTED"),
        ("", "UNATTRIBUTED"),
        ("no idea", "UNATTRIBUTED"),
        (None, "UNATTRIBUTED"),
        (True, "UNATTRIBUTED"),
        (7, "UNATTRIBUTED"),
        pytest.param(object(), "UNATTRIBUTED", id="an object"),
    ],
    ids=repr,
)
def test_errors_become_their_signature(error: object, signature: str) -> None:
    assert classify_upstream(error) == signature


def test_what_a_vague_error_wraps_says_more() -> None:
    vague = _class("APIConnectionError")("Connection error.")
    assert classify_upstream(vague) == "CONNECTION_FAILED"
    assert classify_upstream(_raised_from(vague, ConnectionRefusedError())) == "CONNECTION_REFUSED"
    assert classify_upstream(urllib.error.URLError(socket.gaierror())) == "DNS_FAILURE"
    assert classify_upstream(ExceptionGroup("several", [ValueError(), TimeoutError()])) == "TIMEOUT"


def test_what_was_being_handled_before_does_not_explain_a_clear_error() -> None:
    error = TimeoutError()
    error.__context__ = _class("ApiError", Exception, status_code=500)()
    assert classify_upstream(error) == "TIMEOUT"


def test_a_status_of_a_response_is_found_wherever_libraries_keep_it() -> None:
    response = type("Response", (), {"status_code": 503})()
    assert classify_upstream(_class("HTTPStatusError", Exception, response=response)()) == "HTTP_503"
    assert classify_upstream(_class("ClientResponseError", Exception, status=503)()) == "HTTP_503"
    cloud = {"Error": {"Code": "ThrottlingException"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    assert classify_upstream(_class("ClientError", Exception, response=cloud)()) == "HTTP_400"
    assert classify_upstream(response) == "HTTP_503"


def test_names_in_addresses_are_no_complaints() -> None:
    assert classify_upstream("cannot open https://example.org/timeout/503") == "UNATTRIBUTED"
    assert classify_upstream("no handler for /api/rate-limit") == "UNATTRIBUTED"


def test_a_number_beside_a_unit_is_no_status() -> None:
    assert classify_upstream("timed out after 500 ms") == "TIMEOUT_500ms"
    assert classify_upstream("error after 503 s") == "UNATTRIBUTED"


def test_an_error_that_cannot_be_read_is_unattributed() -> None:
    class Hostile(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

        def __getattribute__(self, name: str) -> Any:
            raise ValueError(name)

    assert classify_upstream(Hostile()) == "UNATTRIBUTED"


def test_a_chain_of_errors_that_bites_its_own_tail_ends() -> None:
    first, second = ValueError(), ValueError()
    first.__cause__, second.__cause__ = second, first
    assert classify_upstream(first) == "UNATTRIBUTED"
