"""The security settings of librdkafka, as what Faust's client needs to connect in the same way."""

import ssl
from typing import Any

from faust.auth import Credentials, SASLCredentials, SSLCredentials

from unmask.streams.tables.errors import UnsupportedSecurity

__all__ = ["credentials_from"]

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def credentials_from(config: dict[str, Any]) -> Credentials | None:
    """Credentials for the client settings that all other clients use; None for plain text.

    Raises UnsupportedSecurity for protocols and mechanisms that cannot be carried over.
    """
    protocol = str(config.get("security.protocol", "PLAINTEXT")).upper()
    if protocol not in _PROTOCOLS:
        raise UnsupportedSecurity("security.protocol", protocol, ", ".join(_PROTOCOLS))
    if protocol == "PLAINTEXT":
        return None
    context = _context(config) if protocol.endswith("SSL") else None
    if protocol == "SSL":
        return SSLCredentials(context)
    mechanism = str(config.get("sasl.mechanism", config.get("sasl.mechanisms", "PLAIN"))).upper()
    if mechanism not in _MECHANISMS:
        raise UnsupportedSecurity("sasl.mechanism", mechanism, ", ".join(_MECHANISMS))
    return SASLCredentials(
        username=config.get("sasl.username"),
        password=config.get("sasl.password"),
        ssl_context=context,
        mechanism=mechanism,
    )


def _context(config: dict[str, Any]) -> ssl.SSLContext:
    context = ssl.create_default_context(
        ssl.Purpose.SERVER_AUTH, cafile=config.get("ssl.ca.location"), cadata=config.get("ssl.ca.pem")
    )
    certificate = config.get("ssl.certificate.location")
    if certificate is not None:
        context.load_cert_chain(certificate, config.get("ssl.key.location"), config.get("ssl.key.password"))
    if str(config.get("enable.ssl.certificate.verification", "true")).lower() == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif str(config.get("ssl.endpoint.identification.algorithm", "https")).lower() in ("none", ""):
        context.check_hostname = False
    return context
