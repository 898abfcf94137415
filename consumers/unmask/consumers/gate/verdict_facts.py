"""A verdict record taken apart, strictly: what is missing, of a wrong type or contradicts itself is named.

A digest proves that a record is as its writer made it. That the writer made sense is checked here, so that a faulty
writer cannot let anybody pass either.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from unmask.consumers.gate.obligation import MaskedAnswer
from unmask.schemas.codes import (
    Contradiction,
    Directive,
    Equivalence,
    Evidence,
    Finding,
    SessionOutcome,
    VerdictKind,
)
from unmask.schemas.tokens import is_token

__all__ = ["Implausible", "VerdictFacts", "inconsistency", "read_facts"]

_RATIO_TOLERANCE = 1e-9

T = TypeVar("T")
C = TypeVar("C", VerdictKind, Directive, Evidence, Finding, Contradiction, SessionOutcome, Equivalence)


class Implausible(ValueError):
    """A decoded verdict lacks something or contradicts itself; the text says what, in codes only."""


@dataclass(frozen=True, slots=True)
class VerdictFacts:
    """Everything of a verdict that decides about admission, and what a successor needs to carry a directive out."""

    session_id: str
    kind: VerdictKind
    directive: Directive
    evidence: Evidence
    operations: int
    degraded_operations: int
    ratio: float | None
    """degraded_operations / operations; None without operations."""
    threshold: float
    above_threshold: bool
    equivalent: bool
    outcome_claimed: SessionOutcome | None
    findings: tuple[Finding, ...]
    contradictions: tuple[Contradiction, ...]
    inherited_from: tuple[str, ...]
    """Sessions whose directive is still open."""
    inherited_cut: int
    """How many more there are."""
    upstreams: tuple[str, ...]
    """Upstreams that failed behind a substitute, each once, in order of first appearance."""
    signatures: tuple[str, ...]
    """Their signatures, each once."""
    masked: tuple[MaskedAnswer, ...]
    """Which operation, which upstream, and what answered instead, for each masked error that the verdict lists."""
    masked_equivalences: tuple[Equivalence, ...]
    masked_cut: int
    """Masked errors that the verdict counts but does not list."""
    predecessor: str | None
    """The session whose work it continued."""
    emitters: frozenset[str]
    """The hosts' emitters that took part in it."""
    emitters_cut: int
    """How many more there are."""
    ended_at: int
    """Microseconds since the epoch."""
    digest: str
    writer: str | None
    """Slot of the worker that published it."""
    sequence: int
    """Its number among the verdicts of its session."""
    user_profile: str | None = None
    """The profile that the user chose last, as an opaque token; None where none is on record."""

    @property
    def unlisted(self) -> int:
        """Degraded operations of whose answers the verdict lists none, at least."""
        listed = len({answer.operation_id for answer in self.masked})
        return max(self.degraded_operations - listed, self.masked_cut)


def read_facts(record: Mapping[str, Any]) -> VerdictFacts:
    """The facts of a decoded verdict record. Raises Implausible where a part is missing or of a wrong type."""
    answers, signatures, equivalences = _masked(_part(record, "masked", list))
    ratio = record.get("degraded_operation_ratio")
    if ratio is not None and type(ratio) is not float:
        raise Implausible("degraded_operation_ratio is not a number")
    outcome = record.get("outcome_claimed")
    return VerdictFacts(
        session_id=_token(record, "session_id"),
        kind=_code(record, "verdict", VerdictKind),
        directive=_code(record, "directive", Directive),
        evidence=_code(record, "evidence", Evidence),
        operations=_part(record, "operations", int),
        degraded_operations=_part(record, "degraded_operations", int),
        ratio=ratio,
        threshold=_part(record, "threshold", float),
        above_threshold=_part(record, "above_threshold", bool),
        equivalent=_part(record, "equivalent", bool),
        outcome_claimed=None if outcome is None else _to_code(outcome, "outcome_claimed", SessionOutcome),
        findings=_codes(record, "findings", Finding),
        contradictions=_codes(record, "contradictions", Contradiction),
        inherited_from=_tokens(record, "inherited_from"),
        inherited_cut=_part(record, "inherited_cut", int),
        upstreams=tuple(dict.fromkeys(answer.upstream for answer in answers)),
        signatures=tuple(dict.fromkeys(signatures)),
        masked=tuple(answers),
        masked_equivalences=tuple(equivalences),
        masked_cut=_part(record, "masked_cut", int),
        predecessor=None if record.get("predecessor_session_id") is None else _token(record, "predecessor_session_id"),
        emitters=frozenset(_tokens(record, "emitters")),
        emitters_cut=_part(record, "emitters_cut", int),
        ended_at=_part(record, "ended_at", int),
        digest=_part(record, "digest", str),
        writer=None if record.get("writer") is None else _token(record, "writer"),
        sequence=_part(record, "sequence", int),
        user_profile=None if record.get("user_profile") is None else _token(record, "user_profile"),
    )


