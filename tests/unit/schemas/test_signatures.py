"""The grammar of masked upstream signatures is closed, and each signature has one class and one directive."""

import pytest

from unmask.schemas.codes import Directive, UpstreamClass
from unmask.schemas.signatures import (
    SIGNATURE_WORDS,
    classify_signature,
    directive_for,
    is_signature,
    is_unreachable,
)


@pytest.mark.parametrize(
    ("signature", "meaning"),
    [
        ("TIMEOUT", UpstreamClass.TIMEOUT),
        ("TIMEOUT_5000ms", UpstreamClass.TIMEOUT),
        ("HTTP_408", UpstreamClass.TIMEOUT),
        ("HTTP_504", UpstreamClass.TIMEOUT),
        ("HTTP_522", UpstreamClass.TIMEOUT),
        ("HTTP_524", UpstreamClass.TIMEOUT),
        ("HTTP_429", UpstreamClass.RATE_LIMITED),
        ("HTTP_500", UpstreamClass.SERVER_ERROR),
        ("HTTP_502", UpstreamClass.SERVER_ERROR),
        ("HTTP_503", UpstreamClass.SERVER_ERROR),
        ("HTTP_404", UpstreamClass.CLIENT_ERROR),
        ("HTTP_200", UpstreamClass.INVALID_RESPONSE),
        ("PROVIDER_ERROR", UpstreamClass.SERVER_ERROR),
        ("NOT_ATTEMPTED", UpstreamClass.NOT_ATTEMPTED),
    ],
)
def test_each_signature_has_one_class(signature: str, meaning: UpstreamClass) -> None:
    assert classify_signature(signature) is meaning


@pytest.mark.parametrize(
    "text",
    ["", "timeout", "HTTP_", "HTTP_099", "HTTP_600", "HTTP_5030", "TIMEOUT_ms", "TIMEOUT_5s", "TIMEOUT_12345678ms",
     "HTTP_503 ", "HTTP_503\n", "http://x", "ValueError: sk-1"],
)  # fmt: skip
def test_nothing_else_is_a_signature(text: str) -> None:
    assert not is_signature(text)
    with pytest.raises(ValueError, match="grammar"):
        classify_signature(text)


@pytest.mark.parametrize(
    "signature",
    ["TIMEOUT", "TIMEOUT_1ms", "HTTP_408", "HTTP_429", "HTTP_502", "HTTP_503", "HTTP_504", "HTTP_522", "HTTP_524",
     "RATE_LIMITED", "QUOTA_EXHAUSTED", "CONNECTION_REFUSED", "CONNECTION_RESET", "DNS_FAILURE", "STREAM_BROKEN"],
)  # fmt: skip
def test_an_unreachable_or_exhausted_upstream_is_probed_first(signature: str) -> None:
    assert is_unreachable(signature)
    assert directive_for(signature) is Directive.PROBE_UPSTREAM_BEFORE_ACTION


@pytest.mark.parametrize(
    "signature",
    ["HTTP_500", "HTTP_501", "HTTP_400", "HTTP_200", "PROVIDER_ERROR", "INVALID_RESPONSE", "NOT_ATTEMPTED",
     "UNATTRIBUTED", "AUTH_REFUSED"],
)  # fmt: skip
def test_anything_else_is_fetched_again_from_the_primary(signature: str) -> None:
    assert not is_unreachable(signature)
    assert directive_for(signature) is Directive.RE_FETCH_FROM_PRIMARY


def test_every_class_can_be_reached() -> None:
    reached = {*SIGNATURE_WORDS.values(), classify_signature("HTTP_503"), classify_signature("HTTP_404")}
    assert reached == set(UpstreamClass)
