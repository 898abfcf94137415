"""The gate that a successor must pass before it sends traffic, and the verdict view behind it."""

from unmask.consumers.gate.admission import Admission, NothingToAppeal, OverrideNotNamed
from unmask.consumers.gate.appeals import Contested, ContestUnrecorded, NoRefusalOnRecord, contest
from unmask.consumers.gate.decide import decide, discharged
from unmask.consumers.gate.discharge import Discharge
from unmask.consumers.gate.discharges import DischargesView
from unmask.consumers.gate.enforcement import Enforcement, Outcome, Report
from unmask.consumers.gate.entry import Displaced, Entry, NoRecord, Recorded, Tombstone, Undecodable, Unread
from unmask.consumers.gate.exit_codes import EXIT_CODES, exit_code_table
from unmask.consumers.gate.followed import NotRead
from unmask.consumers.gate.gate import DEFAULT_TIMEOUT, Gate
from unmask.consumers.gate.guard import Guard
from unmask.consumers.gate.history import AdmissionsUnfinished, read_enforcement
from unmask.consumers.gate.obligation import AsyncProbe, MaskedAnswer, Obligation, Probe
from unmask.consumers.gate.passage import Passage
from unmask.consumers.gate.refetch import AsyncFetch, Fetch
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
    "AdmissionsUnfinished",
    "AsyncFetch",
    "AsyncProbe",
    "ContestUnrecorded",
    "Contested",
    "Discharge",
    "DischargesView",
    "Displaced",
    "Enforcement",
    "Entry",
    "Fetch",
    "Gate",
    "Guard",
    "Halted",
    "MaskedAnswer",
    "NoRecord",
    "NoRefusalOnRecord",
    "NoVerdict",
    "NotRead",
    "NotReady",
    "NothingToAppeal",
    "Obligation",
    "Outcome",
    "OverrideNotNamed",
    "Passage",
    "Probe",
    "ReconcileFirst",
    "Recorded",
    "Report",
    "Tombstone",
    "Undecodable",
    "Unproven",
    "Unread",
    "Unverifiable",
    "VerdictFacts",
    "VerdictNotReady",
    "VerdictView",
    "Withdrawn",
    "contest",
    "decide",
    "discharged",
    "exit_code_table",
    "read_enforcement",
    "verdict_source",
]
