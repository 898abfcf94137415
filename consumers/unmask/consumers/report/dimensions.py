"""What a report is divided by, and which windows and counts of them it is about."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from unmask.schemas.scope import Scope

__all__ = ["DEFAULT_BY", "NO_LABELS", "Dimension", "DimensionError", "Labels", "Selection", "dimensions_of"]


class DimensionError(ValueError):
    """The windows do not carry what was asked for; the text says what does."""


class Dimension(StrEnum):
    """One label that lines may be divided by."""

    RELEASE_LINE = "release_line"
    COMPOSITION = "composition"
    CAPABILITY = "capability"
    REASON = "reason"
    """Of fallbacks alone."""
    ENTRY_POINT = "entry_point"
    """Of attempts; of fallbacks only where tenants are told apart too."""
    TENANT = "tenant"
    """Of fallbacks alone, from unmask.fallbacks."""


DEFAULT_BY = (Dimension.RELEASE_LINE, Dimension.COMPOSITION, Dimension.CAPABILITY)
_GROUPS: dict[str, tuple[Dimension, ...]] = {
    # Lines are divided by time in any case: `window` asks for nothing more than that.
    "window": (),
    "scope": (Dimension.RELEASE_LINE, Dimension.COMPOSITION),
}


class Labels(NamedTuple):
    """What a line is about; None stands for all."""

    release_line: str | None = None
    composition: str | None = None
    capability: str | None = None
    reason: str | None = None
    entry_point: str | None = None
    tenant: str | None = None

    def order(self) -> tuple[str, ...]:
        """Sorts labels; all of them come before each of them."""
        return tuple(part or "" for part in self)


NO_LABELS = Labels()


def dimensions_of(names: Iterable[str]) -> frozenset[Dimension]:
    """The dimensions behind names, which may be divided by commas, and written with `-` or spaces.

    Raises DimensionError.
    """
    found: set[Dimension] = set()
    for name in (part for text in names for part in text.split(",")):
        plain = name.strip().lower().replace("-", "_").replace(" ", "_")
        if plain in _GROUPS:
            found.update(_GROUPS[plain])
        elif plain in set(Dimension):
            found.add(Dimension(plain))
        else:
            known = ", ".join([*_GROUPS, *Dimension])
            raise DimensionError(f"{name.strip()!r} is nothing that windows are divided by; there are {known}")
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Selection:
    """What of each window is wanted, and how it is divided. None means any; `by` is a name or several.

    What is not divided by is added up. Counts of two compositions are not comparable: where they are added up there is
    no rate. A composition may be named by the first digits of its digest.
    """

    by: str | tuple[str, ...] = DEFAULT_BY
    release_line: str | None = None
    composition: str | None = None
    capability: str | None = None
    tenant: str | None = None

    @property
    def dimensions(self) -> frozenset[Dimension]:
        """What lines are divided by. Raises DimensionError."""
        found = dimensions_of((self.by,) if isinstance(self.by, str) else self.by)
        if self.tenant is not None:
            found |= {Dimension.TENANT}
        if {Dimension.REASON, Dimension.ENTRY_POINT} <= found and Dimension.TENANT not in found:
            raise DimensionError(
                "windows have the reasons of fallbacks and the entry points of attempts, not one by the other; "
                "ask for one of them, or add the tenant, whose lines have both"
            )
        return found

    @property
    def by_tenant(self) -> bool:
        """Whether tenants are told apart."""
        return Dimension.TENANT in self.dimensions

    @property
    def any_scope(self) -> bool:
        """Whether no scope is left out."""
        return self.release_line is None and self.composition is None

    def wants(self, scope: Scope) -> bool:
        """Whether a scope is one of those wanted."""
        wanted_line = self.release_line in (None, scope.release_line)
        return wanted_line and (self.composition is None or scope.composition.startswith(self.composition))

    @property
    def labels(self) -> Labels:
        """What a line carries that stands for all that is wanted."""
        return Labels(self.release_line, self.composition, self.capability, tenant=self.tenant)
