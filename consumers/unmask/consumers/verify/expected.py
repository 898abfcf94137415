"""Window records as they must stand, derived from the recount; and any record as flat fields that can be compared."""

from collections.abc import Iterable, Mapping
from typing import Any

from unmask.consumers.verify.counts import Counts
from unmask.consumers.verify.evidence import EvidenceBook, FamilyProof
from unmask.consumers.verify.recount import Recount
from unmask.schemas.codes import Family
from unmask.schemas.keys import window_key
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import LIFETIME

__all__ = ["Fields", "evidence_states", "expected_lifetime", "expected_window", "window_fields"]

Fields = dict[str, Any]
"""A record's parts by name; entries of maps and of the evidence are `map.entry`. What is 0 in a map is left out."""

_MAPS = {
    "attempts_by_entry_point": Family.ROUTE_ATTEMPT.value,
    "fallbacks_by_reason": Family.KERNEL_FALLBACK.value,
    "masked_errors_by_class": Family.MASKED_ERROR.value,
    "teardowns_by_outcome": Family.SESSION_TEARDOWN.value,
    "selections": Family.ROUTE_SELECTION.value,
    "delegation_calls": Family.DELEGATION_PROGRESS.value,
    "delegation_effects": Family.DELEGATION_EFFECT.value,
}
_TOTALS = {
    "attempts": "attempts_by_entry_point",
    "fallbacks_total": "fallbacks_by_reason",
    "masked_errors": "masked_errors_by_class",
}
_PLAIN = ("attempts", "fallbacks_total", "masked_errors", "emitters", "late", "skewed", "duplicates", "quarantined")


def expected_window(recount: Recount, book: EvidenceBook, start: int) -> dict[str, Fields]:
    """All records of a closing window by key: the window as a whole, its scopes, their capabilities."""
    counted = recount.counts.windows.get((start, book.seconds), {})
    records: dict[str, Fields] = {}
    whole, emitters = Counts(), 0
    scopes = counted.keys() | book.scopes(start)
    for scope in scopes:
        counts, witnesses = counted.get(scope, Counts()), book.witnesses(start, scope)
        whole.add(counts)
        emitters += witnesses
        proof = _evidence_fields(book.prove(start, scope, witnesses, book.told(start, [scope])))
        for capability in (None, *counts.capabilities()):
            key = window_key(start, book.seconds, scope, capability)
            records[key] = _count_fields(counts, capability, witnesses, 0) | proof
    proof = _evidence_fields(book.prove(start, None, emitters, book.told(start, scopes)))
    whole_fields = _count_fields(whole, None, emitters, book.unreadable(start))
    records[window_key(start, book.seconds, None, None)] = whole_fields | proof
    return records


def expected_lifetime(recount: Recount) -> dict[str, Fields]:
    """All records of the lifetime window, without evidence: it never closes."""
    counted = recount.counts.windows.get((0, LIFETIME), {})
    emitters: dict[Scope, int] = {}
    for chain in recount.chains.values():
        emitters[chain.scope] = emitters.get(chain.scope, 0) + 1
    records: dict[str, Fields] = {}
    whole = Counts()
    for scope, witnesses in emitters.items():
        counts = counted.get(scope, Counts())
        whole.add(counts)
        for capability in (None, *counts.capabilities()):
            key = window_key(0, LIFETIME, scope, capability)
            records[key] = _count_fields(counts, capability, witnesses, 0)
    if emitters:
        records[window_key(0, LIFETIME, None, None)] = _count_fields(whole, None, sum(emitters.values()), 0)
    return records


def _count_fields(counts: Counts, capability: str | None, emitters: int, unreadable: int) -> Fields:
    fields: Fields = {}
    for name, family in _MAPS.items():
        whole_scope_only = family not in (Family.ROUTE_ATTEMPT.value, Family.KERNEL_FALLBACK.value)
        if capability is None or not whole_scope_only:
            by_code = counts.by_code(family, capability)
            fields |= {f"{name}.{code}": n for code, n in by_code.items() if n}
    for name, split in _TOTALS.items():
        fields[name] = sum(n for field, n in fields.items() if field.startswith(f"{split}."))
    fields["emitters"] = emitters
    for name in ("late", "skewed", "duplicates"):
        fields[name] = getattr(counts, name) if capability is None else 0
    fields["quarantined"] = unreadable
    return fields


def _evidence_fields(proofs: Mapping[str, FamilyProof]) -> Fields:
    fields: Fields = {}
    for family, proof in proofs.items():
        fields |= _proof_fields(family, proof.state.value, proof.causes, proof.missing, proof.dropped)
    return fields


def _proof_fields(family: str, state: str, causes: Iterable[str], missing: int, dropped: Mapping[str, int]) -> Fields:
    fields: Fields = {f"evidence.{family}.state": state, f"evidence.{family}.causes": " ".join(sorted(causes))}
    fields[f"evidence.{family}.missing"] = missing
    return fields | {f"evidence.{family}.dropped.{cause}": n for cause, n in dropped.items() if n}


def window_fields(record: Mapping[str, Any]) -> Fields:
    """The fields of a published window record."""
    fields: Fields = {name: record[name] for name in _PLAIN}
    for name in _MAPS:
        fields |= {f"{name}.{code}": n for code, n in record[name].items() if n}
    for entry in record["evidence"]:
        dropped: dict[str, int] = {}
        for part in entry["dropped"]:
            dropped[part["cause"]] = dropped.get(part["cause"], 0) + part["count"]
        fields |= _proof_fields(entry["family"], entry["state"], entry["causes"], entry["missing"], dropped)
    return fields


def evidence_states(fields: Fields) -> set[str]:
    """The states of all families in a record's fields."""
    return {value for name, value in fields.items() if name.startswith("evidence.") and name.endswith(".state")}
