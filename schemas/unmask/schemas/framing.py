"""How a record's bytes are framed: single-object encoding by default, a schema registry's frame where one is set.

With SCHEMA_REGISTRY_URL every value begins with 00 and the four bytes of the schema's id in the registry, and the
registry's own client asks for ids and schemas. Its further settings come from UNMASK_REGISTRY_*, for example
UNMASK_REGISTRY_BASIC_AUTH_USER_INFO for `basic.auth.user.info`.
"""

import os
from typing import Any, Protocol

from unmask.schemas import codec
from unmask.schemas.errors import ContractError

__all__ = ["Framing", "RegistryClientMissing", "SingleObjectFraming", "framing_from_environment"]

REGISTRY_URL = "SCHEMA_REGISTRY_URL"
REGISTRY_PREFIX = "UNMASK_REGISTRY_"
# Settings that the registry's client wants as numbers, not as texts.
_NUMBERS = {
    "timeout",
    "max.retries",
    "retries.wait.ms",
    "retries.max.wait.ms",
    "cache.capacity",
    "cache.latest.ttl.sec",
}


class Framing(Protocol):
    """Turns records into bytes and back."""

    def encode(self, record: str, value: dict[str, Any]) -> bytes:
        """The framed bytes of a value, in the oldest version of the record that carries it.

        Raises EncodeError, RegistryUnavailable.
        """
        ...

    def decode_any(self, records: tuple[str, ...], data: bytes | None) -> tuple[str, dict[str, Any]]:
        """Record name and value of bytes that may be any of `records`. Raises DecodeError, RegistryUnavailable.

        RegistryUnavailable says nothing about the bytes: the caller tries the same record again.
        """
        ...


class SingleObjectFraming:
    """C3 01 and the schema's fingerprint; needs no service."""

    def encode(self, record: str, value: dict[str, Any]) -> bytes:
        """See Framing."""
        return codec.encode(record, value)

    def decode_any(self, records: tuple[str, ...], data: bytes | None) -> tuple[str, dict[str, Any]]:
        """See Framing."""
        return codec.decode_any(records, data)


class RegistryClientMissing(ContractError):
    """SCHEMA_REGISTRY_URL is set, but the registry's client is not installed."""

    def __init__(self, missing: str) -> None:
        super().__init__(
            f"{REGISTRY_URL} is set, but the module {missing} is missing: install unmask[registry], or unset it"
        )


def framing_from_environment() -> Framing:
    """The framing that the environment asks for. Raises RegistryClientMissing."""
    url = os.environ.get(REGISTRY_URL, "").strip()
    if not url:
        return SingleObjectFraming()
    try:
        from unmask.schemas.registry import RegistryFraming, registry_client
    except ModuleNotFoundError as error:
        raise RegistryClientMissing(str(error.name)) from error
    return RegistryFraming(registry_client(url, **_registry_settings()))


def _registry_settings() -> dict[str, Any]:
    found = {
        name[len(REGISTRY_PREFIX) :].lower().replace("_", "."): value
        for name, value in os.environ.items()
        if name.startswith(REGISTRY_PREFIX) and value
    }
    return {name: float(value) if name in _NUMBERS else value for name, value in found.items()}
