"""Records decoded once, however often they are looked at. The answers are shared and must not be changed."""

from functools import lru_cache
from typing import Any

from unmask.schemas.wire import decode

__all__ = ["decoded"]


@lru_cache(maxsize=4096)
def decoded(record: str, raw: bytes) -> dict[str, Any]:
    """The record in the bytes. Raises DecodeError."""
    return decode(record, raw)
