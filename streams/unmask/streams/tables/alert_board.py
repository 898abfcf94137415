"""The alerts of one table partition: what stands, what fires, and what must be said anew."""

from collections.abc import Container, Iterable
from typing import Any

from unmask.streams.tables.alerts import FIRING, RESOLVED, resolved
from unmask.streams.tables.standing import content_digest

__all__ = ["AlertBoard"]

_DAY = 24 * 3600 * 1_000_000


class AlertBoard:
    """Decides which alert records go out. A condition that never fired is never reported as resolved."""

    def __init__(self) -> None:
        self._stood: dict[str, dict[str, Any]] = {}
        self._firing: set[str] = set()

    def note(self, identity: str, record: dict[str, Any] | None) -> None:
        """A record was read from the topic or has been sent; None is a tombstone."""
        if record is None:
            self._stood.pop(identity, None)
            self._firing.discard(identity)
            return
        self._stood[identity] = record
        if record["state"] == FIRING:
            self._firing.add(identity)
        else:
            self._firing.discard(identity)

    def offer(self, record: dict[str, Any], revision: int) -> dict[str, Any] | None:
        """The record to publish for a condition as it is now, or None where what stands says the same."""
        identity = record["alert_id"]
        stood = self._stood.get(identity)
        if stood is None:
            if record["state"] == RESOLVED:
                return None
        elif stood["revision"] > revision or (stood["state"] == RESOLVED and record["state"] == RESOLVED):
            return None
        elif stood["state"] == FIRING:
            # What still fires cannot have begun later than was once known.
            record = {**record, "since": min(stood["since"], record["since"])}
            if content_digest(record, "revision") == content_digest(stood, "revision"):
                return None
        published = {**record, "revision": revision}
        self.note(identity, published)
        return published

    def offer_past(self, record: dict[str, Any], revision: int) -> list[dict[str, Any]]:
        """The records to publish for a condition that held and is over.

        Where it was over before anybody could say that it fires, both is said now, one after the other.
        """
        fired = []
        if record["alert_id"] not in self._stood:
            fired = [self.offer({**record, "state": FIRING, "until": None}, revision)]
        return [said for said in (*fired, self.offer(record, revision)) if said is not None]

    def settle(
        self, kind: str, still: Iterable[str], *, until: int, revision: int, prefix: str = ""
    ) -> list[dict[str, Any]]:
        """Resolves whatever of a kind fires and is not among `still`; for kinds that are always known completely.

        Only identities that begin with `prefix` are looked at.
        """
        holding = set(still)
        over = [
            stood
            for identity, stood in self.firing()
            if stood["kind"] == kind and identity not in holding and identity.startswith(prefix)
        ]
        return [r for r in (self.offer(resolved(stood, until), revision) for stood in over) if r is not None]

    def firing(self) -> list[tuple[str, dict[str, Any]]]:
        """Identity and record of everything that fires."""
        return [(identity, self._stood[identity]) for identity in sorted(self._firing)]

    def get(self, identity: str) -> dict[str, Any] | None:
        """What stands of a condition."""
        return self._stood.get(identity)

    def prune(self, now: int, sessions: Container[str] = ()) -> None:
        """Forgets what was resolved more than a day ago, but of `sessions`, which still tell of what is over."""
        for identity, stood in list(self._stood.items()):
            over = stood["state"] == RESOLVED and (stood["until"] or 0) < now - _DAY
            if over and (stood["session_id"] is None or stood["session_id"] not in sessions):
                del self._stood[identity]

    def __len__(self) -> int:
        return len(self._firing)
