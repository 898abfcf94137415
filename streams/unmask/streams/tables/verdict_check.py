"""Whether what stands on the verdict and admission topics can be believed, before anything is built on it."""

from dataclasses import dataclass
from typing import Any

from unmask.schemas.errors import DecodeError
from unmask.schemas.signing import Trust, admission_flaw, verdict_flaw
from unmask.schemas.wire import decode

__all__ = ["RecordCheck", "Unsound"]


class Unsound(Exception):
    """A record is not to be believed; `cause` is a code, the text half a sentence that never quotes it."""

    def __init__(self, cause: str, flaw: str) -> None:
        super().__init__(flaw)
        self.cause = cause


@dataclass(frozen=True, slots=True)
class RecordCheck:
    """Reads records of two topics, and refuses what cannot be believed. Without `trust` no signature is asked for."""

    verdicts: str = ""
    admissions: str = ""
    trust: Trust | None = None

    def verdict(self, session_id: str, value: bytes) -> dict[str, Any]:
        """The verdict under a session's key. Raises Unsound."""
        record = self.decoded(value)
        self.believe(session_id, record)
        return record

    def decoded(self, value: bytes) -> dict[str, Any]:
        """A verdict that is still to be believed. Raises Unsound."""
        return _decoded("verdict", value)

    def believe(self, session_id: str, record: dict[str, Any]) -> None:
        """Checks a decoded verdict under a session's key. Raises Unsound."""
        flaw = verdict_flaw(record, session_id=session_id, topic=self.verdicts, trust=self.trust)
        if flaw is not None:
            raise Unsound("unverifiable", flaw)

    def admission(self, session_id: str, value: bytes | None) -> dict[str, Any]:
        """The admission under a session's key. Raises Unsound."""
        record = _decoded("admission", value)
        flaw = admission_flaw(record, session_id=session_id, topic=self.admissions, trust=self.trust)
        if flaw is not None:
            raise Unsound("unverifiable", flaw)
        return record


def _decoded(name: str, value: bytes | None) -> dict[str, Any]:
    try:
        return decode(name, value)
    except DecodeError as error:
        raise Unsound("undecodable", str(error.reason)) from None
