"""What it proves that something is on record of a session, or that nothing is. Words and states; pure."""

from collections.abc import Set
from typing import NamedTuple

from unmask.schemas.codes import Evidence, Family

__all__ = ["Proof", "proof_of", "session_words"]

_SESSION_WORDS = {
    Evidence.COMPLETE: "complete: everything that its hosts told of it is counted",
    Evidence.LOSSY: "lossy: events of it are missing, or may be",
    Evidence.PENDING: "pending: it goes on, or not all of its hosts have accounted for it yet",
    Evidence.ABSENT: "absent: nobody witnessed it",
}


class Proof(NamedTuple):
    """A state, and what it means."""

    evidence: Evidence
    words: str


def session_words(evidence: Evidence) -> str:
    """What the evidence of a session means."""
    return _SESSION_WORDS[evidence]


def proof_of(
    what: str,
    session: Evidence,
    *,
    on_record: int,
    kept: int | None,
    families: Set[Family],
    witnessed: Set[Family] | None,
    tellers: str = "hosts of its release line and composition",
) -> Proof:
    """The proof behind what is on record of one kind, `what` in the plural.

    `kept` is how many of them are kept, None for all; `witnessed` are families of which somebody of the session's
    scopes, the `tellers`, tells, None where that could not be found out.
    """
    if on_record:
        words = session_words(session)
        if kept is not None and kept < on_record:
            words += f"; of {on_record:,} {what} the newest {kept:,} are kept"
        return Proof(session, words)
    if witnessed is None:
        return Proof(
            Evidence.ABSENT,
            f"no {what} are on record, and whether anybody tells of {what} here could not be found out: that is no "
            "'none'",
        )
    if families & witnessed:
        told = f"no {what} are on record, and {tellers} told of {what} at that time"
        return Proof(session, f"{told}; {session_words(session)}")
    return Proof(Evidence.ABSENT, f"nobody tells of {what} here: that none are on record does not mean that none were")
