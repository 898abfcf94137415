"""What the log says of a session: its events, whoever sent them and in whichever order."""

from dataclasses import dataclass, field
from typing import Any

from unmask.consumers.verify.work import WorkFacts
from unmask.schemas.codes import Equivalence
from unmask.schemas.signatures import is_unreachable

__all__ = ["SessionFacts"]


@dataclass(slots=True)
class SessionFacts:
    """Everything about one session that decides its verdict. Instants are microseconds."""

    session_id: str
    opened: int | None = None
    last_event: int = 0
    emitters: set[str] = field(default_factory=set)
    """Whoever named it."""
    last_opened: int = 0
    predecessors: set[str] = field(default_factory=set)
    operations: dict[str, bool | None] = field(default_factory=dict)
    """Degraded operations: True where every masked error of it was bit-for-bit equivalent, None where none was seen."""
    anonymous: int = 0
    """Fallbacks that name no operation; each is one of its own."""
    fallbacks: int = 0
    masked: int = 0
    unreachable: int = 0
    told: dict[str, set[str]] = field(default_factory=dict)
    """Families of which not every emitter tells, of which each emitter told in it."""
    work: WorkFacts | None = None
    """What was chosen and delegated in it."""
    teardowns: list[dict[str, Any]] = field(default_factory=list)
    """Distinct ones, each with the emitter that sent it."""
    ended_arrival: int | None = None
    """Broker's time at which it had ended."""
    out_of_order: bool = False
    """Whether a batch that named it came after later ones of its emitter."""
    disputed: bool = False
    """Whether somebody told of it under an identity that is somebody else's."""
    after_the_end: bool = False
    """Whether something came so long after its end that a verdict need no longer heed it."""

    @property
    def degraded(self) -> int:
        """Operations, not hops, that went through a fallback."""
        return len(self.operations) + self.anonymous

    @property
    def unproven(self) -> int:
        """Degraded operations that nobody proved to be bit-for-bit equivalent."""
        return self.anonymous + sum(proven is not True for proven in self.operations.values())

    def touch(self, emitter_id: str, at: int, arrival: int, memory: int) -> None:
        """An emitter named the session in an event."""
        self.emitters.add(emitter_id)
        self.last_event = max(self.last_event, at)
        if self.ended_arrival is not None and arrival > self.ended_arrival + memory:
            self.after_the_end = True

    def open(self, opening: dict[str, Any]) -> None:
        """It began, or was taken up on another emitter."""
        at = opening["occurred_at"]
        self.opened = at if self.opened is None else min(self.opened, at)
        self.last_opened = max(self.last_opened, at)
        if opening["predecessor_session_id"] is not None:
            self.predecessors.add(opening["predecessor_session_id"])

    def mask(self, masked: dict[str, Any]) -> None:
        """An upstream's failure was masked."""
        operation = masked["operation_id"]
        equal = masked["equivalence"] == Equivalence.BIT_FOR_BIT.value
        self.operations[operation] = equal and self.operations.get(operation) is not False
        self.masked += 1
        self.unreachable += is_unreachable(masked["masked_upstream_signature"])

    def fall_back(self, operation: str | None) -> None:
        """The legacy route answered."""
        self.fallbacks += 1
        if operation is None:
            self.anonymous += 1
        else:
            self.operations.setdefault(operation, None)

    def working(self) -> WorkFacts:
        """Somebody told of a choice or a delegation."""
        if self.work is None:
            self.work = WorkFacts()
        return self.work

    def tear_down(self, emitter_id: str, teardown: dict[str, Any], arrival: int) -> None:
        """Its host says that it ended."""
        said = {**teardown, "emitter_id": emitter_id}
        if said not in self.teardowns:
            self.teardowns.append(said)
        self.ended_arrival = max(arrival, self.ended_arrival or 0)
