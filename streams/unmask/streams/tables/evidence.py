"""Evidence: how much a window's counts prove, per family.

PENDING while somebody may still send for the window; else LOSSY where something of it is missing, or may be; else
ABSENT where nobody witnessed it; else COMPLETE.

Every emitter can tell of the first four families. Of one that was added since, an emitter proves something only if it
says that it can tell of it; where nobody did, the family has no entry, which reads as ABSENT.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from unmask.schemas.codes import Evidence, Family, FlawCause
from unmask.schemas.scope import Scope

__all__ = ["FAMILIES", "Flaw", "Loss", "family_evidence", "flaw_of"]

FAMILIES = tuple(family.value for family in Family if family is not Family.UNKNOWN_FAMILY)
_ADDED = frozenset((Family.ROUTE_SELECTION.value, Family.DELEGATION_PROGRESS.value, Family.DELEGATION_EFFECT.value))
_NOBODY: Mapping[str, int] = {}
_PENDING, _LOSSY = Evidence.PENDING.value, Evidence.LOSSY.value
_ABSENT, _COMPLETE = Evidence.ABSENT.value, Evidence.COMPLETE.value
_QUARANTINED = FlawCause.QUARANTINED.value


class Loss(NamedTuple):
    """Events of one family that are missing.

    A batch that was given up after later ones had told of it is missing in one stretch and made up for in another:
    there `missing` is negative, and `dropped` says what became of it.
    """

    missing: int
    dropped: tuple[tuple[str, int], ...]

    @property
    def any(self) -> bool:
        """Whether anything is missing at all."""
        return self.missing != 0 or any(count > 0 for _, count in self.dropped)


class Flaw(NamedTuple):
    """A stretch that proves nothing for one window."""

    offset: int
    scope: Scope | None
    """None: every scope."""
    cause: str
    losses: dict[str, Loss]
    """By family. Empty: every family, by an unknown number."""
    unreadable: int
    """Records that could not be read."""

    def spoils(self, family: str) -> bool:
        """Whether the family's count is not proven because of it."""
        if not self.losses:
            return True
        loss = self.losses.get(family)
        return loss is not None and loss.any


def flaw_of(record: dict[str, Any]) -> Flaw:
    """The flaw in a decoded evidence_flaw."""
    scope = record["scope"]
    losses = {
        loss["family"]: Loss(loss["missing"], tuple((entry["cause"], entry["count"]) for entry in loss["dropped"]))
        for loss in record["losses"]
    }
    unreadable = max(0, record["to_seq"] - record["from_seq"]) if record["cause"] == _QUARANTINED else 0
    return Flaw(record["offset"], None if scope is None else Scope(**scope), record["cause"], losses, unreadable)


def family_evidence(
    *, pending: bool, flaws: Iterable[Flaw], witnesses: int, told_by: Mapping[str, int] = _NOBODY
) -> list[dict[str, Any]]:
    """Evidence of every family that has an entry, in the order of FAMILIES, as it stands in a window record.

    `flaws` are those that hold for the window and scope, `witnesses` the emitters that were open in it, and `told_by`
    those of them that can tell of a family that was added. What is known to be missing is told in every state.
    """
    known = tuple(flaws)
    entries = []
    for family in FAMILIES:
        if family not in _ADDED:
            entries.append(_one(family, pending, known, witnesses))
        elif told_by.get(family) or any(family in flaw.losses and flaw.spoils(family) for flaw in known):
            entries.append(_one(family, pending, known, told_by.get(family, 0)))
    return entries


def _one(family: str, pending: bool, flaws: tuple[Flaw, ...], witnesses: int) -> dict[str, Any]:
    spoiling = [flaw for flaw in flaws if flaw.spoils(family)]
    if pending:
        state = _PENDING
    elif spoiling:
        state = _LOSSY
    else:
        state = _COMPLETE if witnesses else _ABSENT
    losses = [flaw.losses[family] for flaw in spoiling if family in flaw.losses]
    dropped: Counter[str] = Counter()
    for loss in losses:
        dropped.update(dict(loss.dropped))
    return {
        "family": family,
        "state": state,
        "causes": sorted({flaw.cause for flaw in spoiling}),
        "missing": sum(loss.missing for loss in losses),
        "dropped": [{"cause": cause, "count": count} for cause, count in sorted(dropped.items()) if count > 0],
    }
