"""From the hops of one operation to its records: what failed on the way, and who answered instead.

An error is hidden, and recorded, only where a substitute answered. Answered by the upstream itself it was a retry; by
the documented primary path of the session it was meant so.
"""

from collections.abc import Sequence

from unmask.producers.claims import SessionClaims
from unmask.producers.classify_reason import reason_of_signature
from unmask.producers.options import Asked
from unmask.producers.payloads import Comparison, Sight
from unmask.producers.recorder import Recorder
from unmask.producers.ways import Answerer, FailedHop, receipt_of
from unmask.schemas.codes import Equivalence

__all__ = ["Concluding"]


class Concluding:
    """Concludes the calls and marks of one operation. May raise; its callers keep that from the host."""

    __slots__ = ("claims", "operation_id", "recorder")

    def __init__(self, recorder: Recorder, claims: SessionClaims, operation_id: str) -> None:
        self.recorder = recorder
        self.claims = claims
        self.operation_id = operation_id

    def answered(
        self, asked: Asked, hops: Sequence[FailedHop], by: Answerer, answer: object, sight: Sight | None
    ) -> None:
        """`by` answered after `hops`: learn from the primary, or record what its substitute hid."""
        if by.target == asked.upstream:
            if sight is not None:
                self.recorder.payloads.learn(asked, sight)
            return
        if not hops or (asked.upstream, by.target) in self.claims.primary_paths:
            return
        seen = self._compare(asked, sight)
        if seen.equivalence is Equivalence.UNPROVEN:
            seen = seen._replace(equivalence=by.equivalence)
        self._record(asked, hops, by.target, receipt_of(by, answer), seen)

    def _compare(self, asked: Asked, sight: Sight | None) -> Comparison:
        try:
            return Comparison() if sight is None else self.recorder.payloads.compare(asked, sight)
        except Exception:
            # Names that cannot be looked up: nothing is proven, and the fault is recorded all the same.
            return Comparison()

    def _record(self, asked: Asked, hops: Sequence[FailedHop], by: str, receipt: str, seen: Comparison) -> None:
        session_id, operation_id, recorder = self.claims.session_id, self.operation_id, self.recorder
        # Of several tries of one target the first says what was wrong; the answering target's own ones were retries.
        faults: dict[str, str] = {}
        for hop in hops:
            if hop.target != by:
                faults.setdefault(hop.target, hop.signature)
        for target, signature in faults.items():
            recorder.record_masked_error(
                session_id, operation_id, target, signature, receipt, answered_by=by, equivalence=seen.equivalence,
                primary_shape=seen.primary_shape, fallback_shape=seen.fallback_shape,
            )  # fmt: skip
        if asked.capability is not None and asked.upstream in faults:
            recorder.record_fallback(
                asked.capability, reason_of_signature(faults[asked.upstream]), entry_point=asked.entry_point,
                run_id=asked.run_id, session_id=session_id, operation_id=operation_id,
            )  # fmt: skip
