"""Security settings for Faust's client."""

import ssl

import pytest
from faust.auth import SASLCredentials, SSLCredentials

from unmask.streams.tables.errors import UnsupportedSecurity
from unmask.streams.tables.security import credentials_from


def test_plain_text_needs_no_credentials() -> None:
    assert credentials_from({}) is None
    assert credentials_from({"security.protocol": "plaintext"}) is None


def test_a_password_goes_with_its_mechanism() -> None:
    found = credentials_from(
        {
            "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "stream",
            "sasl.password": "secret",
        }
    )  # fmt: skip
    assert isinstance(found, SASLCredentials)
    assert (found.username, found.password, found.mechanism.value) == ("stream", "secret", "SCRAM-SHA-512")
    assert (found.protocol.value, found.ssl_context) == ("SASL_PLAINTEXT", None)
    assert "secret" not in repr(found)


def test_encryption_checks_the_broker_s_name_unless_told_otherwise() -> None:
    found = credentials_from({"security.protocol": "SSL"})
    assert isinstance(found, SSLCredentials)
    assert (found.context.check_hostname, found.context.verify_mode) == (True, ssl.CERT_REQUIRED)
    lax = credentials_from({"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "none"})
    assert isinstance(lax, SSLCredentials)
    assert (lax.context.check_hostname, lax.context.verify_mode) == (False, ssl.CERT_REQUIRED)


def test_encrypted_passwords_go_over_ssl() -> None:
    found = credentials_from({"security.protocol": "SASL_SSL", "sasl.username": "a", "sasl.password": "b"})
    assert isinstance(found, SASLCredentials)
    assert found.protocol.value == "SASL_SSL"


@pytest.mark.parametrize(
    "config",
    [{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}, {"security.protocol": "MAGIC"}],
)
def test_what_cannot_be_carried_over_is_a_named_error_and_no_plain_connection(config: dict[str, str]) -> None:
    with pytest.raises(UnsupportedSecurity, match="supported are"):
        credentials_from(config)
