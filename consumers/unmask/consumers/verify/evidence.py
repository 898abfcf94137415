"""Evidence: what the log proves of a window, by the rules of the design, as of the time through which it was read.

PENDING while a partition may still deliver for the window or an emitter that lives has not accounted for all of it;
else LOSSY where anything of it is missing or may be; else ABSENT where no emitter was open in it; else COMPLETE.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from unmask.consumers.verify.account import Loss
from unmask.consumers.verify.chain import Chain
from unmask.consumers.verify.recount import Recount
from unmask.consumers.verify.rules import SKEW, RecountRules, reach
from unmask.consumers.verify.strict import ALWAYS_TOLD, SOME_TELL
from unmask.schemas.codes import Evidence, FlawCause
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS

__all__ = ["AsOf", "EvidenceBook", "FamilyProof", "Standing", "standing_of", "sure_from"]

_NOBODY: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class AsOf:
    """The broker's time through which each partition was read, and how long it waits after a window's end.

    A partition that is not named has not been read through any time. All microseconds.
    """

    through: Mapping[int, int]
    grace: Mapping[int, int]

    def closed_through(self, partitions: Iterable[int]) -> int:
        """Windows that end at or before it are closed on all partitions; -1 where a partition closes none."""
        return min(
            (self.through[p] - self.grace.get(p, 0) if p in self.through else -1 for p in partitions), default=-1
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether an emitter is alive, and if not, what that spoils: from its last cut to `until`."""

    alive: bool
    cause: FlawCause | None = None
    until: int = 0


@dataclass(frozen=True, slots=True)
class FamilyProof:
    """What is proven of one family in one window."""

    state: Evidence
    causes: frozenset[str]
    missing: int
    dropped: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Flaw:
    scope: Scope | None
    cause: str
    losses: dict[str, Loss] | None
    """None: every family, by an unknown number."""

    def spoils(self, family: str) -> bool:
        if self.losses is None:
            return True
        # More received than recorded disproves an account just as less does.
        return family in self.losses


def standing_of(chain: Chain, through: int, rules: RecountRules) -> Standing:
    """How an emitter stands once its partition was read through a broker's time."""
    silence = rules.silence_factor * chain.heartbeat
    if chain.closed:
        return Standing(alive=False)
    if chain.last_cut + silence >= through:
        return Standing(alive=True)
    quiet_since = chain.last_arrival + silence
    until = max(chain.last_cut, min(through, quiet_since + rules.write_off))
    return Standing(False, FlawCause.SILENT if quiet_since < through else FlawCause.BEHIND, until)


def sure_from(recount: Recount, partition: int) -> int:
    """Emitters' times up to this one may have been told in a part of the partition that was deleted; -1 for none."""
    facts = recount.partitions[partition]
    return facts.head + SKEW if facts.trimmed else -1


