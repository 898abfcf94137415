"""Parity evidence: which runs a capability needs, and what each of them says."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from unmask.consumers.eligibility.answers import FindingCode
from unmask.consumers.eligibility.facts import ParityFact
from unmask.consumers.eligibility.policy import Policy
from unmask.schemas.instants import iso
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS

__all__ = ["Finding", "Needed", "judge_parity", "needed_runs"]

_SKEW = 5 * 60 * MICROS


class Finding(NamedTuple):
    """One ground of an answer, and its particulars in words."""

    code: FindingCode
    detail: str


class Needed(NamedTuple):
    """A run that must be green: of a suite, in the combination's own composition or in any (None)."""

    suite: str
    composition: str | None


def needed_runs(policy: Policy, runs: Iterable[ParityFact], capability: str, scope: Scope) -> tuple[Needed, ...]:
    """The runs that must be green.

    Of each suite that the policy names, or else of each that speaks of the capability; and in each of the ways in
    which it has been published for the release line: for its compositions, for any composition, or for both.
    """
    known = tuple(runs)
    suites = policy.suites or tuple(sorted({run.suite for run in known if run.speaks_of(capability)}))
    needed: list[Needed] = []
    for suite in suites:
        here = [run for run in known if run.suite == suite and run.release_line == scope.release_line]
        ways = {None if run.composition is None else scope.composition for run in here} or {None}
        needed += [Needed(suite, way) for way in sorted(ways, key=lambda way: way or "")]
    return tuple(needed)


def judge_parity(
    needed: Sequence[Needed], runs: Sequence[ParityFact], capability: str, scope: Scope, policy: Policy, as_of: int
) -> list[Finding]:
    """What each needed run says; at least one finding."""
    if not needed:
        return [Finding(FindingCode.PARITY_MISSING, "no parity suite is published that speaks of the capability")]
    by_key = {(run.suite, run.release_line, run.composition): run for run in runs}
    found: list[Finding] = []
    for suite, composition in needed:
        run = by_key.get((suite, scope.release_line, composition))
        if run is None:
            found.append(_missing(suite, composition, [run for run in runs if run.suite == suite], scope))
        else:
            found.append(_judged(run, capability, policy, as_of))
    return found


def _missing(suite: str, composition: str | None, others: Sequence[ParityFact], scope: Scope) -> Finding:
    where = scope.release_line if composition is None else f"{scope.release_line} / {composition}"
    if not others:
        return Finding(FindingCode.PARITY_MISSING, f"suite {suite}: no run is published")
    places = sorted({f"{run.release_line} / {run.composition or 'any'}" for run in others})
    more = "" if len(places) <= 3 else f" and {len(places) - 3} more"
    return Finding(
        FindingCode.PARITY_ELSEWHERE, f"suite {suite}: no run for {where}, only for {', '.join(places[:3])}{more}"
    )


def _judged(run: ParityFact, capability: str, policy: Policy, as_of: int) -> Finding:
    if not run.readable:
        return Finding(FindingCode.PARITY_UNREADABLE, f"suite {run.suite}: its record cannot be read")
    if not run.speaks_of(capability):
        others = ", ".join(run.capabilities[:3])
        return Finding(FindingCode.PARITY_ELSEWHERE, f"suite {run.suite}: its run speaks only of {others}")
    counts = f"{run.tests} tests, {run.failures} failed, {run.errors} in error, {run.skipped} skipped"
    said = f"suite {run.suite}: run of {iso(run.run_at)}, {counts}"
    if run.failures > 0 or run.errors > 0:
        return Finding(FindingCode.PARITY_RED, said)
    if run.run_at > as_of + _SKEW:
        return Finding(FindingCode.PARITY_AHEAD, said)
    if as_of - run.run_at > policy.parity_max_age:
        return Finding(FindingCode.PARITY_STALE, said)
    if run.tests <= run.skipped:
        return Finding(FindingCode.PARITY_EMPTY, said)
    return Finding(FindingCode.PARITY_GREEN, said)
