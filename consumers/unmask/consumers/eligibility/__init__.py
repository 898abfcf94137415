"""Eligibility: whether the record proves that a capability has been without a fallback for long enough."""

from unmask.consumers.eligibility.answers import EXIT_CODES, FINDING_ANSWERS, Answer, Fault, FindingCode
from unmask.consumers.eligibility.decide import Decision, decide
from unmask.consumers.eligibility.facts import Hour, ParityFact, Sighting, Timeline
from unmask.consumers.eligibility.gather import Wanted, parity_facts, timelines
from unmask.consumers.eligibility.parity_check import Finding, Needed, needed_runs
from unmask.consumers.eligibility.policy import DAY, HOUR, WINDOW_SECONDS, Policy, PolicyError
from unmask.consumers.eligibility.policy_file import policy_from, read_policy_file
from unmask.consumers.eligibility.render import to_json, to_lines
from unmask.consumers.eligibility.report import DISCLAIMER, EligibilityReport, decide_all, read_from
from unmask.consumers.eligibility.span import Restart, Span

__all__ = [
    "DAY",
    "DISCLAIMER",
    "EXIT_CODES",
    "FINDING_ANSWERS",
    "HOUR",
    "WINDOW_SECONDS",
    "Answer",
    "Decision",
    "EligibilityReport",
    "Fault",
    "Finding",
    "FindingCode",
    "Hour",
    "Needed",
    "ParityFact",
    "Policy",
    "PolicyError",
    "Restart",
    "Sighting",
    "Span",
    "Timeline",
    "Wanted",
    "decide",
    "decide_all",
    "needed_runs",
    "parity_facts",
    "policy_from",
    "read_from",
    "read_policy_file",
    "timelines",
    "to_json",
    "to_lines",
]
