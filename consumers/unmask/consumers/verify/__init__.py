"""The independent recount: what the log says, compared with what was published. It shares no code with the stream.

Bounds that the stream sets to its memory (how many series, gaps and open sessions it keeps apart) are not modelled:
where one is reached, the comparison shows it.
"""

from unmask.consumers.verify.outcome import Difference, Examined, Exit, Outcome
from unmask.consumers.verify.request import Request
from unmask.consumers.verify.rules import RecountRules
from unmask.consumers.verify.verification import LogNotStamped, verify

__all__ = ["Difference", "Examined", "Exit", "LogNotStamped", "Outcome", "RecountRules", "Request", "verify"]