@dataclass(slots=True)
class EvidenceBook:
    """Evidence of all windows of one size."""

    recount: Recount
    as_of: AsOf
    seconds: int
    closed_through: int = -1
    blind_until: int = -1
    """Windows that start at or before it may lack records that were deleted; -1 where the log has its beginning."""
    _flaws: dict[int, list[_Flaw]] = field(default_factory=lambda: defaultdict(list))
    _unsure: list[tuple[int, int]] = field(default_factory=list)
    _accounted: dict[Scope, int] = field(default_factory=dict)
    _witnesses: dict[Scope, tuple[list[int], list[int]]] = field(default_factory=dict)
    _told: dict[tuple[Scope, str], tuple[list[int], list[int]]] = field(default_factory=dict)
    """The same, by scope and family, of those that say that they tell of it."""
    _unreadable: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        recount = self.recount
        self.closed_through = self.as_of.closed_through(recount.partitions)
        for partition in recount.partitions:
            sure = sure_from(recount, partition)
            if sure >= 0:
                self.blind_until = max(self.blind_until, sure + recount.rules.write_off)
        for unclear in recount.unclear:
            starts = self._touched(unclear.first, unclear.last)
            self._flag(starts, _Flaw(None, unclear.cause.value, None))
            if unclear.cause is FlawCause.QUARANTINED:
                self._unreadable.update(starts)
        opened: dict[Scope, list[int]] = defaultdict(list)
        left: dict[Scope, list[int]] = defaultdict(list)
        told: dict[tuple[Scope, str], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        size = self.seconds * MICROS
        for chain in recount.chains.values():
            self._take_chain(chain)
            last = chain.last_cut - chain.last_cut % size
            began = max(chain.started, chain.first_cut - reach(self.seconds))
            opened[chain.scope].append(began - began % size)
            left[chain.scope].append(last)
            for family, (after, cut) in chain.told.items():
                since = max(after, cut - reach(self.seconds))
                firsts, lasts = told[chain.scope, family]
                firsts.append(since - since % size)
                lasts.append(last)
        self._witnesses = {scope: (sorted(opened[scope]), sorted(left[scope])) for scope in opened}
        self._told = {place: (sorted(firsts), sorted(lasts)) for place, (firsts, lasts) in told.items()}

    def _take_chain(self, chain: Chain) -> None:
        sure = sure_from(self.recount, chain.partition)
        for stretch in chain.lossy(sure):
            flaw = _Flaw(chain.scope, stretch.cause.value, stretch.losses)
            self._flag(self._touched(stretch.cut_after, stretch.cut_before), flaw)
        self._unsure.extend((stretch.cut_after, stretch.cut_before) for stretch in chain.unsure(sure))
        for disputed in chain.disputed:
            for scope in disputed.scopes:
                flaw = _Flaw(scope, FlawCause.IDENTITY.value, None)
                self._flag(self._touched(disputed.first, disputed.last), flaw)
        standing = standing_of(chain, self.as_of.through.get(chain.partition, 0), self.recount.rules)
        if standing.alive:
            self._accounted[chain.scope] = min(chain.last_cut, self._accounted.get(chain.scope, chain.last_cut))
        if standing.cause is not None:
            flaw = _Flaw(chain.scope, standing.cause.value, None)
            self._flag(self._touched(chain.last_cut, standing.until), flaw)

    def _touched(self, first: int, last: int) -> range:
        size = self.seconds * MICROS
        begin = max(first, last - reach(self.seconds))
        return range(begin - begin % size, last + 1, size)

    def _flag(self, starts: Iterable[int], flaw: _Flaw) -> None:
        for start in starts:
            self._flaws[start].append(flaw)

    def known_windows(self) -> Iterable[int]:
        """Starts of all windows of which the log says anything beside counts."""
        size = self.seconds * MICROS
        found = set(self._flaws)
        for firsts, lasts in self._witnesses.values():
            # The union of the emitters' lives, without walking through every one of them.
            covered = -1
            for first, last in sorted(zip(firsts, lasts, strict=True)):
                found.update(range(max(first, covered), last + 1, size))
                covered = max(covered, last + size)
        return found

    def blind(self, start: int) -> bool:
        """Whether the log no longer holds everything that belongs to the window."""
        end = start + self.seconds * MICROS
        return start <= self.blind_until or any(first < end and start <= last for first, last in self._unsure)

    def closed(self, start: int) -> bool:
        """Whether every partition was read through the window's end and grace."""
        return start + self.seconds * MICROS <= self.closed_through

    def witnesses(self, start: int, scope: Scope) -> int:
        """Emitters of the scope that were open in the window."""
        return _open_at(self._witnesses.get(scope, ([], [])), start)

    def told(self, start: int, scopes: Iterable[Scope]) -> dict[str, int]:
        """Of each family of which not everybody tells, the emitters of these scopes that did in the window."""
        scopes = list(scopes)
        return {
            family: sum(_open_at(self._told.get((scope, family), ([], [])), start) for scope in scopes)
            for family in SOME_TELL
        }

    def unreadable(self, start: int) -> int:
        """Unreadable records whose time touches the window."""
        return self._unreadable[start]

    def scopes(self, start: int) -> set[Scope]:
        """Scopes that somebody witnessed in the window, or of which something is lost in it."""
        witnessed = {scope for scope in self._witnesses if self.witnesses(start, scope)}
        return witnessed | {flaw.scope for flaw in self._flaws.get(start, ()) if flaw.scope is not None}

    def prove(
        self, start: int, scope: Scope | None, witnesses: int, told: Mapping[str, int] = _NOBODY
    ) -> dict[str, FamilyProof]:
        """What is proven of each family in a window, of one scope or over all of them.

        One that not everybody tells of is left out where nobody `told` and nothing of it is known to be lost.
        """
        flaws = [f for f in self._flaws.get(start, ()) if scope is None or f.scope is None or f.scope == scope]
        pending = self._pending(start, scope)
        proofs = {family: _prove(family, flaws, witnesses, pending=pending) for family in ALWAYS_TOLD}
        for family in SOME_TELL:
            if told.get(family) or any(flaw.losses is not None and family in flaw.losses for flaw in flaws):
                proofs[family] = _prove(family, flaws, told.get(family, 0), pending=pending)
        return proofs

    def _pending(self, start: int, scope: Scope | None) -> bool:
        if not self.closed(start):
            return True
        end = start + self.seconds * MICROS
        owing = self._accounted if scope is None else {scope: self._accounted.get(scope, end)}
        return any(through < end for through in owing.values())


def _open_at(lives: tuple[list[int], list[int]], start: int) -> int:
    """How many lives, by the starts of their first and of their last windows, take in the window."""
    firsts, lasts = lives
    return bisect_right(firsts, start) - bisect_left(lasts, start)


def _prove(family: str, flaws: list[_Flaw], witnesses: int, *, pending: bool) -> FamilyProof:
    spoiling = [flaw for flaw in flaws if flaw.spoils(family)]
    if pending:
        state = Evidence.PENDING
    elif spoiling:
        state = Evidence.LOSSY
    else:
        state = Evidence.COMPLETE if witnesses else Evidence.ABSENT
    dropped: Counter[str] = Counter()
    missing = 0
    for flaw in spoiling:
        loss = None if flaw.losses is None else flaw.losses.get(family)
        if loss is not None:
            missing += loss.missing
            dropped.update({cause: n for cause, n in loss.dropped.items() if n > 0})
    return FamilyProof(state, frozenset(flaw.cause for flaw in spoiling), missing, dict(dropped))
