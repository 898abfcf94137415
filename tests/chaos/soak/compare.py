"""The comparison: what stands, and everything that ever stood, against the truth."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tests.chaos.soak.checks import Checks
from tests.chaos.soak.lives import NOTHING
from tests.chaos.soak.sampler import FAMILIES, Claim, family_count
from tests.chaos.soak.truth import ExpectedVerdict, Truth

from unmask.schemas.codes import Evidence, Family, Finding
from unmask.schemas.instants import iso
from unmask.schemas.windowing import LIFETIME, MICROS

__all__ = ["Heard", "check_claims", "check_verdicts", "check_windows"]

_LATEST_US = 20 * MICROS
"""How long after the ledger has read the first record of a late emitter what was true before it may still be published:
15 s may pass until a worker that died has been replaced."""
_CODES = {
    Family.ROUTE_ATTEMPT: "attempts_by_entry_point",
    Family.KERNEL_FALLBACK: "fallbacks_by_reason",
    Family.MASKED_ERROR: "masked_errors_by_class",
    Family.SESSION_TEARDOWN: "teardowns_by_outcome",
}

Label = tuple[Family, str, str]


class Heard(NamedTuple):
    """When an emitter was heard of, in microseconds."""

    arrived: int
    """The broker's time of its first record."""
    known: int
    """When the ledger had read it."""


class _Window(NamedTuple):
    size: int
    start: int

    def __str__(self) -> str:
        return f"{self.size} s window {iso(self.start)[11:19]}" if self.size else "whole run"


