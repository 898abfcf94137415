"""The part of a verdict that stands beside kind and directive: recoveries, the user's profile, delegations."""

import json
from collections.abc import Mapping
from typing import Any

from unmask.consumers.verify.expected import Fields
from unmask.consumers.verify.work import WorkFacts
from unmask.schemas.codes import Finding
from unmask.schemas.recovery import overlay

__all__ = ["BESIDE", "LESS_WHERE_LOSSY", "beside", "beside_fields"]

LESS_WHERE_LOSSY = frozenset(("recoveries", "recovery_findings", "user_profile"))
"""Fields that say less where something may be missing."""
BESIDE = (*sorted(LESS_WHERE_LOSSY), "delegations", "delegation_findings")
"""The fields, as texts."""

_OF_RECOVERIES = (
    Finding.PREFERENCE_DRIFT.value, Finding.EMERGENCY_AS_DEFAULT.value, Finding.WATCHDOG_DEPENDENT.value,
    Finding.CLEANUP_UNSEEN.value,
)  # fmt: skip
_OF_DELEGATIONS = (
    Finding.STALLED_DELEGATION.value, Finding.BUDGET_EXCEEDED.value, Finding.DUPLICATE_EFFECT.value,
    Finding.INADEQUATE_SIGNAL.value, Finding.IDENTITY_CONFLICT.value, Finding.ENFORCEMENT_BLOCKED.value,
)  # fmt: skip
_RECOVERIES = 64


def beside(
    work: WorkFacts | None, ended_at: int, *, certain: bool, complete: bool, blocked_turns: int
) -> tuple[Fields, list[str]]:
    """The fields that the log decides, and why it does not decide the others, which are left out.

    `certain` says that no selection of the session is missing, `complete` that its evidence is.
    """
    work = work or WorkFacts()
    fields: Fields = {}
    if (too_many := work.too_many_choices) is None:
        fields |= _chosen(work, ended_at, certain=certain, complete=complete)
    if (too_much := work.too_much_work) is None:
        found = {name: known.findings(blocked_turns) for name, known in sorted(work.delegations.items())}
        fields["delegations"] = _delegations(found)
        fields["delegation_findings"] = _among(_OF_DELEGATIONS, {f for findings in found.values() for f in findings})
    return fields, [why for why in (too_many, too_much) if why is not None]


def _chosen(work: WorkFacts, ended_at: int, *, certain: bool, complete: bool) -> Fields:
    newest = max((selection["occurred_at"] for selection in work.selections), default=ended_at)
    lives = overlay(
        work.selections, as_of=ended_at, over=True, unknown_through=None if certain else max(ended_at, newest)
    )
    return {
        "recoveries": _recoveries([recovery.as_record() for recovery in lives.recoveries[-_RECOVERIES:]]),
        "recovery_findings": _among(_OF_RECOVERIES, {finding.value for finding in lives.findings}),
        # A later choice may be among what is missing.
        "user_profile": lives.user_profile if complete else None,
    }


def beside_fields(record: Mapping[str, Any]) -> Fields:
    """The same fields of a published verdict."""
    findings = set(record["findings"])
    return {
        "recoveries": _recoveries(record["recoveries"]),
        "recovery_findings": _among(_OF_RECOVERIES, findings),
        "user_profile": record["user_profile"],
        "delegations": _delegations({said["delegation_id"]: said["findings"] for said in record["delegations"]}),
        "delegation_findings": _among(_OF_DELEGATIONS, findings),
    }


def _recoveries(records: list[dict[str, Any]]) -> str:
    return json.dumps(records, sort_keys=True) if records else ""


def _among(kind: tuple[str, ...], found: set[str]) -> str:
    return " ".join(finding for finding in kind if finding in found)


def _delegations(found: Mapping[str, list[str]]) -> str:
    return "; ".join(f"{name}: {' '.join(findings)}" for name, findings in found.items() if findings)
