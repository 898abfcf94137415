"""Identity: whether a batch is of the emitter that it names, and what follows where it is not.

A batch's number and its emitter's id say which batch it is; that it is one and the same must be proven. Two lives may
claim one id (a copied configuration, a restored machine), and a number may come again with other content. None of it
is ever merged: what was read first stands, the other batch is not counted, and the stretch that it tells of proves
nothing.

A redelivery has the same bytes, since hosts keep batches as bytes until they are acknowledged. Of the last RECENT
batches of an emitter a digest is kept; of older ones nobody can tell any more, and they count as duplicates.
"""

from collections.abc import Iterator
from typing import Any

from unmask.schemas.scope import Scope
from unmask.streams.ledger.flaws import flag_identity
from unmask.streams.ledger.rules import SKEW_US, FoldRules
from unmask.streams.ledger.session_work import SessionWork
from unmask.streams.ledger.state import RECENT, Beyond, Emitter, PartitionState

__all__ = ["forget_skipped", "has_other_content", "is_another_life", "refuse"]

_NAMING = (
    "masked_errors", "kernel_fallbacks", "session_openings", "session_teardowns", "route_selections",
    "delegation_progress", "delegation_effects",
)  # fmt: skip


def is_another_life(emitter: Emitter, said: dict[str, Any]) -> bool:
    """Whether what a batch says of its emitter is not what was said before; else it is remembered."""
    if Scope(**said["scope"]) != emitter.scope:
        return True
    started, claimed = said["started_at"], None if emitter.beyond is None else emitter.beyond.claimed_start
    if started != (emitter.started_at if claimed is None else claimed):
        # Older workers kept no digests, and of a host with a wrong clock not what it said, but the broker's time.
        certain = claimed is not None or any(digest is not None for digest in emitter.recent)
        if certain or started < emitter.started_at:
            return True
        emitter.beyond = emitter.beyond or Beyond()
        emitter.beyond.claimed_start, emitter.beyond.changed = started, True
    emitter.said = said
    return False


def has_other_content(emitter: Emitter, seq: int, digest: int | None) -> bool:
    """Whether the batch of a number that was read before had other bytes; not known of those that are too old."""
    if digest is None or seq <= emitter.last_seq - RECENT:
        return False
    known = emitter.recent[seq % RECENT]
    return known is not None and known != digest


def forget_skipped(emitter: Emitter, after: int, seq: int) -> None:
    """Batches were passed over: of their numbers nothing is known, though others had their places."""
    for number in range(max(after + 1, seq - RECENT), seq):
        emitter.recent[number % RECENT] = None


def refuse(
    state: PartitionState, rules: FoldRules, emitter_id: str, emitter: Emitter, batch: dict[str, Any], arrival: int
) -> None:
    """The batch is not this emitter's, or is not the one that was read: flags what it tells of, and counts nothing.

    That is the stretch from the emitter's last cut, or from the first event of the batch if that was earlier, to its
    arrival, for all families and of both scopes. It does not heal. The sessions that are open on the emitter, and
    those that the batch names, have a conflict of identity.
    """
    instants = [int(instant) for instant in _instants(batch)]
    first = min((emitter.last_cut, *instants))
    last = max(arrival, emitter.last_cut, min(max(instants, default=0), arrival + SKEW_US))
    flag_identity(state, rules, emitter_id, emitter, Scope(**batch["emitter"]["scope"]), first, last)
    named = {event["session_id"] for name in _NAMING for event in batch.get(name, ())}
    for session_id in (*emitter.open_sessions, *sorted(named & state.sessions.keys())):
        session = state.sessions[session_id]
        session.work = session.work or SessionWork()
        if session.work.dispute(emitter_id):
            state.touched.sessions.add(session_id)


def _instants(batch: dict[str, Any]) -> Iterator[int]:
    for group in batch["route_attempts"]:
        yield from group["occurred_at"]
    for name in _NAMING:
        for event in batch.get(name, ()):
            yield event["occurred_at"]
