"""Enforcement that admits that it was wrong: what was refused, by whom, who appealed, and what was right after all."""

from unmask.consumers.enforcement.count import DecisionCount, GateCount, HostCount, Refusals
from unmask.consumers.enforcement.document import EnforcementReport, json_schema
from unmask.consumers.enforcement.read import read_report
from unmask.consumers.enforcement.render import render

__all__ = [
    "DecisionCount",
    "EnforcementReport",
    "GateCount",
    "HostCount",
    "Refusals",
    "json_schema",
    "read_report",
    "render",
]
