"""The independent recount: what the log says, compared with what was published. It shares no code with the stream."""

from unmask.consumers.verify.outcome import Difference, Examined, Exit, Outcome
from unmask.consumers.verify.rules import RecountRules
from unmask.consumers.verify.verification import LogNotStamped, Request, verify

__all__ = ["Difference", "Examined", "Exit", "LogNotStamped", "Outcome", "RecountRules", "Request", "verify"]
