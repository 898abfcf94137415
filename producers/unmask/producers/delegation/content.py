"""From the content of an outcome to a digest of it. The content goes nowhere, and is forgotten at once."""

import hashlib

from unmask.producers.equivalence import payload_digest

__all__ = ["content_digest"]


def content_digest(content: object) -> str | None:
    """A token that stands for a content; None for None, and for what has no canonical form. Never raises an Exception.

    Bytes are taken as they are, whatever their size; anything else by its canonical form, as
    `unmask.producers.equivalence` has it: JSON's values, with names in any order.
    """
    if content is None:
        return None
    if isinstance(content, bytes | bytearray | memoryview):
        try:
            return f"sha256-{hashlib.sha256(content).hexdigest()[:32]}"
        except Exception:
            return None
    digest = payload_digest(content)
    return None if digest is None else f"sha256-{digest[:32]}"
