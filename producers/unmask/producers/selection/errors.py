"""What the guard of selections refuses, and why."""

__all__ = ["InvalidProfiles", "NotAPreference"]


class InvalidProfiles(ValueError):
    """The profiles of a session cannot be chosen from; the message says what to correct."""


class NotAPreference(ValueError):
    """Only what a user chose may be written down as a preference, and no emergency profile ever.

    An automatic choice holds for its turn, or for a window that says when it ends.
    """
