"""A condition that a session's recoveries or delegations are in, or were: what its alert is made from."""

from dataclasses import dataclass, field

from unmask.schemas.codes import AlertKind

__all__ = ["Condition"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One kind, of a session as a whole or of one of its delegations. Instants are microseconds."""

    kind: AlertKind
    since: int
    until: int | None
    """None while it holds."""
    held: bool
    """Whether it holds or ever held; of what never did it is only said that it is over, where it was said to fire."""
    causes: list[str] = field(default_factory=list)
    facts: dict[str, int] = field(default_factory=dict)
    delegation_id: str | None = None
    emitter_id: str | None = None
