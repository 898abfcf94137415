"""Scope: what must stay the same for two counts to be comparable.

A release line and a composition of four tokens. The composition's digest is part of every count's key.
"""

import hashlib
from functools import lru_cache
from typing import NamedTuple

__all__ = ["Scope", "composition_digest"]


class Scope(NamedTuple):
    """Release line and composition of an emitter. A plain tuple, since the ledger hashes it for every batch."""

    release_line: str
    event_contract: str
    telemetry_backend: str
    redaction_policy: str
    switchboard: str

    @property
    def composition(self) -> str:
        """The composition's digest, 16 hex digits."""
        return composition_digest(self.event_contract, self.telemetry_backend, self.redaction_policy, self.switchboard)


@lru_cache(maxsize=4096)
def composition_digest(event_contract: str, telemetry_backend: str, redaction_policy: str, switchboard: str) -> str:
    """SHA-256 over the four tokens, first 16 hex digits."""
    joined = "\n".join((event_contract, telemetry_backend, redaction_policy, switchboard))
    return hashlib.sha256(joined.encode()).hexdigest()[:16]
