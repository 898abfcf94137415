"""What a verification is asked to do."""

from dataclasses import dataclass, field

from unmask.consumers.verify.rules import RecountRules
from unmask.schemas.topics import Topics

__all__ = ["Request"]


@dataclass(frozen=True, slots=True)
class Request:
    """What to verify."""

    topics: Topics
    bootstrap: str | None = None
    since: str | None = None
    """ISO 8601 with a zone, or a span back from the broker's time; None: all that the log still has."""
    until: str | None = None
    rules: RecountRules = field(default_factory=RecountRules)
    settle: float = 15.0
    """Seconds that published state may take to catch up with the log."""
    timeout: float = 30.0
    """Seconds that the broker may take for an answer."""
    strict: bool = False
    """Whether anything in the range that could not be checked makes the whole not checked."""
