"""The quarantine's entry for a record that cannot be read: where it stands and why. Nothing of its text."""

import hashlib
from typing import Any

from unmask.schemas.errors import DecodeError
from unmask.schemas.tokens import is_token

__all__ = ["quarantine_entry"]


def quarantine_entry(
    topic: str,
    partition: int,
    offset: int,
    arrival: int,
    key: bytes | None,
    value: bytes | None,
    refused: DecodeError,
) -> dict[str, Any]:
    """A `quarantine` record. A key that is no token is told by its digest: like the value, it may hold anything."""
    data = value or b""
    name = None
    if key:
        text = key.decode("ascii", "replace")
        name = text if is_token(text) else "sha256-" + hashlib.sha256(key).hexdigest()[:32]
    return {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "broker_time": arrival,
        "reason": refused.reason.value,
        "size": len(data),
        "digest": hashlib.sha256(data).hexdigest(),
        "fingerprint": refused.fingerprint,
        "key": name,
    }
