"""Which requests a gated client asks about, where only some hosts are gated."""

import httpx
import pytest

from unmask.consumers.gate.hosts import hosts_of, is_among


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("prices.example", "http://prices.example/now"),
        ("prices.example", "https://PRICES.Example:8443/now"),
        ("prices.example", "http://prices.example./now"),
        ("Prices.Example.", "http://prices.example/now"),
        ("prices.example", "http://user:word@prices.example/now"),
        ("bücher.example", "http://xn--bcher-kva.example/now"),
        ("xn--bcher-kva.example", "http://bücher.example/now"),
        ("127.0.0.1", "http://127.0.0.1:9092/"),
        ("::1", "http://[::1]:9092/"),
        ("[::1]", "http://[::1]/"),
    ],
)
def test_a_host_is_the_same_however_it_is_spelled(host: str, url: str) -> None:
    assert is_among(httpx.Request("GET", url), hosts_of([host]))
    assert not is_among(httpx.Request("GET", "http://news.example/"), hosts_of([host]))


@pytest.mark.parametrize(
    "host",
    [
        "prices.example:8080", "http://prices.example", "prices.example/now", "user@prices.example", "", "*.example",
        "prices.example?now",
    ],
)  # fmt: skip
def test_what_no_request_would_ever_match_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match="not the name of a host"):
        hosts_of([host])


def test_a_text_alone_is_no_collection_of_hosts() -> None:
    with pytest.raises(ValueError, match=r"hosts=\['prices.example'\]"):
        hosts_of("prices.example")


def test_without_hosts_every_request_is_asked_about() -> None:
    assert is_among(httpx.Request("GET", "http://news.example/"), hosts_of(None))
