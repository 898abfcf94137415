"""Named errors and marks of the host SDK."""

__all__ = ["InvalidSettings", "NotAttempted"]


class InvalidSettings(ValueError):
    """The emitter's settings cannot work; the message says which one and what to set."""


class NotAttempted(Exception):
    """Raise it instead of calling an upstream, for example when a breaker is open.

    The substitute's answer is then recorded as masking no upstream call at all, and no error code is invented.
    """
