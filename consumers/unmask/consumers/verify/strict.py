"""From the bytes of one record of the log to a batch that keeps every rule of the contract, or the reason why not.

Written apart from the stream's own intake, against the contract: where the two disagree about what is readable, their
counts do too, and the comparison shows it.
"""

from collections.abc import Iterable
from typing import Any

from unmask.schemas.codes import Family, QuarantineReason
from unmask.schemas.errors import DecodeError
from unmask.schemas.framing import Framing
from unmask.schemas.signatures import is_signature
from unmask.schemas.tokens import all_tokens, is_token

__all__ = ["ALWAYS_TOLD", "FAMILIES", "SOME_TELL", "Batch", "StrictReader"]

Batch = dict[str, Any]
"""A decoded event_batch; instants are microseconds."""
FAMILIES = tuple(family.value for family in Family if family is not Family.UNKNOWN_FAMILY)
"""The families whose events are counted."""
ALWAYS_TOLD = FAMILIES[:4]
"""Those of which every emitter tells."""
SOME_TELL = FAMILIES[4:]
"""Those of which only an emitter tells that says so."""

_YEAR_2200 = 7_258_118_400_000_000
_MOST = 10**15
_DAY_MS = 86_400_000
_OPTIONAL_IDS = ("entry_point", "run_id", "tenant_id", "conversation_id", "session_id", "operation_id")
_LATER_IDS = {
    "route_selections": ("session_id", "profile"),
    "delegation_progress": (
        "delegation_id", "session_id", "invocation_id", "signal", "state_digest", "conditions", "subject",
        "declared_scope",
    ),
    "delegation_effects": (
        "delegation_id", "session_id", "invocation_id", "answer", "effect_key", "fingerprint", "receipt", "by",
        "reason_code",
    ),
}  # fmt: skip
_BUDGETS = ("budget_calls", "budget_tokens", "budget_attempts")
_MEMORY = 50_000


class StrictReader:
    """Reads records one after the other; remembers which texts are tokens, since most come again and again."""

    def __init__(self, framing: Framing) -> None:
        self._framing = framing
        self._tokens: set[str] = set()

    def read(self, key: bytes | None, value: bytes | None) -> Batch:
        """The batch in a record. Raises DecodeError, and RegistryUnavailable, which says nothing of the record."""
        _, batch = self._framing.decode_any(("event_batch",), value)
        emitter = batch["emitter"]
        if not key or key != emitter["emitter_id"].encode():
            raise DecodeError(QuarantineReason.EMPTY_KEY, "the record's key is not its batch's emitter_id")
        self._require_tokens(self._texts(batch))
        # Run ids seldom come twice, so that each group of them is checked in one pass; an empty text means no run.
        if not all(all_tokens([run for run in group["run_id"] if run]) for group in batch["route_attempts"]):
            raise DecodeError(QuarantineReason.INVALID_TOKEN, "a text in the batch is not a token")
        wrong = _broken_rule(batch)
        if wrong is not None:
            raise DecodeError(QuarantineReason.INVALID_CONTENT, wrong)
        return batch

    @staticmethod
    def _texts(batch: Batch) -> Iterable[str | None]:
        yield batch["emitter"]["emitter_id"]
        yield from batch["emitter"]["scope"].values()
        for group in batch["route_attempts"]:
            yield group["capability"]
            yield group["entry_point"]
        for fallback in batch["kernel_fallbacks"]:
            yield fallback["capability"]
            yield from (fallback[name] for name in _OPTIONAL_IDS)
        for masked in batch["masked_errors"]:
            for name in ("upstream", "session_id", "operation_id", "fallback_execution_receipt"):
                yield masked[name]
            yield masked["primary_shape"]
            yield masked["fallback_shape"]
        for opening in batch["session_openings"]:
            yield opening["session_id"]
            yield opening["predecessor_session_id"]
        for teardown in batch["session_teardowns"]:
            yield teardown["session_id"]
        for part, names in _LATER_IDS.items():
            for event in batch[part]:
                yield from (event[name] for name in names)

    def _require_tokens(self, texts: Iterable[str | None]) -> None:
        known = self._tokens
        for text in texts:
            if text is None or text in known:
                continue
            if not is_token(text):
                raise DecodeError(QuarantineReason.INVALID_TOKEN, "a text in the batch is not a token")
            if len(known) >= _MEMORY:
                known.clear()
            known.add(text)


def _broken_rule(batch: Batch) -> str | None:
    """The first rule that the batch breaks, in words; None where it keeps all."""
    emitter = batch["emitter"]
    if not 1 <= batch["batch_seq"] <= _MOST or not 1 <= emitter["heartbeat_ms"] <= _DAY_MS:
        return "batch_seq or heartbeat_ms is out of range"
    if not all(0 <= count <= _MOST for count in _counts(batch)):
        return "a count is out of range"
    if not all(0 <= instant <= _YEAR_2200 for instant in _instants(batch)):
        return "an instant is out of range"
    return _broken_account(batch) or _broken_event(batch)


def _instants(batch: Batch) -> Iterable[int]:
    yield batch["sent_at"]
    yield batch["emitter"]["started_at"]
    for group in batch["route_attempts"]:
        if group["occurred_at"]:
            yield min(group["occurred_at"])
            yield max(group["occurred_at"])
    for part in ("kernel_fallbacks", "masked_errors", "session_openings", "session_teardowns", *_LATER_IDS):
        for event in batch[part]:
            yield event["occurred_at"]
    for selection in batch["route_selections"]:
        yield selection["expires_at"] or 0


def _counts(batch: Batch) -> Iterable[int]:
    for account in batch["accounts"]:
        yield account["recorded"]
        yield from (entry["count"] for entry in account["dropped"])
    for teardown in batch["session_teardowns"]:
        yield teardown["operations"]
        yield teardown["degraded_operations"]
        yield from (claim["count"] for claim in teardown["claims"])
    for selection in batch["route_selections"]:
        yield selection["turn"]
    for call in batch["delegation_progress"]:
        yield from (call[name] for name in ("step", "turn", "attempt", "tokens"))
        yield abs(call["measure"] or 0)
        yield from (call[name] or 0 for name in _BUDGETS)
    for effect in batch["delegation_effects"]:
        yield effect["turn"]
        yield effect["fencing_token"] or 0


def _broken_account(batch: Batch) -> str | None:
    # Families that this version does not know all have one name.
    families = [account["family"] for account in batch["accounts"] if account["family"] in FAMILIES]
    if len(set(families)) < len(families):
        return "a family has two accounts"
    if any(sum(entry["count"] for entry in a["dropped"]) > a["recorded"] for a in batch["accounts"]):
        return "more events dropped than recorded"
    return None


def _broken_event(batch: Batch) -> str | None:
    if any(len(g["run_id"]) not in (0, len(g["occurred_at"])) for g in batch["route_attempts"]):
        return "run_id is neither empty nor as long as occurred_at"
    for fallback in batch["kernel_fallbacks"]:
        if fallback["event_type"] != "kernel_fallback.v1":
            return "an event_type is unknown"
        if (fallback["route_expected"], fallback["runtime_route"]) != ("kernel", "legacy"):
            return "the routes of a fallback are unknown"
    if any(call["step"] < 1 or call["attempt"] < 1 for call in batch["delegation_progress"]):
        return "a step or an attempt is below 1"
    if not all(is_signature(masked["masked_upstream_signature"]) for masked in batch["masked_errors"]):
        return "a signature is not of the grammar"
    return None
