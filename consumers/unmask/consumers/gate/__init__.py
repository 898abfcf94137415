"""The gate that a successor must pass before it sends traffic, and the verdict view behind it."""

from unmask.consumers.gate.admission import Admission, OverrideNotNamed
from unmask.consumers.gate.decide import decide
from unmask.consumers.gate.entry import Entry, NoRecord, Recorded, Tombstone, Undecodable, Unread
from unmask.consumers.gate.exit_codes import EXIT_CODES, exit_code_table
from unmask.consumers.gate.gate import DEFAULT_TIMEOUT, Gate
from unmask.consumers.gate.guard import Guard
from unmask.consumers.gate.obligation import AsyncProbe, Obligation, Probe
from unmask.consumers.gate.refusals import (
    AdmissionRefused,
    Halted,
    NotReady,
    NoVerdict,
    ReconcileFirst,
    Unproven,
    Unverifiable,
    Withdrawn,
)
from unmask.consumers.gate.verdict_facts import VerdictFacts
from unmask.consumers.gate.view import VerdictNotReady, VerdictView, verdict_source
from unmask.schemas.codes import AdmissionAnswer, AdmissionStep

__all__ = [
    "DEFAULT_TIMEOUT",
    "EXIT_CODES",
    "Admission",
    "AdmissionAnswer",
    "AdmissionRefused",
    "AdmissionStep",
    "AsyncProbe",
    "Entry",
    "Gate",
    "Guard",
    "Halted",
    "NoRecord",
    "NoVerdict",
    "NotReady",
    "Obligation",
    "OverrideNotNamed",
    "Probe",
    "ReconcileFirst",
    "Recorded",
    "Tombstone",
    "Undecodable",
    "Unproven",
    "Unread",
    "Unverifiable",
    "VerdictFacts",
    "VerdictNotReady",
    "VerdictView",
    "Withdrawn",
    "decide",
    "exit_code_table",
    "verdict_source",
]
