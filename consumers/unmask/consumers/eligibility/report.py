"""A report: every row decided, the policy that it was decided by, and what the worst of it is."""

from collections.abc import Sequence
from dataclasses import dataclass

from unmask.consumers.eligibility.answers import EXIT_CODES, Answer
from unmask.consumers.eligibility.decide import Decision, decide, worst
from unmask.consumers.eligibility.facts import ParityFact, Timeline
from unmask.consumers.eligibility.parity_check import needed_runs
from unmask.consumers.eligibility.policy import HOUR, WINDOW_SECONDS, Policy
from unmask.consumers.report.pipeline import PipelineState
from unmask.schemas.windowing import window_start

__all__ = ["DISCLAIMER", "EligibilityReport", "decide_all", "read_from"]

DISCLAIMER = "This report authorises nothing. It says what the record proves; whether to act on it, people decide."


@dataclass(frozen=True, slots=True)
class EligibilityReport:
    """All rows at one instant."""

    as_of: int
    policy: Policy
    suites: tuple[str, ...]
    """The suites that were needed by any row."""
    rows: tuple[Decision, ...]
    pipeline: PipelineState | None = None
    """What state the pipeline was in when it was asked; None where nobody looked."""

    @property
    def answer(self) -> Answer:
        """That of the worst row; without any row, INSUFFICIENT_EVIDENCE."""
        return worst([row.answer for row in self.rows])

    @property
    def exit_code(self) -> int:
        """Of a process that asked."""
        return EXIT_CODES[self.answer]


def read_from(policy: Policy, as_of: int) -> int:
    """From where windows must be read: twice the policy's days back, so that what came before a span is seen."""
    return max(0, window_start(as_of - 2 * policy.span, WINDOW_SECONDS) - HOUR)


def decide_all(
    rows: Sequence[Timeline],
    runs: Sequence[ParityFact],
    policy: Policy,
    as_of: int,
    pipeline: PipelineState | None = None,
) -> EligibilityReport:
    """Decide every row by the same policy, runs, instant and state of the pipeline."""
    unwell = None if pipeline is None or pipeline.well else f"{pipeline.stage}: {pipeline.words}"
    suites: set[str] = set(policy.suites)
    decisions: list[Decision] = []
    for row in rows:
        needed = () if row.scope is None else needed_runs(policy, runs, row.capability, row.scope)
        suites |= {need.suite for need in needed}
        decisions.append(decide(row, needed, runs, policy, as_of, unwell=unwell))
    return EligibilityReport(as_of, policy, tuple(sorted(suites)), tuple(decisions), pipeline)
