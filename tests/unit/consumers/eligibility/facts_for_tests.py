"""Timelines for tests: a healthy one by default, changed where a test wants it otherwise."""

from collections.abc import Mapping

from unmask.consumers.eligibility import DAY, HOUR, Decision, Hour, ParityFact, Policy, Sighting, Timeline, decide
from unmask.consumers.eligibility.parity_check import Needed, needed_runs
from unmask.schemas.codes import Evidence
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS

__all__ = ["AS_OF", "CURRENT", "GREEN", "LINE", "NEEDED", "OPEN", "POLICY", "SOUND", "ago", "answer", "timeline"]

CURRENT = 20_000 * DAY
"""Start of the hour that goes on."""
AS_OF = CURRENT + 1_800 * MICROS
LINE = Scope("2026.1", "unmask.v1", "kafka", "metadata_only", "default")
SOUND = Hour(Evidence.COMPLETE, attempts=20)
OPEN = Hour(Evidence.PENDING, attempts=3)
POLICY = Policy()
GREEN = ParityFact("golden", LINE.release_line, None, run_at=AS_OF - DAY, tests=5)
NEEDED = (Needed("golden", None),)


def ago(hours: int) -> int:
    """Start of the hour so many before the one that goes on."""
    return CURRENT - hours * HOUR


def timeline(
    changes: Mapping[int, Hour | None] | None = None, *, hours: int = 30 * 24, others: tuple[Sighting, ...] = ()
) -> Timeline:
    """So many healthy hours and the one that goes on; `changes` by hours ago, None for no record."""
    known = {ago(back): SOUND for back in range(1, hours + 1)} | {CURRENT: OPEN}
    for back, hour in (changes or {}).items():
        known.pop(ago(back), None)
        if hour is not None:
            known[ago(back)] = hour
    return Timeline("search", LINE, known, ago(56 * 24), others)


def answer(
    of: Timeline, *runs: ParityFact, policy: Policy = POLICY, needed: tuple[Needed, ...] | None = None
) -> Decision:
    """The decision at AS_OF; without `needed`, by what the runs themselves call for."""
    wanted = needed_runs(policy, runs, of.capability, LINE) if needed is None else needed
    return decide(of, wanted, runs, policy, AS_OF)
