"""Counts of one window and scope, and how a batch's events fall into windows of every size."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from unmask.consumers.verify.chain import Placed
from unmask.consumers.verify.rules import SKEW
from unmask.consumers.verify.strict import Batch
from unmask.schemas.codes import Enforcer, Family
from unmask.schemas.scope import Scope
from unmask.schemas.signatures import classify_signature
from unmask.schemas.windowing import LIFETIME, MICROS

__all__ = ["CountBook", "Counts", "WindowId"]

WindowId = tuple[int, int]
"""Start in microseconds, size in seconds."""

_ATTEMPT, _FALLBACK = Family.ROUTE_ATTEMPT.value, Family.KERNEL_FALLBACK.value
_MASKED, _TEARDOWN = Family.MASKED_ERROR.value, Family.SESSION_TEARDOWN.value
_SELECTION = Family.ROUTE_SELECTION.value
_PROGRESS, _EFFECT = Family.DELEGATION_PROGRESS.value, Family.DELEGATION_EFFECT.value


@dataclass(slots=True)
class Counts:
    """What was counted of one scope in one window. Events are keyed by family, capability and code."""

    events: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    late: int = 0
    skewed: int = 0
    duplicates: int = 0

    def by_code(self, family: str, capability: str | None = None) -> dict[str, int]:
        """Events of a family by code, of one capability or of all."""
        total: Counter[str] = Counter()
        for (name, where, code), n in self.events.items():
            if name == family and capability in (None, where):
                total[code] += n
        return dict(total)

    def capabilities(self) -> set[str]:
        """Capabilities that had attempts or fallbacks."""
        return {where for (name, where, _), n in self.events.items() if n and name in (_ATTEMPT, _FALLBACK)}

    def add(self, other: "Counts") -> None:
        """Adds another scope's counts."""
        self.events.update(other.events)
        self.late += other.late
        self.skewed += other.skewed
        self.duplicates += other.duplicates


class CountBook:
    """All counts, by window and scope. Instants are microseconds."""

    def __init__(self, window_seconds: tuple[int, ...]) -> None:
        self._sizes = window_seconds
        self.windows: dict[WindowId, dict[Scope, Counts]] = {}

    def count(self, batch: Batch, scope: Scope, arrival: int, placed: Placed, over: int) -> int:
        """Counts a batch's events. Windows that end at or before `over` were closed before. Returns how many.

        An event from the future counts in the broker's window; where the host's clock is ahead by too much altogether,
        all that lies after the batch's own cut counts there.
        """
        latest = placed.cut if placed.ahead else max(arrival + SKEW, placed.cut)
        instead = placed.cut if placed.ahead else arrival
        total = 0
        for family, capability, code, instants in _columns(batch):
            total += len(instants)
            if max(instants) > latest:
                honest = [instant for instant in instants if instant <= latest]
                self._skewed(scope, instead, len(instants) - len(honest))
                instants = honest + [instead] * (len(instants) - len(honest))
            for seconds in self._sizes:
                for start, n in _by_window(instants, seconds):
                    counts = self.of(start, seconds, scope)
                    counts.events[family, capability, code] += n
                    if seconds != LIFETIME and start + seconds * MICROS <= over:
                        counts.late += n
        return total

    def duplicate(self, scope: Scope, arrival: int) -> None:
        """Counts a batch that had been read before, in the window in which it arrived."""
        for seconds in self._sizes:
            for start, _ in _by_window([arrival], seconds):
                self.of(start, seconds, scope).duplicates += 1

    def _skewed(self, scope: Scope, at: int, n: int) -> None:
        for seconds in self._sizes:
            for start, _ in _by_window([at], seconds):
                self.of(start, seconds, scope).skewed += n

    def of(self, start: int, seconds: int, scope: Scope) -> Counts:
        """The counts of a window and scope, new if need be."""
        return self.windows.setdefault((start, seconds), {}).setdefault(scope, Counts())


def _columns(batch: Batch) -> Iterator[tuple[str, str, str, list[int]]]:
    for group in batch["route_attempts"]:
        if group["occurred_at"]:
            yield _ATTEMPT, group["capability"], group["entry_point"], group["occurred_at"]
    for fallback in batch["kernel_fallbacks"]:
        yield _FALLBACK, fallback["capability"], fallback["reason_code"], [fallback["occurred_at"]]
    for masked in batch["masked_errors"]:
        kind = classify_signature(masked["masked_upstream_signature"]).value
        yield _MASKED, masked["upstream"], kind, [masked["occurred_at"]]
    for teardown in batch["session_teardowns"]:
        yield _TEARDOWN, "", teardown["outcome"], [teardown["occurred_at"]]
    for selection in batch["route_selections"]:
        yield _SELECTION, "", f"{selection['source']}.{selection['timeline']}", [selection["occurred_at"]]
    for call in batch["delegation_progress"]:
        yield _PROGRESS, "", call["outcome"], [call["occurred_at"]]
    for effect in batch["delegation_effects"]:
        # What nobody says who did is told by the code of one that is not known.
        enforcer = effect["enforcer"] or Enforcer.UNKNOWN_ENFORCER.value
        yield _EFFECT, "", f"{enforcer}.{effect['step']}", [effect["occurred_at"]]


def _by_window(instants: list[int], seconds: int) -> Iterator[tuple[int, int]]:
    if seconds == LIFETIME:
        yield 0, len(instants)
        return
    size = seconds * MICROS
    first, last = min(instants) // size, max(instants) // size
    if first == last:
        yield first * size, len(instants)
        return
    for number, n in Counter(instant // size for instant in instants).items():
        yield number * size, n
