"""One selection of a session, and the one order that any set of them has."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from unmask.schemas.codes import SelectionTimeline

__all__ = ["Selection", "in_order"]

# Of what happened at the same instant of the same turn, that something was taken back comes last.
_RANKS: dict[str, int] = {SelectionTimeline.LIVE: 0, SelectionTimeline.PERSISTED: 1, SelectionTimeline.CLEARED: 2}


@dataclass(frozen=True, slots=True)
class Selection:
    """A profile was used, written down or taken back. Codes are their texts; instants are microseconds."""

    emitter_id: str
    occurred_at: int
    turn: int
    profile: str
    source: str
    scope: str
    timeline: str
    cleared_by: str | None
    reason_code: str | None
    emergency: bool
    expires_at: int | None

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        """From a record's dict. Raises KeyError where it lacks what every selection has."""
        return cls(
            emitter_id=str(said.get("emitter_id", "")),
            occurred_at=said["occurred_at"],
            turn=said["turn"],
            profile=said["profile"],
            source=str(said["source"]),
            scope=str(said["scope"]),
            timeline=str(said["timeline"]),
            cleared_by=_text(said.get("cleared_by")),
            reason_code=_text(said.get("reason_code")),
            emergency=bool(said["emergency"]),
            expires_at=said.get("expires_at"),
        )


def in_order(selections: Iterable[Mapping[str, Any]]) -> list[Selection]:
    """Each once, by its instant, then its turn; what is equal in both is told apart by all that it says.

    So the order is that of the set, whoever hands it over and how often. Instants of several hosts are compared as they
    stand: turns are numbered by hosts, and one that starts again may number them anew.
    """
    return sorted({Selection.of(said) for said in selections}, key=_place)


def _place(each: Selection) -> tuple[Any, ...]:
    return (
        each.occurred_at,
        each.turn,
        _RANKS.get(each.timeline, len(_RANKS)),
        each.profile,
        each.source,
        each.scope,
        each.timeline,
        each.cleared_by or "",
        each.reason_code or "",
        each.emergency,
        -1 if each.expires_at is None else each.expires_at,
        each.emitter_id,
    )


def _text(code: object) -> str | None:
    return None if code is None else str(code)
