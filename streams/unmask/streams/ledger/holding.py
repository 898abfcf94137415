"""Holding back: what a transaction brings for windows that readers may take to be complete.

Snapshots of one transaction are read one by one. Where they change a window that is closed already, because a host
was cut off, came late or was not known, a mark goes ahead of them that opens it again; the next mark after them closes
it. So no reader ever sees a part of them called complete.
"""

from itertools import chain

from unmask.schemas.scope import Scope
from unmask.schemas.windowing import LIFETIME, MICROS
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.state import Marked, PartitionState, Touched

__all__ = ["held_back"]


def held_back(state: PartitionState, touched: Touched, rules: FoldRules) -> dict[Scope, Marked]:
    """What the mark that goes ahead must say of every scope; empty where none must go ahead."""
    if state.marked_offset < 0:
        # Nothing of this partition was ever closed.
        return {}
    since: dict[Scope, int] = {}
    closed = state.marked_through - rules.grace_us
    for start, seconds, scope, *_ in chain(state.unpublished, (cell for cell, _ in touched.corrections)):
        if seconds != LIFETIME and start + seconds * MICROS <= closed:
            since[scope] = min(start, since.get(scope, start))
    for name in touched.emitters:
        emitter = state.emitters.get(name)
        if emitter is None or emitter.closed or emitter.unaccounted is not None:
            continue
        marked = state.marked.get(emitter.scope)
        if marked is None or emitter.last_cut < marked[0]:
            since[emitter.scope] = min(emitter.last_cut, since.get(emitter.scope, emitter.last_cut))
    lower = {scope: at for scope, at in since.items() if scope not in state.marked or at < state.marked[scope][0]}
    if not lower:
        return {}
    scopes = dict(state.marked)
    for scope, at in lower.items():
        scopes[scope] = (at, scopes.get(scope, (at, 0))[1])
    return scopes
