"""Records on their topics: encoding and decoding in the framing that the environment asks for.

For everything that reads or writes whole records and is not handed a framing of its own. The framing is found once, at
the first record. Beside what `codec` raises, RegistryUnavailable and RegistryClientMissing can come where
SCHEMA_REGISTRY_URL is set; the first says nothing about the record, which is then tried again.
"""

from functools import cache
from typing import Any

from unmask.schemas.framing import Framing, framing_from_environment

__all__ = ["decode", "decode_any", "encode", "process_framing"]


@cache
def process_framing() -> Framing:
    """The one framing of this process. Raises RegistryClientMissing."""
    return framing_from_environment()


def encode(record: str, value: dict[str, Any]) -> bytes:
    """The framed bytes of a value of the record's latest version; see codec.encode."""
    return process_framing().encode(record, value)


def decode(record: str, data: bytes | None) -> dict[str, Any]:
    """The value in `data`; see codec.decode."""
    return process_framing().decode_any((record,), data)[1]


def decode_any(records: tuple[str, ...], data: bytes | None) -> tuple[str, dict[str, Any]]:
    """Record name and value of `data`, which may be any of `records`; see codec.decode_any."""
    return process_framing().decode_any(records, data)
