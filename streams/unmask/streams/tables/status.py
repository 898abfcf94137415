"""What the tables tell of themselves."""

from dataclasses import dataclass, field

__all__ = ["TablesStatus"]


@dataclass(frozen=True, slots=True)
class TablesStatus:
    """A snapshot of the tables' condition."""

    ready: bool
    reason: str
    """Why they are not ready; empty when they are."""
    partitions: tuple[int, ...] = ()
    windows: int = 0
    cells: int = 0
    sessions: int = 0
    firing: int = 0
    withheld: int = 0
    undecodable: dict[str, int] = field(default_factory=dict)
    published: dict[str, int] = field(default_factory=dict)
    applied: dict[str, int] = field(default_factory=dict)
    error: BaseException | None = None