def check_windows(checks: Checks, truth: Truth, standing: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Every count and all evidence of what stands. Returns how many windows (all release lines) prove how much."""
    published: dict[tuple[int, int], dict[tuple[str | None, str | None], Mapping[str, Any]]] = {}
    for record in standing:
        line = None if record["scope"] is None else record["scope"]["release_line"]
        window = record["window_seconds"], record["window_start"]
        published.setdefault(window, {})[line, record["capability"]] = record
    states: Counter[str] = Counter()
    known = {(size, start) for size, start, _ in {*truth.counts, *truth.witnessed}} | truth.spoiled.keys()
    for size in truth.sizes:
        starts = [start for of, start in known if of == size]
        known |= {(size, s) for s in range(min(starts), max(starts), size * MICROS)} if size else set()
    for window in sorted(known | published.keys()):
        about = _Window(*window)
        records = published.get(window, {})
        whole: Counter[Label] = Counter()
        flawed: set[str] = set()
        witnessed = False
        for line in sorted({*truth.lines, *(line for line, _ in records if line is not None)}):
            place = (*window, line)
            counts, flaws = truth.counts.get(place, Counter()), truth.flawed.get(place, set())
            whole.update(counts)
            flawed |= flaws
            seen = place in truth.witnessed
            witnessed |= seen
            if counts or flaws or seen or any(of == line for of, _ in records):
                _check_scope(checks, truth, about, line, records, counts, flaws, seen)
        total = records.get((None, None))
        checks.holds("windows", total is not None, f"{about}: no record of the window as a whole")
        if total is not None:
            _check_record(checks, f"{about}", total, whole, None)
            state = _check_evidence(checks, truth, about, None, total, flawed, witnessed)
            states[f"{window[0]} s: {state}"] += 1
    return states


def _check_scope(
    checks: Checks, truth: Truth, about: _Window, line: str, records: Mapping[Any, Mapping[str, Any]],
    counts: Counter[Label], flawed: set[str], witnessed: bool,
) -> None:  # fmt: skip
    capabilities = {capability for _, capability, _ in counts if capability != NOTHING}
    for capability in (None, *sorted(capabilities)):
        record = records.get((line, capability))
        named = f"{about} {line} {capability or ''}"
        needed = bool(counts or flawed or witnessed)
        checks.holds("windows", record is not None or not needed, f"{named}: no record")
        if record is not None:
            _check_record(checks, named, record, counts, capability)
            _check_evidence(checks, truth, about, line, record, flawed, witnessed)
            if capability is None:
                duplicates = truth.duplicates[about.size, about.start, line]
                checks.equal("windows", f"{named}: duplicates", duplicates, record["duplicates"])


def _check_record(
    checks: Checks, named: str, record: Mapping[str, Any], counts: Counter[Label], capability: str | None
) -> None:
    for family, field in _CODES.items():
        if capability is not None and family not in (Family.ROUTE_ATTEMPT, Family.KERNEL_FALLBACK):
            continue
        expected: Counter[str] = Counter()
        for (of, label, code), n in counts.items():
            if of is family and capability in (None, label):
                expected[code] += n
        for code in sorted(expected.keys() | record[field].keys()):
            checks.equal("windows", f"{named}: {family} {code}", expected[code], record[field].get(code, 0))
        checks.equal("windows", f"{named}: {family}", expected.total(), family_count(dict(record), family))


def _check_evidence(
    checks: Checks, truth: Truth, about: _Window, line: str | None, record: Mapping[str, Any], flawed: set[str],
    witnessed: bool,
) -> str:  # fmt: skip
    if about.size == LIFETIME:
        states = {entry["state"] for entry in record["evidence"]}
        checks.equal("evidence", f"{about} {line or ''}", {Evidence.PENDING.value}, states)
        return Evidence.PENDING.value
    spoiled = truth.spoiled.get(about, 0)
    worst = Evidence.COMPLETE
    for entry in record["evidence"]:
        if entry["family"] not in FAMILIES:
            continue
        touched = bool(spoiled) or entry["family"] in flawed
        expected = Evidence.LOSSY if touched else Evidence.COMPLETE if witnessed else Evidence.ABSENT
        checks.equal("evidence", f"{about} {line or ''} {entry['family']}", expected.value, entry["state"])
        worst = expected if expected is not Evidence.COMPLETE and worst is not Evidence.LOSSY else worst
        lines = truth.lines if line is None else [line]
        lost = any(entry["family"] in truth.lost_in.get((*about, of), ()) for of in lines)
        checks.holds(
            "evidence", not lost or entry["state"] == Evidence.LOSSY,
            f"{about} {line or ''} {entry['family']}: an event is lost, and it says {entry['state']}",
        )  # fmt: skip
    if line is None:
        checks.equal("evidence", f"{about}: unreadable records", spoiled, record["quarantined"])
    return worst.value


def check_claims(checks: Checks, truth: Truth, claims: Iterable[Claim], heard: Mapping[str, Heard], grace: int) -> int:
    """No claim of COMPLETE was ever short of an event, or had one too many. Returns how many had less and were excused.

    Excused, with all of its events, is an emitter of which the log had nothing when the window closed (grace after its
    end, in microseconds), in claims of before it was known.
    """
    excused = 0
    for claim in claims:
        lines = truth.lines if claim.release_line is None else [claim.release_line]
        if claim.capability is not None and claim.family not in (Family.ROUTE_ATTEMPT, Family.KERNEL_FALLBACK):
            continue
        closed = claim.start + claim.seconds * MICROS + grace
        # Whoever may be left out is left out whole: a count that has a part of an emitter's events knows of it.
        allowed = {0}
        for line in lines:
            cell = (claim.seconds, claim.start, line, claim.capability, claim.family)
            for emitter, n in truth.recorded.get(cell, Counter()).items():
                first = heard[emitter]
                unknown = first.arrived > closed and claim.published < first.known + _LATEST_US
                allowed = {known + n for known in allowed} | (allowed if unknown else set())
        excused += claim.events < max(allowed)
        about = _Window(claim.seconds, claim.start)
        checks.holds(
            "claims", claim.events in allowed,
            f"{about} {claim.release_line or 'all'} {claim.capability or ''} {claim.family}: COMPLETE with "
            f"{claim.events} at {iso(claim.published)[11:23]}, and {sorted(allowed)} could be",
        )  # fmt: skip
    return excused


def check_verdicts(
    checks: Checks, expected: Mapping[str, ExpectedVerdict], published: Mapping[str, Mapping[str, Any]]
) -> None:
    """Every session's verdict, and that there is no other."""
    for name in sorted(expected.keys() ^ published.keys()):
        there = "must not be judged" if name in published else "has no verdict"
        checks.holds("verdicts", False, f"{name} {there}")
    for name in expected.keys() & published.keys():
        must, record = expected[name], published[name]
        for what, value, found in (
            ("verdict", must.verdict.value, record["verdict"]),
            ("directive", must.directive.value, record["directive"]),
            ("evidence", must.evidence.value, record["evidence"]),
            ("operations", must.operations, record["operations"]),
            ("degraded operations", must.degraded, record["degraded_operations"]),
            ("abandoned", must.abandoned, Finding.ABANDONED.value in record["findings"]),
            ("contradictions", [], list(record["contradictions"])),
        ):
            checks.equal("verdicts", f"{name}: {what}", value, found)
