"""Addresses of receivers: checked once, and never shown with what may be secret in them."""

import pytest

from unmask.consumers.alerts.forward import ForwardSettings, forwarding_group
from unmask.consumers.alerts.receiver import BadAddress, Receiver, ReceiverKind

WEBHOOK, ALERTMANAGER = ReceiverKind.WEBHOOK, ReceiverKind.ALERTMANAGER


@pytest.mark.parametrize(
    "url",
    [
        "", "hooks.example.org", "ftp://example.org/x", "http://", "https:///path", "http://example.org:port/",
        "http://example.org/a b", "http://example.org/\n", "http://[::1", "http://example.org/" + "x" * 3000,
    ],
)  # fmt: skip
def test_what_cannot_be_an_address_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(BadAddress, match=r"https://hooks\.example\.org"):
        Receiver(WEBHOOK, url)


def test_an_authorization_that_would_break_the_request_is_refused() -> None:
    with pytest.raises(BadAddress, match="authorization"):
        Receiver(WEBHOOK, "https://example.org/", "Bearer x\r\nHost: y")


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("http://am:9093", "http://am:9093/api/v2/alerts"),
        ("http://am:9093/", "http://am:9093/api/v2/alerts"),
        ("https://proxy/am/", "https://proxy/am/api/v2/alerts"),
        ("http://am:9093/api/v2/alerts", "http://am:9093/api/v2/alerts"),
        ("http://am:9093/api/v2/alerts/", "http://am:9093/api/v2/alerts"),
    ],
)
def test_the_api_s_path_is_added_to_an_alertmanager_s_address(url: str, endpoint: str) -> None:
    assert Receiver(ALERTMANAGER, url).endpoint == endpoint


def test_a_webhook_s_address_is_taken_as_it_is() -> None:
    assert Receiver(WEBHOOK, "https://h.example/a?b=c").endpoint == "https://h.example/a?b=c"


def test_nothing_that_may_be_secret_is_shown_or_ends_in_the_group_s_name() -> None:
    receiver = Receiver(WEBHOOK, "https://user:pass@hooks.example.org:8443/T00/s3cret?key=k3y", "Bearer t0ken")
    texts = [receiver.shown, repr(receiver), forwarding_group(ForwardSettings(receiver))]
    for secret in ("user", "pass", "s3cret", "k3y", "t0ken", "T00"):
        assert not any(secret in text for text in texts)
    assert receiver.shown == "the webhook at https://hooks.example.org:8443"


def test_a_group_is_one_per_namespace_and_receiver_and_outlives_a_changed_credential() -> None:
    def group(url: str, kind: ReceiverKind = WEBHOOK, **settings: str) -> str:
        return forwarding_group(ForwardSettings(Receiver(kind, url), **settings))  # type: ignore[arg-type]

    assert group("https://h.example/a?key=1") == group("https://u:p@h.example/a?key=2")
    different = {
        group("https://h.example/a"), group("https://h.example/b"), group("https://h.example/a", namespace="other"),
        group("https://h.example/a", ALERTMANAGER), group("https://h.example/a", name="pager"),
    }  # fmt: skip
    assert len(different) == 5
    assert group("https://h.example/a", name="pager") == "unmask.watch.pager"
