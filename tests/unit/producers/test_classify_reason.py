"""Refusals become reason codes; what an operator chose is no refusal."""

import asyncio

import pytest

from unmask.producers import NotAttempted, classify_refusal
from unmask.producers.classify_reason import reason_of_signature
from unmask.schemas.codes import ReasonCode
from unmask.schemas.signatures import SIGNATURE_WORDS


@pytest.mark.parametrize(
    "choice",
    [
        "rollback", "Rollback", "ROLLBACK", "rolled back", "rolled_back", "roll-back", "rollback to v1.2 by operator",
        "pin", "pinned", "route pinned", "pinned_to_legacy", "pin: release 7", "operator", "operator override",
        "operator pin", "manual rollback", "kill switch", "kill-switch active", "forced legacy", "operator_chosen",
    ],
)  # fmt: skip
def test_an_operators_choice_has_no_reason(choice: str) -> None:
    assert classify_refusal(choice) is None


@pytest.mark.parametrize(
    "refusal", ["failed to pin certificate", "rollback failed: connection refused", "spin lock", "opinion", "pineapple"]
)
def test_a_failure_that_only_sounds_like_a_choice_has_one(refusal: str) -> None:
    assert classify_refusal(refusal) is not None


@pytest.mark.parametrize("code", list(ReasonCode))
def test_a_code_is_its_own_reason(code: ReasonCode) -> None:
    assert classify_refusal(code) is code
    assert classify_refusal(code.value) is code
    assert classify_refusal(code.value.upper().replace("_", " ")) is code


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("timed out after 5 s", ReasonCode.TIMEOUT),
        (TimeoutError(), ReasonCode.TIMEOUT),
        (504, ReasonCode.TIMEOUT),
        (502, ReasonCode.UPSTREAM_ERROR),
        (503, ReasonCode.UPSTREAM_ERROR),
        (429, ReasonCode.RATE_LIMITED),
        (402, ReasonCode.QUOTA_EXHAUSTED),
        ("you have exceeded your quota", ReasonCode.QUOTA_EXHAUSTED),
        (ConnectionRefusedError(), ReasonCode.UPSTREAM_UNREACHABLE),
        ("circuit breaker is open", ReasonCode.CIRCUIT_OPEN),
        (NotAttempted(), ReasonCode.CIRCUIT_OPEN),
        (NotImplementedError(), ReasonCode.CAPABILITY_UNSUPPORTED),
        ("streaming is not supported", ReasonCode.CAPABILITY_UNSUPPORTED),
        (501, ReasonCode.CAPABILITY_UNSUPPORTED),
        ("blocked by policy 7", ReasonCode.POLICY_REFUSED),
        (401, ReasonCode.AUTH_REFUSED),
        (403, ReasonCode.AUTH_REFUSED),
        ("invalid api key", ReasonCode.AUTH_REFUSED),
        (400, ReasonCode.INVALID_REQUEST),
        (422, ReasonCode.INVALID_REQUEST),
        ("400 Bad Request: maximum context length is 8192 tokens", ReasonCode.CONTEXT_EXCEEDED),
        ("prompt is too long", ReasonCode.CONTEXT_EXCEEDED),
        (413, ReasonCode.CONTEXT_EXCEEDED),
        ("stopped by the content filter", ReasonCode.CONTENT_FILTERED),
        ("still warming up", ReasonCode.NOT_READY),
        ("shutting down", ReasonCode.NOT_READY),
        (asyncio.CancelledError(), ReasonCode.CANCELLED),
        ("cancelled by the caller", ReasonCode.CANCELLED),
        (TypeError("x"), ReasonCode.INTERNAL_ERROR),
        (KeyError("x"), ReasonCode.INTERNAL_ERROR),
        (AssertionError(), ReasonCode.INTERNAL_ERROR),
        ("internal error", ReasonCode.INTERNAL_ERROR),
        ("could not parse the answer", ReasonCode.INVALID_RESPONSE),
        ("no idea at all", ReasonCode.UNKNOWN_REFUSAL),
        (None, ReasonCode.UNKNOWN_REFUSAL),
        ("", ReasonCode.UNKNOWN_REFUSAL),
        pytest.param(object(), ReasonCode.UNKNOWN_REFUSAL, id="an object"),
    ],
    ids=repr,
)
def test_refusals_become_their_code(raw: object, reason: ReasonCode) -> None:
    assert classify_refusal(raw) is reason


@pytest.mark.parametrize("signature", [*SIGNATURE_WORDS, "TIMEOUT_5000ms", "HTTP_200", "HTTP_404", "HTTP_503"])
def test_every_signature_has_a_reason(signature: str) -> None:
    assert reason_of_signature(signature) in ReasonCode
