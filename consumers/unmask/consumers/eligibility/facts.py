"""The facts that eligibility is decided from: plain values, read from nowhere. Instants are microseconds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from unmask.schemas.codes import Evidence
from unmask.schemas.scope import Scope

__all__ = ["Hour", "ParityFact", "Sighting", "Timeline"]


class Hour(NamedTuple):
    """One hour of a combination, with what was counted of one capability."""

    state: Evidence | None = None
    """The worst of its families'; None where no record of the combination is published."""
    attempts: int = 0
    fallbacks: int = 0
    unattributed: int = 0
    """Fallbacks of the combination under no capability's name."""
    lost: bool = False
    """Whether anything is known to be missing, whatever the state."""
    readable: bool = True
    """False where a record of this hour, perhaps this combination's, cannot be read."""


class Sighting(NamedTuple):
    """An hour in which another combination counted the capability."""

    start: int
    scope: Scope


@dataclass(frozen=True, slots=True)
class Timeline:
    """What is known of a capability under one release line and composition."""

    capability: str
    scope: Scope | None
    """None where the capability was asked for and never counted."""
    hours: Mapping[int, Hour]
    """By start. An hour that is not in it is one of which nothing is published."""
    read_from: int
    """Nothing before this hour was looked at."""
    others: tuple[Sighting, ...] = ()
    """Oldest first."""


@dataclass(frozen=True, slots=True)
class ParityFact:
    """The newest run of a suite against a release line, in one composition or in any (None)."""

    suite: str
    release_line: str
    composition: str | None
    capabilities: tuple[str, ...] = ()
    """Empty: all."""
    run_at: int = 0
    tests: int = 0
    failures: int = 0
    errors: int = 0
    skipped: int = 0
    readable: bool = True

    def speaks_of(self, capability: str) -> bool:
        """Whether the run tells anything of the capability; one that cannot be read may tell of any."""
        return not self.readable or not self.capabilities or capability in self.capabilities
