"""The overview: what all windows and alerts of a namespace say together. Pure; its owner guards it against threads.

Totals come from the lifetime windows, so that every worker shows the same ones and no restart resets them.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from unmask.schemas.codes import Evidence
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import LIFETIME, MICROS
from unmask.streams.tables.fallback_rate import FallbackRates
from unmask.streams.tables.rules import TableRules

__all__ = ["Overview", "Totals"]

_PENDING = Evidence.PENDING.value
_FIRING = "FIRING"
_RECENT = 3600 * MICROS


@dataclass(slots=True)
class Totals:
    """Counts since the beginning, of one scope."""

    attempts: dict[tuple[str, str], int] = field(default_factory=dict)
    """By capability and entry point."""
    fallbacks: dict[tuple[str, str], int] = field(default_factory=dict)
    """By capability and reason code."""
    whole: dict[str, Any] | None = None
    """The record of the scope as a whole."""


class Overview:
    """Lifetime totals, evidence of recently closed windows, firing alerts, and rates."""

    def __init__(self, rules: TableRules) -> None:
        self.totals: dict[Scope, Totals] = {}
        self.rates = FallbackRates(rules)
        self._positions: dict[int, int] = {}
        self._recent: dict[tuple[int, int], dict[str, str]] = {}
        self._firing: dict[str, str] = {}
        self._newest = 0

    @property
    def position(self) -> int:
        """Grows with everything that was read of the windows topic, alike on all workers and over restarts."""
        return sum(self._positions.values())

    def window(self, record: dict[str, Any] | None, *, partition: int, offset: int) -> None:
        """Takes a decoded window record in; None is a tombstone, or a record that does not matter here."""
        self._positions[partition] = max(offset + 1, self._positions.get(partition, 0))
        if record is None:
            return
        if record["window_seconds"] == LIFETIME:
            self._lifetime(record)
            return
        self.rates.observe(record)
        if record["scope"] is None and record["capability"] is None:
            place = (record["window_seconds"], record["window_start"])
            self._recent[place] = {entry["family"]: entry["state"] for entry in record["evidence"]}
            self._newest = max(self._newest, record["window_start"])

    def _lifetime(self, record: dict[str, Any]) -> None:
        if record["scope"] is None:
            return
        totals = self.totals.setdefault(Scope(**record["scope"]), Totals())
        capability = record["capability"]
        if capability is None:
            totals.whole = record
            return
        for entry_point, count in record["attempts_by_entry_point"].items():
            totals.attempts[capability, entry_point] = count
        for reason, count in record["fallbacks_by_reason"].items():
            totals.fallbacks[capability, reason] = count

    def alert(self, identity: str, record: dict[str, Any] | None) -> None:
        """Takes a decoded alert in."""
        if record is None or record["state"] != _FIRING:
            self._firing.pop(identity, None)
        else:
            self._firing[identity] = record["kind"]

    def evidence(self) -> Counter[tuple[int, str, str]]:
        """How many windows of the last hour are in which state, by size and family."""
        oldest = self._newest - _RECENT
        for place in [place for place in self._recent if place[1] < oldest - place[0] * MICROS]:
            del self._recent[place]
        counts: Counter[tuple[int, str, str]] = Counter()
        for (seconds, _), families in self._recent.items():
            counts.update((seconds, family, state) for family, state in families.items())
        return counts

    def firing(self) -> Counter[str]:
        """Firing alerts by kind."""
        return Counter(self._firing.values())

    def capabilities(self) -> set[str]:
        """Every capability that was ever seen."""
        seen = {capability for totals in self.totals.values() for capability, _ in totals.attempts}
        return seen | {capability for totals in self.totals.values() for capability, _ in totals.fallbacks}
