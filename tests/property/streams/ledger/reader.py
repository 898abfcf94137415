"""A reader of what the ledger publishes, as the tables are one: newest snapshots, standing flaws, marks, evidence."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from unmask.schemas.codec import decode, decode_any
from unmask.schemas.scope import Scope

__all__ = ["FAMILIES", "TableReader"]

FAMILIES = (
    "route_attempt", "kernel_fallback", "masked_error", "session_teardown", "route_selection", "delegation_progress",
    "delegation_effect",
)  # fmt: skip
FIRST = FAMILIES[:4]
"""Of these every emitter can tell."""
SECOND = 1_000_000


class TableReader:
    """One table partition of unmask.tallies."""

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        self.tallies: dict[bytes, dict[str, Any]] = {}
        self.flaws: dict[bytes, dict[str, Any]] = {}
        self.marks: dict[int, dict[str, Any]] = {}

    def read(self, key: bytes, value: bytes | None) -> str:
        """Takes a record in. Returns its kind."""
        if value is None:
            assert key.startswith(b"f|"), "only flaws are ever taken back"
            self.flaws.pop(key, None)
            return "healed"
        kind, record = decode_any(("tally", "evidence_flaw", "evidence_mark"), value)
        if kind == "tally":
            known = self.tallies.get(key)
            if known is None or record["offset"] >= known["offset"]:
                self.tallies[key] = record
        elif kind == "evidence_flaw":
            self.flaws[key] = record
        else:
            self.marks[record["partition"]] = record
        return kind

    def windows(self) -> set[tuple[int, int]]:
        """All closing windows that are known here."""
        known = (*self.tallies.values(), *self.flaws.values())
        return {(r["window_start"], r["window_seconds"]) for r in known if r["window_seconds"]}

    def count(self, window: tuple[int, int], scope: Scope, measure: str) -> int:
        """The window's count of a measure: cells of all partitions, and corrections."""
        return sum(
            t["count"]
            for t in self.tallies.values()
            if (t["window_start"], t["window_seconds"]) == window
            and t["measure"] == measure
            and Scope(**t["scope"]) == scope
        )

    def complete(self, window: tuple[int, int], scope: Scope) -> list[str]:
        """The families whose count of the window is shown as complete."""
        start, seconds = window
        end = start + seconds * SECOND
        if len(self.marks) < self.partitions:
            return []
        for mark in self.marks.values():
            if mark["read_through"] < end + mark["grace_ms"] * 1000:
                return []
            if any(s["scope"] == scope._asdict() and s["accounted_through"] < end for s in mark["scopes"]):
                return []
        if not self.count(window, scope, "emitters"):
            return []
        spoilt: set[str] = set()
        for flaw in self.flaws.values():
            if (flaw["window_start"], flaw["window_seconds"]) == window and flaw["scope"] in (None, scope._asdict()):
                spoilt |= {loss["family"] for loss in flaw["losses"]} or set(FAMILIES)
        witnessed = {
            t["capability"]
            for t in self.tallies.values()
            if (t["window_start"], t["window_seconds"], t["measure"]) == (start, seconds, "witnesses")
            and Scope(**t["scope"]) == scope
        }
        return [f for f in FAMILIES if f not in spoilt and (f in FIRST or f in witnessed)]


def counts_of(readers: Iterable[TableReader]) -> Counter[tuple[Any, ...]]:
    """All counts, in the reference's terms; cells and their corrections together."""
    counts: Counter[tuple[Any, ...]] = Counter()
    for reader in readers:
        for t in reader.tallies.values():
            if t["measure"] != "upstream":
                key = (Scope(**t["scope"]), t["measure"], t["capability"], t["code"])
                counts[(*key, t["window_start"], t["window_seconds"])] += t["count"]
    return counts


def flaws_of(readers: Iterable[TableReader]) -> set[tuple[Any, ...]]:
    """All flaws that stand, in the reference's terms."""
    return {
        (
            f["window_start"], f["window_seconds"], None if f["scope"] is None else Scope(**f["scope"]),
            f["emitter_id"], f["from_seq"], f["to_seq"], f["cause"], frozenset(loss["family"] for loss in f["losses"]),
        )
        for reader in readers
        for f in reader.flaws.values()
    }  # fmt: skip


def sessions_of(records: Iterable[tuple[bytes, bytes | None]]) -> dict[str, dict[str, Any]]:
    """The newest snapshot of each session."""
    sessions: dict[str, dict[str, Any]] = {}
    for _, value in records:
        assert value is not None, "no session is forgotten within a day"
        tally = decode("session_tally", value)
        sessions[tally["session_id"]] = tally
    return sessions
