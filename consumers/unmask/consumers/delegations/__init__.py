"""Delegations over all the sessions that they worked in: calls, budgets, breaker, effects, refusals."""

from unmask.consumers.delegations.document import DelegationLine, DelegationsReport, json_schema
from unmask.consumers.delegations.gather import Judged, lines_of
from unmask.consumers.delegations.merge import Delegation, Part, merged, parts_of

__all__ = [
    "Delegation",
    "DelegationLine",
    "DelegationsReport",
    "Judged",
    "Part",
    "json_schema",
    "lines_of",
    "merged",
    "parts_of",
]
