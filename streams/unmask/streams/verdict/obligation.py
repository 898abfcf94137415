"""Obligations: what a predecessor left to be done first."""

from dataclasses import dataclass

from unmask.schemas.codes import Directive

__all__ = ["Obligation", "rank_of", "stricter"]

_RANK = {
    Directive.NONE: 0,
    Directive.RE_FETCH_FROM_PRIMARY: 1,
    Directive.PROBE_UPSTREAM_BEFORE_ACTION: 2,
    Directive.HALT_AND_ALERT_DEVELOPER: 3,
}


@dataclass(frozen=True, slots=True)
class Obligation:
    """A session whose directive nobody has carried out yet."""

    session_id: str
    directive: Directive
    inherited_from: tuple[str, ...] = ()
    """What that session had itself inherited."""
    inherited_cut: int = 0
    """How many more that were."""


def rank_of(directive: Directive) -> int:
    """How much a directive asks for; the higher, the more."""
    return _RANK[directive]


def stricter(first: Directive, second: Directive) -> Directive:
    """The directive that asks for more."""
    return first if _RANK[first] >= _RANK[second] else second
