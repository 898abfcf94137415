"""What is on show at one moment, whichever way it is shown."""

from dataclasses import dataclass, field

from demo.board import Board
from demo.plan import Plan

__all__ = ["Scene"]


@dataclass(slots=True)
class Scene:
    """The run so far: where in the plan it is, who lives, what Unmask has published."""

    plan: Plan
    board: Board
    start: float
    """Seconds since the epoch."""
    elapsed: float = 0.0
    hosts: int = 0
    events: list[str] = field(default_factory=list)
    """What the demo itself did, oldest first."""

    @property
    def upstream(self) -> str:
        """What the upstream does now."""
        if self.elapsed < 0:
            return f"answers; it starts in {-self.elapsed:.0f} s"
        return str(self.plan.behaviour_at(self.elapsed))
