"""Whether a verdict takes in what the sessions before it left open, as far as that is known by now.

A verdict inherits the open directive of its predecessor's verdict. Where there is none yet, because the predecessor
goes on or its verdict is on its way, the successor's own verdict says too little, however clean it is; and so does that
of whoever continues the successor.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from unmask.consumers.gate.decide import decide
from unmask.consumers.gate.discharge import Discharge
from unmask.consumers.gate.entry import Displaced, Entry, NoRecord, Recorded
from unmask.consumers.gate.verdict_facts import VerdictFacts
from unmask.schemas.codes import Directive, VerdictKind
from unmask.schemas.signing import Trust

__all__ = ["GENERATIONS", "Ancestors", "left_out"]

GENERATIONS = 8
"""How many sessions are looked at, one after another; the stream forgets sessions in time, so that few have more."""


class Ancestors(Protocol):
    """What is known of other sessions."""

    def snapshots(self, session_id: str) -> Sequence[Mapping[str, Any]]:
        """What the stream has seen of the session; nothing where it has forgotten it."""
        ...

    def entry(self, session_id: str) -> Entry:
        """What the verdict topic holds for it."""
        ...

    def discharge(self, session_id: str, digest: str) -> Discharge | None:
        """What was recorded of this very verdict, of use to a successor that changes things."""
        ...


def left_out(facts: VerdictFacts, known: Ancestors, *, topic: str = "", trust: Trust | None = None) -> str | None:
    """What of its predecessors the verdict does not know yet, as half a sentence; None where it knows it all.

    One that the stream has not seen, or has forgotten, is not asked about, nor what came before it.
    """
    met = {facts.session_id}
    for _ in range(GENERATIONS):
        before = facts.predecessor
        if before is None or before in met or not known.snapshots(before):
            return None
        met.add(before)
        entry = known.entry(before)
        if isinstance(entry, NoRecord):
            return f"session {before}, whose work it continues, has no verdict yet"
        found = _facts_of(entry, topic, trust)
        if found is None:
            return None
        if _binds(found) and before not in facts.inherited_from and known.discharge(before, found.digest) is None:
            return f"session {before}, whose work it continues, has left a directive open"
        facts = found
    return None


def _binds(facts: VerdictFacts) -> bool:
    return facts.kind is not VerdictKind.CLEAN_SUCCESS and facts.directive is not Directive.NONE


def _facts_of(entry: Entry, topic: str, trust: Trust | None) -> VerdictFacts | None:
    """What stands of a session, also where somebody wrote over it."""
    if isinstance(entry, Displaced) and entry.earlier is not None:
        entry = Recorded(entry.session_id, entry.session_id, entry.earlier)
    return decide(entry, topic=topic, trust=trust).verdict
