"""Obligations of all sessions: which directives are open, from verdicts and from what gates recorded of them."""

from dataclasses import dataclass
from typing import Any

from unmask.schemas.codes import AdmissionStep, Directive, VerdictKind
from unmask.schemas.signing import follows
from unmask.streams.verdict import Obligation

__all__ = ["ObligationBook", "Predecessor"]

_CLEAN = VerdictKind.CLEAN_SUCCESS.value
_WITHDRAWING = AdmissionStep.WITHDRAWN.value
_RECONCILED = AdmissionStep.RECONCILED.value
_OVERRIDDEN = AdmissionStep.OVERRIDDEN.value
_LONGEST_CIRCLE = 64


@dataclass(frozen=True, slots=True)
class Predecessor:
    """What is known of a session that others may succeed."""

    digest: str
    sequence: int
    obligation: Obligation | None
    """None for a verdict that leaves nothing to be done."""
    predecessor: str | None = None


class ObligationBook:
    """Verdicts and discharges by session. Not thread-safe; its owner guards it."""

    def __init__(self) -> None:
        self._verdicts: dict[str, Predecessor] = {}
        self._removed: set[str] = set()
        """Sessions whose verdict was removed from the topic, rightly or not."""
        self._discharges: dict[str, dict[str, int]] = {}
        self._withdrawn: dict[str, int] = {}

    def apply_verdict(self, session_id: str, record: dict[str, Any] | None) -> None:
        """Takes a decoded verdict in; None for one that was removed from the topic.

        What was replayed after a newer one changes nothing, also where that was removed in between.
        """
        if record is None:
            self._removed.add(session_id)
            return
        known = self._verdicts.get(session_id)
        if known is not None and not follows(record["sequence"], known.sequence):
            return
        self._removed.discard(session_id)
        directive = Directive(record["directive"])
        bound = record["verdict"] != _CLEAN and directive is not Directive.NONE
        inherited = tuple(record["inherited_from"])
        obligation = Obligation(session_id, directive, inherited, record["inherited_cut"]) if bound else None
        self._verdicts[session_id] = Predecessor(
            record["digest"], record["sequence"], obligation, record["predecessor_session_id"]
        )

    def apply_admission(self, record: dict[str, Any]) -> bool:
        """Takes a decoded admission in; whether it discharges a directive or withdraws a verdict.

        It discharges the verdict that it names, not one that came later. An override that lets a successor only read
        leaves the directive open for whoever comes next. A withdrawal holds for all that the session was until then.
        """
        if record["step"] == _WITHDRAWING:
            session_id, at = record["session_id"], record["occurred_at"]
            self._withdrawn[session_id] = max(at, self._withdrawn.get(session_id, at))
            return True
        discharges = record["step"] == _RECONCILED or (record["step"] == _OVERRIDDEN and record["mutating"])
        if not discharges or record["verdict_digest"] is None:
            return False
        self._discharges.setdefault(record["session_id"], {}).setdefault(
            record["verdict_digest"], record["occurred_at"]
        )
        return True

    def verdict_of(self, session_id: str) -> Predecessor | None:
        """What is known of a session's verdict; None where there is none, or it was withdrawn.

        A verdict that is gone without anybody's word that he withdrew it counts: its worker publishes it again.
        """
        if session_id in self._removed and session_id in self._withdrawn:
            return None
        return self._verdicts.get(session_id)

    def open_obligation(self, session_id: str) -> Obligation | None:
        """What the session left to be done and nobody has done yet."""
        known = self.verdict_of(session_id)
        if known is None or known.obligation is None:
            return None
        return None if self.discharged_at(session_id, known.digest) is not None else known.obligation

    def cuts_circle(self, session_id: str, predecessor: str) -> bool:
        """Whether sessions continue one another in a circle, and this one is where it is cut: it inherits nothing.

        Else each would inherit its own directive, be another verdict for it that nobody discharged, and so for ever.
        """
        circle = [session_id]
        following: str | None = predecessor
        while following is not None and following != session_id and len(circle) < _LONGEST_CIRCLE:
            circle.append(following)
            known = self._verdicts.get(following)
            following = None if known is None else known.predecessor
        return following == session_id and session_id == min(circle)

    def discharged_at(self, session_id: str, digest: str) -> int | None:
        """When the directive of this very verdict was carried out or overridden; None where it was not."""
        return self._discharges.get(session_id, {}).get(digest)

    def withdrawn_at(self, session_id: str) -> int | None:
        """When an operator withdrew the session's verdict; None where nobody did."""
        return self._withdrawn.get(session_id)