def _masked(operations: list[Any]) -> tuple[list[MaskedAnswer], list[str], list[Equivalence]]:
    """What answered, the upstreams' signatures and the equivalences, of each masked operation."""
    answers, signatures, equivalences = [], [], []
    for operation in operations:
        # What is decoded is a dict, which is told faster than whether something is a mapping.
        if type(operation) is not dict and not isinstance(operation, Mapping):
            raise Implausible("masked holds something that is no masked operation")
        answers.append(
            MaskedAnswer(
                _token(operation, "operation_id"),
                _token(operation, "upstream"),
                _token(operation, "fallback_execution_receipt"),
            )
        )
        signatures.append(_token(operation, "masked_upstream_signature"))
        equivalences.append(_code(operation, "equivalence", Equivalence))
    return answers, signatures, equivalences


def inconsistency(facts: VerdictFacts) -> str | None:
    """What in the facts contradicts the verdict rules (design, section 6), as half a sentence; None if nothing does."""
    return _numbers(facts) or _kind(facts)


def _numbers(facts: VerdictFacts) -> str | None:
    operations, degraded, ratio = facts.operations, facts.degraded_operations, facts.ratio
    if operations < 0 or degraded < 0 or facts.masked_cut < 0 or facts.inherited_cut < 0:
        return "a count is negative"
    if facts.inherited_cut and not facts.inherited_from:
        return "it lists nothing of what it inherited"
    if degraded > operations:
        return "more operations are degraded than there were"
    if not math.isfinite(facts.threshold) or not 0.0 <= facts.threshold <= 1.0:
        return "the threshold is no share between 0 and 1"
    if (ratio is None) != (operations == 0):
        return "there is a ratio without operations, or operations without a ratio"
    if ratio is not None and not abs(ratio - degraded / operations) <= _RATIO_TOLERANCE:
        return "the ratio is not degraded operations by operations"
    if facts.above_threshold != (ratio is not None and ratio > facts.threshold):
        return "above_threshold does not fit the ratio"
    if facts.equivalent and any(found is not Equivalence.BIT_FOR_BIT for found in facts.masked_equivalences):
        return "it claims equivalence, and one of its masked errors does not"
    return None


def _kind(facts: VerdictFacts) -> str | None:
    halts = facts.directive is Directive.HALT_AND_ALERT_DEVELOPER
    if facts.kind is VerdictKind.HARD_FAILURE:
        return None if halts else "it is a failure and does not halt"
    if halts and not facts.inherited_from:
        return "it is a success and halts, and nothing was inherited"
    if facts.outcome_claimed is not SessionOutcome.SUCCESS:
        return "it is a success that no host claimed"
    if Finding.ABANDONED in facts.findings and facts.evidence is Evidence.COMPLETE:
        return "its evidence is complete, and a host left it open"
    if facts.kind is VerdictKind.DEGRADED_SUCCESS:
        # Without complete evidence nobody passes anyway, and a writer may not know yet what must be done.
        bare = facts.directive is Directive.NONE and facts.evidence is Evidence.COMPLETE
        return "it is degraded and has no directive" if bare else None
    if facts.degraded_operations or facts.masked_equivalences or facts.masked_cut:
        return "it is clean, and operations of it are degraded"
    if facts.contradictions:
        return "it is clean, and its host was contradicted"
    if facts.directive is not Directive.NONE and not facts.inherited_from:
        return "it is clean and has a directive"
    return None


def _part(record: Mapping[str, Any], name: str, kind: type[T]) -> T:
    value = record.get(name)
    # Exactly the type: a bool is an int to isinstance.
    if type(value) is not kind:
        raise Implausible(f"{name} is missing or of a wrong type")
    return value


def _to_code(value: object, name: str, kind: type[C]) -> C:
    if not isinstance(value, str):
        raise Implausible(f"{name} is missing or of a wrong type")
    # Calling the enum takes five times as long.
    code = kind._value2member_map_.get(value)
    if code is None:
        raise Implausible(f"{name} holds a code that is not known here")
    return cast(C, code)


def _code(record: Mapping[str, Any], name: str, kind: type[C]) -> C:
    return _to_code(record.get(name), name, kind)


def _codes(record: Mapping[str, Any], name: str, kind: type[C]) -> tuple[C, ...]:
    values = _part(record, name, list)
    return tuple([_to_code(value, name, kind) for value in values]) if values else ()


def _token(record: Mapping[str, Any], name: str) -> str:
    return _to_token(record.get(name), name)


def _to_token(value: object, name: str) -> str:
    if type(value) is not str:
        raise Implausible(f"{name} is missing or of a wrong type")
    # Its text goes into reasons and terminals, so that it must be what the contract allows.
    if not is_token(value):
        raise Implausible(f"{name} is no bounded token")
    return value


def _tokens(record: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = _part(record, name, list)
    return tuple([_to_token(value, name) for value in values]) if values else ()
