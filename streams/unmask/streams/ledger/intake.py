"""Intake: from the bytes of one Kafka record to a checked batch, or the reason why it cannot be one.

Everything that is decoded is checked against the contract here, so that the fold may trust it. No text of a refused
record goes anywhere.
"""

from collections.abc import Iterable, Sequence
from typing import Any
from zlib import crc32

from unmask.schemas.bounds import LAST_INSTANT, MOST
from unmask.schemas.codes import Family, QuarantineReason
from unmask.schemas.errors import DecodeError
from unmask.schemas.framing import Framing, SingleObjectFraming
from unmask.schemas.signatures import is_signature
from unmask.schemas.tokens import all_tokens, is_token
from unmask.streams.ledger.quick_read import QuickReader
from unmask.streams.ledger.singles import Single, SingleReader

__all__ = ["Batch", "Intake"]

Batch = dict[str, Any]
"""A decoded event_batch; instants are microseconds. Its `digest` tells its bytes from others. One that was read quickly
has a `summary`: see QuickReader.read."""

_RECORDS = ("event_batch",)
_LONGEST_HEARTBEAT_MS = 86_400_000
_REMEMBERED = 10_000
_FALLBACK_IDS = ("entry_point", "run_id", "tenant_id", "conversation_id", "session_id", "operation_id")
_UNKNOWN_FAMILY = Family.UNKNOWN_FAMILY.value
_SHAPES = ("primary_shape", "fallback_shape")
_DELEGATION_IDS = ("delegation_id", "session_id", "invocation_id")
_PROGRESS_IDS = (*_DELEGATION_IDS, "signal", "state_digest", "conditions", "subject", "declared_scope")
_EFFECT_IDS = (*_DELEGATION_IDS, "answer", "effect_key", "fingerprint", "receipt", "by", "reason_code")
_BUDGETS = ("budget_calls", "budget_tokens", "budget_attempts")


