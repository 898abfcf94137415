"""A report for people, as lines of text, and for programs, as JSON."""

import json
from collections.abc import Iterator
from typing import Any

from unmask.consumers.eligibility.answers import FINDING_ANSWERS, Answer
from unmask.consumers.eligibility.decide import Decision, duration
from unmask.consumers.eligibility.policy import DAY
from unmask.consumers.eligibility.report import DISCLAIMER, EligibilityReport
from unmask.consumers.eligibility.span import PARTS, Restart
from unmask.consumers.report.text import pipeline_values
from unmask.schemas.instants import iso
from unmask.schemas.scope import Scope

__all__ = ["to_json", "to_lines"]

_MARKS = {Answer.ELIGIBLE: "+", Answer.NOT_ELIGIBLE: "x", Answer.INSUFFICIENT_EVIDENCE: "?"}
_AGE = "parity_max_age"


def to_lines(report: EligibilityReport) -> Iterator[str]:
    """The report as lines: the policy first, then each row with all that speaks for (+) or against (x) it, or lacks
    (?)."""
    policy = report.policy
    yield f"Eligibility as of {iso(report.as_of // 1_000_000 * 1_000_000)}, by hourly windows, UTC"
    yield (
        f"Policy: {policy.days} d without a fallback and without a gap, {policy.attempts:,} attempts, parity runs no "
        f"older than {duration(policy.parity_max_age)}"
    )
    named = "named by the policy" if policy.suites else "all that are published"
    yield f"Parity suites: {', '.join(report.suites) or 'none that speaks of these rows'} ({named})"
    yield f"Set by: {policy.set_by or 'nobody was named'} (from {policy.source})"
    if weaker := policy.weaker_in():
        yield f"Weaker than the default in: {', '.join(weaker)}"
    if report.pipeline is not None:
        yield f"Pipeline {report.pipeline.stage}: {report.pipeline.words}"
    yield DISCLAIMER
    for row in report.rows:
        yield ""
        yield from _row(row, report.as_of)
    yield ""
    if not report.rows:
        yield f"Nothing that was asked for was counted in the last {policy.days} d. That is not a zero."
    counted = {answer: sum(row.answer is answer for row in report.rows) for answer in Answer}
    told = ", ".join(f"{count} {answer}" for answer, count in counted.items() if count)
    yield f"{told or 'No row'}. The report's answer: {report.answer} (exit code {report.exit_code})"


def to_json(report: EligibilityReport) -> str:
    """The report as one JSON document; what is not known is null."""
    policy = report.policy
    document = {
        "as_of": iso(report.as_of),
        "authorises": "nothing",
        "answer": str(report.answer),
        "exit_code": report.exit_code,
        "policy": {
            "days": policy.days,
            "attempts": policy.attempts,
            "parity_max_age_days": policy.parity_max_age / DAY,
            "suites": list(policy.suites),
            "set_by": policy.set_by,
            "source": policy.source,
            "weaker_than_default_in": list(policy.weaker_in()),
        },
        "suites": list(report.suites),
        "pipeline": None if report.pipeline is None else pipeline_values(report.pipeline),
        "rows": [_document(row) for row in report.rows],
    }
    return json.dumps(document, indent=2, allow_nan=False)


def _row(row: Decision, as_of: int) -> Iterator[str]:
    where = "never counted" if row.scope is None else f"{row.scope.release_line} / {row.scope.composition}"
    yield f"{row.capability}  {where}  {row.answer}"
    if row.span is not None:
        span = row.span
        if span.length:
            held = f"{duration(span.length)}, {span.attempts:,} attempts"
            yield f"    span      {iso(span.start)} to {iso(span.end)}, {held}"
        else:
            yield "    span      none"
        yield f"    clock     {_began(span.restart)}"
    for finding in row.findings:
        yield f"    {_MARKS[FINDING_ANSWERS[finding.code]]} {finding.code}: {finding.detail}"
    if row.answer is not Answer.ELIGIBLE:
        yield f"    earliest  {_earliest(row, as_of)}"


def _began(restart: Restart) -> str:
    if restart.hour is None:
        return "runs since before all that was read"
    after = f"restarted by the hour of {iso(restart.hour)} ({', '.join(restart.faults)})"
    if restart.previous is None:
        return after
    changes = ", ".join(f"{PARTS[name]} {_part(restart.previous, name)}" for name in restart.changed)
    return f"{after}; before it: {changes}"


def _earliest(row: Decision, as_of: int) -> str:
    if row.earliest is None:
        return "not known: nothing is witnessed"
    return "now, once what it lacks is there" if row.earliest <= as_of else iso(row.earliest)


def _part(scope: Scope, name: str) -> str:
    return str(getattr(scope, name))


def _document(row: Decision) -> dict[str, Any]:
    span = row.span
    return {
        "capability": row.capability,
        "release_line": None if row.scope is None else row.scope.release_line,
        "composition": None if row.scope is None else row.scope.composition,
        "scope": None if row.scope is None else row.scope._asdict(),
        "answer": str(row.answer),
        "reasons": [
            {"code": str(code), "leads_to": str(FINDING_ANSWERS[code]), "detail": detail}
            for code, detail in row.findings
        ],
        "span": None
        if span is None or not span.length
        else {
            "start": iso(span.start),
            "end": iso(span.end),
            "hours": span.length // (DAY // 24),
            "attempts": span.attempts,
        },
        "restarted_by": None if span is None else _restart(span.restart),
        "earliest": None if row.earliest is None else iso(row.earliest),
    }


def _restart(restart: Restart) -> dict[str, Any] | None:
    if restart.hour is None:
        return None
    return {
        "hour": iso(restart.hour),
        "faults": [str(fault) for fault in restart.faults],
        "changed": {
            name: {"from": _part(restart.previous, name)} for name in restart.changed
        } if restart.previous is not None else {},
    }  # fmt: skip
