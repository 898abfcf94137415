"""What is signed, and how a signature is checked: Ed25519 over a statement that binds a record to its place.

A verdict's statement names its topic, session, writer, sequence and digest, so that a record that was signed once is
worth nothing under another session's key, in another namespace, or after a newer one of its session. An admission's
statement covers the whole record and its topic. Nothing here imports a cryptographic library; keys are in signing_keys.
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol

from unmask.schemas.verdict_digest import canonical_digest, verify_digest

__all__ = [
    "ALGORITHM",
    "CONTRACT",
    "KeyUse",
    "Signer",
    "Trust",
    "admission_flaw",
    "admission_statement",
    "follows",
    "sign_admission",
    "sign_verdict",
    "verdict_flaw",
    "verdict_statement",
]

ALGORITHM = "ed25519"
CONTRACT = 1
"""The version of the verdict rules; of another one nobody here can tell what a verdict means."""

_SEQUENCES = 1 << 62


class KeyUse(StrEnum):
    """What a key may vouch for."""

    VERDICTS = "verdicts"
    """Verdicts, signed by stream workers."""
    ADMISSIONS = "admissions"
    """Outcomes, overrides and withdrawals, signed by gates and operators."""


class Signer(Protocol):
    """A private key."""

    @property
    def key_id(self) -> str:
        """The key's name, derived from its public half."""
        ...

    def sign(self, statement: bytes) -> bytes:
        """The signature over a statement."""
        ...


class Trust(Protocol):
    """The public keys that are believed, each for its uses."""

    def flaw(self, statement: bytes, signature: Mapping[str, Any] | None, use: KeyUse) -> str | None:
        """Why the signature proves nothing, as half a sentence; None where a trusted key made it for this use."""
        ...


def verdict_statement(verdict: Mapping[str, Any], topic: str) -> bytes:
    """What is signed of a verdict that stands on `topic`."""
    return _statement(
        "unmask.verdict",
        topic,
        verdict.get("session_id"),
        verdict.get("writer"),
        verdict.get("sequence"),
        verdict.get("digest"),
    )


def admission_statement(admission: Mapping[str, Any], topic: str) -> bytes:
    """What is signed of an admission that stands on `topic`. Raises EncodeError where it is none."""
    said = {name: value for name, value in admission.items() if name != "signature"}
    return _statement("unmask.admission", topic, canonical_digest(said))


def sign_verdict(verdict: Mapping[str, Any], topic: str, signer: Signer) -> dict[str, Any]:
    """The sealed verdict with a signature for `topic`; its writer and sequence must be set before."""
    return {**verdict, "signature": _signature(verdict_statement(verdict, topic), signer)}


def sign_admission(admission: Mapping[str, Any], topic: str, signer: Signer) -> dict[str, Any]:
    """The admission with a signature for `topic`. Raises EncodeError where it is none."""
    return {**admission, "signature": _signature(admission_statement(admission, topic), signer)}


def verdict_flaw(
    verdict: Mapping[str, Any], *, session_id: str, topic: str, trust: Trust | None, contract: int = CONTRACT
) -> str | None:
    """Why a decoded record is not a verdict of the session to believe, as half a sentence; None where it is.

    `session_id` is the key that it stands under. Without `trust` no signature is asked for.
    """
    found = verdict.get("contract")
    # True equals 1 in Python, and is no version.
    if type(found) is not int or found != contract:
        return f"its contract version is not {contract}; upgrade this reader if its writer is newer"
    if not verify_digest(verdict):
        return "its digest does not fit what it says"
    if verdict.get("session_id") != session_id:
        return "it is of another session than its key"
    sequence = verdict.get("sequence")
    if type(sequence) is not int or not 0 <= sequence < _SEQUENCES:
        return "its sequence is no number that a writer gives"
    if trust is None:
        return None
    return trust.flaw(verdict_statement(verdict, topic), verdict.get("signature"), KeyUse.VERDICTS)


def follows(sequence: int, earlier: int) -> bool:
    """Whether a verdict may come after an earlier one of its session; 0 is what nobody numbered."""
    return sequence > earlier or sequence == earlier == 0


def admission_flaw(admission: Mapping[str, Any], *, session_id: str, topic: str, trust: Trust | None) -> str | None:
    """Why a decoded admission counts for nothing, as half a sentence; None where it counts."""
    if admission.get("session_id") != session_id:
        return "it is of another session than its key"
    if trust is None:
        return None
    return trust.flaw(admission_statement(admission, topic), admission.get("signature"), KeyUse.ADMISSIONS)


def _signature(statement: bytes, signer: Signer) -> dict[str, Any]:
    return {"key_id": signer.key_id, "algorithm": ALGORITHM, "value": signer.sign(statement).hex()}


def _statement(*parts: Any) -> bytes:
    # JSON divides the parts beyond doubt, whatever is in them.
    return json.dumps(parts, separators=(",", ":")).encode("ascii")