class Intake:
    """Decodes and checks records. Remembers labels that it has seen to be tokens, since few recur often."""

    def __init__(self, framing: Framing | None = None) -> None:
        framing = framing or SingleObjectFraming()
        self._decode = framing.decode_any
        self._quick = QuickReader() if isinstance(framing, SingleObjectFraming) else None
        self._singles = None if self._quick is None else SingleReader(self._quick)
        self._known: set[str] = set()

    def read_singles(self, keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> Sequence[Single | None]:
        """Those of some records that hold a single attempt, checked; None for all others, which `read` must read."""
        return [None] * len(keys) if self._singles is None else self._singles.read(keys, values)

    def read(self, key: bytes | None, value: bytes | None) -> Batch:
        """The batch in a record.

        Raises DecodeError with the reason for the quarantine, and RegistryUnavailable, which says nothing about the
        record.
        """
        quick = self._quick
        if quick is not None and key and value:
            usual = quick.read(key, value)
            if usual is not None:
                if usual["summary"][2] is None:
                    self._check_sessions(usual)
                return usual
        _, batch = self._decode(_RECORDS, value)
        self._check(key, batch)
        if quick is not None and key and value:
            quick.remember(key, value, batch)
        batch["digest"] = crc32(value or b"")
        return batch

    def _check(self, key: bytes | None, batch: Batch) -> None:
        emitter = batch["emitter"]
        emitter_id = emitter["emitter_id"]
        if not key or key != emitter_id.encode():
            raise DecodeError(QuarantineReason.EMPTY_KEY, "the key is not the batch's emitter_id")
        self._label(emitter_id)
        for part in emitter["scope"].values():
            self._label(part)
        _content(1 <= batch["batch_seq"] <= MOST, "batch_seq is out of range")
        _content(1 <= emitter["heartbeat_ms"] <= _LONGEST_HEARTBEAT_MS, "heartbeat_ms is out of range")
        _instants((batch["sent_at"], emitter["started_at"]))
        self._check_accounts(batch["accounts"])
        for group in batch["route_attempts"]:
            self._check_attempts(group)
        self._check_sessions(batch)

    def _check_sessions(self, batch: Batch) -> None:
        for fallback in batch["kernel_fallbacks"]:
            self._check_fallback(fallback)
        for masked in batch["masked_errors"]:
            self._check_masked(masked)
        for opening in batch["session_openings"]:
            _instants((opening["occurred_at"],))
            self._identifiers((opening["session_id"], opening["predecessor_session_id"]))
        for teardown in batch["session_teardowns"]:
            _instants((teardown["occurred_at"],))
            self._identifiers((teardown["session_id"],))
            _counts((teardown["operations"], teardown["degraded_operations"]))
            _counts(claim["count"] for claim in teardown["claims"])
        for selection in batch["route_selections"]:
            self._check_selection(selection)
        for progress in batch["delegation_progress"]:
            self._check_progress(progress)
        for effect in batch["delegation_effects"]:
            _instants((effect["occurred_at"],))
            self._identifiers(effect[name] for name in _EFFECT_IDS)
            _counts((effect["turn"], effect["fencing_token"] or 0))

    def _check_selection(self, selection: dict[str, Any]) -> None:
        _instants((selection["occurred_at"], selection["expires_at"] or 0))
        self._identifiers((selection["session_id"], selection["profile"]))
        _counts((selection["turn"],))

    def _check_progress(self, progress: dict[str, Any]) -> None:
        _instants((progress["occurred_at"],))
        self._identifiers(progress[name] for name in _PROGRESS_IDS)
        _content(progress["step"] >= 1 and progress["attempt"] >= 1, "a step or an attempt is below 1")
        _counts((progress["step"], progress["attempt"], progress["turn"], progress["tokens"]))
        _counts(progress[name] or 0 for name in _BUDGETS)
        _content(-MOST <= (progress["measure"] or 0) <= MOST, "a measure is out of range")

    @staticmethod
    def _check_accounts(accounts: list[dict[str, Any]]) -> None:
        families = set()
        for account in accounts:
            family = account["family"]
            # Families that this reader does not know all have one name.
            _content(family not in families or family == _UNKNOWN_FAMILY, "a family has two accounts")
            families.add(family)
            dropped = [entry["count"] for entry in account["dropped"]]
            _counts((account["recorded"], *dropped))
            _content(account["recorded"] >= sum(dropped), "more events dropped than recorded")

    def _check_attempts(self, group: dict[str, Any]) -> None:
        self._label(group["capability"])
        self._label(group["entry_point"])
        times, runs = group["occurred_at"], group["run_id"]
        _content(not runs or len(runs) == len(times), "run_id is neither empty nor as long as occurred_at")
        if times:
            _instants((min(times), max(times)))
        if runs and not all_tokens(filter(None, runs)):
            raise DecodeError(QuarantineReason.INVALID_TOKEN, "a run_id is not a token")

    def _check_fallback(self, fallback: dict[str, Any]) -> None:
        _instants((fallback["occurred_at"],))
        _content(fallback["event_type"] == "kernel_fallback.v1", "an event_type is unknown")
        _content(fallback["route_expected"] == "kernel" and fallback["runtime_route"] == "legacy", "unknown routes")
        self._label(fallback["capability"])
        self._identifiers(fallback[name] for name in _FALLBACK_IDS)

    def _check_masked(self, masked: dict[str, Any]) -> None:
        _instants((masked["occurred_at"],))
        self._label(masked["upstream"])
        self._identifiers((masked["session_id"], masked["operation_id"], masked["fallback_execution_receipt"]))
        self._identifiers(masked[name] for name in _SHAPES)
        _content(is_signature(masked["masked_upstream_signature"]), "a signature is not of the grammar")

    def _label(self, text: str) -> None:
        known = self._known
        if text in known:
            return
        if not is_token(text):
            raise DecodeError(QuarantineReason.INVALID_TOKEN, "a label is not a token")
        if len(known) >= _REMEMBERED:
            known.clear()
        known.add(text)

    @staticmethod
    def _identifiers(texts: Any) -> None:
        for text in texts:
            if text is not None and not is_token(text):
                raise DecodeError(QuarantineReason.INVALID_TOKEN, "an identifier is not a token")


def _instants(instants: tuple[int, ...]) -> None:
    for instant in instants:
        if not 0 <= instant <= LAST_INSTANT:
            raise DecodeError(QuarantineReason.INVALID_CONTENT, "an instant is out of range")


def _counts(counts: Iterable[int]) -> None:
    for count in counts:
        if not 0 <= count <= MOST:
            raise DecodeError(QuarantineReason.INVALID_CONTENT, "a count is out of range")


def _content(holds: bool, rule: str) -> None:
    if not holds:
        raise DecodeError(QuarantineReason.INVALID_CONTENT, rule)
