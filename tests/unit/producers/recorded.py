"""A host without a broker, for tests that look at what sessions record: one emitter, and the events of each session."""

from collections.abc import Callable
from itertools import count
from typing import Any

from unmask.producers import Emitter, EmitterSettings, Session
from unmask.producers.store import MemoryStore, StoredBatch
from unmask.schemas.codec import decode

__all__ = ["RecordingHost", "fails"]


class RecordingHost:
    """Batches are cut when they are asked for, and kept as they would go out."""

    def __init__(self) -> None:
        self.stored: list[StoredBatch] = []
        self._decoded: list[dict[str, Any]] = []
        self._numbers = count(1)
        self.emitter = Emitter(
            EmitterSettings(bootstrap_servers="127.0.0.1:1", flush_interval_ms=3_600_000), stores=self._store
        )

    def _store(self, _owner: object) -> MemoryStore:
        stored = self.stored

        class Keeping(MemoryStore):
            def put(self, batch: StoredBatch) -> None:
                stored.append(batch)
                super().put(batch)

        return Keeping()

    def session(self, **options: Any) -> Session:
        """A session that no other test has."""
        return self.emitter.session(f"s-{next(self._numbers)}", **options)

    def events(self, field: str, session: Session | str | None = None) -> list[dict[str, Any]]:
        """The events of one field recorded until now; of one session where it is given."""
        self.emitter._life.cut()
        wanted = session.session_id if isinstance(session, Session) else session
        self._decoded += [decode("event_batch", batch.data) for batch in self.stored[len(self._decoded) :]]
        return [event for batch in self._decoded for event in batch[field] if wanted in (None, event.get("session_id"))]

    def masked(self, session: Session) -> list[dict[str, Any]]:
        """Masked errors of a session."""
        return self.events("masked_errors", session)

    def signatures(self, session: Session) -> list[str]:
        """Their signatures."""
        return [masked["masked_upstream_signature"] for masked in self.masked(session)]

    def fallbacks(self, session: Session) -> list[dict[str, Any]]:
        """Fallbacks of a session."""
        return self.events("kernel_fallbacks", session)

    def teardown(self, session: Session) -> dict[str, Any]:
        """The one teardown of a session, its claims by family."""
        (teardown,) = self.events("session_teardowns", session)
        return {**teardown, "claims": {claim["family"]: claim["count"] for claim in teardown["claims"]}}

    def attempts(self, capability: str) -> int:
        """Attempts of a capability."""
        groups = self.events("route_attempts")
        return sum(len(group["occurred_at"]) for group in groups if group["capability"] == capability)


def fails(error: BaseException) -> Callable[..., Any]:
    """A function that raises `error`, whatever it is given."""

    def call(*_: object, **__: object) -> Any:
        raise error

    return call
