"""What one run of one system gave."""

from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.compare.workload import Counts

__all__ = ["Outcome", "RunFailed", "difference"]


class RunFailed(Exception):
    """A system did not do what it was started for; the message says how far it came. Its log is named beside it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Figures of one run."""

    system: str
    events: int
    exact: bool
    """Whether every count is the reference's. The figures of a run that is not exact count for nothing."""
    wrong: str
    """What is not, in words."""
    seconds: float
    """From the first event to the moment after which no counted event can be lost any more."""
    cpu_s: float
    """User and system time of all its processes, from the first event to its published result."""
    startup_s: float
    startup_cpu_s: float
    peak_mb: float
    """Of its largest process."""
    machine_cpu_s: float = 0.0
    """What all processes of the machine used in `seconds`, the broker's among them; 0 where it was not measured."""
    idle_cpu: float = 0.0
    """CPU seconds a second after it, where nothing happens."""

    def record(self) -> dict[str, Any]:
        """As JSON, with the figures that follow."""
        per_million = {
            "events_per_s": round(self.events / self.seconds) if self.seconds else 0,
            "cpu_s_per_million": round(self.cpu_s / self.events * 1e6, 4),
        }
        rounded = {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(self).items()}
        return rounded | per_million


def difference(found: Counts, wanted: Counts) -> str:
    """In words, what is wrong; empty where nothing is."""
    if found == wanted:
        return ""
    missing = sum(wanted[key] for key in wanted.keys() - found.keys())
    return (
        f"{sum(found.values()):,} events counted of {sum(wanted.values()):,}; of {len(wanted):,} counts "
        f"{sum(found.get(key) == count for key, count in wanted.items()):,} are right, "
        f"{len(found.keys() - wanted.keys()):,} are of nothing that was sent, {missing:,} events have none"
    )
