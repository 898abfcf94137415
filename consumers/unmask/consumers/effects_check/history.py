"""The history as it stands on the two topics: what was asked, and what was decided. Instants are microseconds."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

__all__ = ["Asked", "Decided", "History", "Key", "Partition"]


class Key(NamedTuple):
    """What names an effect."""

    tenant: str
    failure: str
    strategy: str
    strategy_version: str
    budget_key: str

    @classmethod
    def of(cls, body: dict[str, Any]) -> Self:
        """The key in a request or decision."""
        return cls(*(body[name] for name in cls._fields))

    @property
    def budget(self) -> tuple[str, str]:
        """What it is charged to."""
        return self.tenant, self.budget_key

    def __str__(self) -> str:
        return "|".join(self)


@dataclass(frozen=True, slots=True)
class Asked:
    """One record of the requests."""

    offset: int
    appended_at: int
    """By the broker."""
    body: dict[str, Any] | None
    """None where nobody can decide about it."""


@dataclass(frozen=True, slots=True)
class Decided:
    """One record of the decisions."""

    place: int
    """Its own offset."""
    body: dict[str, Any]
    written_at: int = 0
    """By its writer's clock."""


@dataclass(slots=True)
class Partition:
    """One partition of both topics, each in the order of its log."""

    number: int
    asked: list[Asked] = field(default_factory=list)
    decided: list[Decided] = field(default_factory=list)
    whole: bool = True
    """Whether both go back to the first request. Otherwise what is known of a key begins with what is told of it."""
    unreadable: int = 0
    """Decisions that cannot be decoded."""


@dataclass(slots=True)
class History:
    """All partitions."""

    partitions: dict[int, Partition] = field(default_factory=dict)
    now: int = 0
    """The broker's time up to which it was read."""
