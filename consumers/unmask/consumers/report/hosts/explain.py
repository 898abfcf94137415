"""The reason of each difference between what a host says and what is on record. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from unmask.consumers.report.hosts.emitter import FAMILIES, NOTHING, EmitterRecord

__all__ = [
    "Difference",
    "EmitterState",
    "Kind",
    "ScopeCounts",
    "emitter_differences",
    "late_and_skewed",
    "scope_differences",
    "state_of",
]


class Kind(StrEnum):
    """Why two counts differ."""

    PENDING = "pending"
    """On its way: at the host, in the log, or at the tables."""
    DROPPED = "dropped"
    """The host gave it up, and says why."""
    KILLED_HOST = "killed_host"
    """The host ended without closing; what it had not accounted for is not known."""
    LOST = "lost"
    """Batches of a host that has closed never came."""
    QUARANTINED = "quarantined"
    """It is in a record that could not be read."""
    TRIMMED = "trimmed"
    """It was counted, and the log no longer has it."""
    DUPLICATES = "duplicates"
    """Batches that came again; they are not counted again."""
    LATE = "late"
    """Counted after its window had closed; it is in the counts."""
    SKEWED = "skewed"
    """From the future; it is in the counts, at the broker's time."""
    UNEXPLAINED = "unexplained"
    """No reason is known."""


class EmitterState(StrEnum):
    """What has become of an emitter."""

    LIVE = "live"
    SILENT = "silent"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference with its reason. `count` is of events, or of batches where the words say so; None: not known."""

    kind: Kind
    words: str
    family: str | None = None
    count: int | None = None

    @property
    def explained(self) -> bool:
        """Whether a reason is known."""
        return self.kind is not Kind.UNEXPLAINED


def state_of(emitter: EmitterRecord, broker_time: int, silence_factor: int) -> EmitterState:
    """Closed, silent for too many heartbeats, or alive."""
    if emitter.closed:
        return EmitterState.CLOSED
    return EmitterState.SILENT if emitter.silent(broker_time, silence_factor) else EmitterState.LIVE


def emitter_differences(emitter: EmitterRecord, state: EmitterState, *, trimmed: bool) -> Iterator[Difference]:
    """Between what the emitter recorded and what the log has received of it, per family.

    `trimmed` says that the log's head is gone, and with it perhaps the emitter's first batches.
    """
    first = emitter.first or 1
    headless = trimmed and first > 1
    gaps = emitter.gaps if headless or first == 1 else [(1, first - 1), *emitter.gaps]
    for family in FAMILIES:
        account = emitter.accounts.get(family, NOTHING)
        for cause, count in sorted(account.dropped.items()):
            kind = Kind.KILLED_HOST if cause == "host_died" else Kind.DROPPED
            yield Difference(kind, f"the host dropped {count} as {cause}", family, count)
        missing = account.shipped - emitter.received[family]
        before = emitter.before.get(family, 0)
        if headless and before > 0:
            yield Difference(Kind.TRIMMED, "in batches that the log no longer has", family, before)
            missing -= before
        if missing:
            yield _missing(emitter, gaps, state, family, missing)
    yield from _remarks(emitter, state)


def _missing(
    emitter: EmitterRecord, gaps: list[tuple[int, int]], state: EmitterState, family: str, missing: int
) -> Difference:
    if missing < 0:
        return Difference(Kind.UNEXPLAINED, "more was received than was recorded", family, missing)
    if not gaps:
        return Difference(Kind.UNEXPLAINED, "recorded and not received, though no batch is missing", family, missing)
    batches = f"batches {_numbers(gaps)} have not come"
    if emitter.unreadable >= sum(last - first + 1 for first, last in gaps):
        return Difference(Kind.QUARANTINED, f"{batches}, and as many records of it cannot be read", family, missing)
    if state is EmitterState.LIVE:
        return Difference(Kind.PENDING, f"{batches}; the host sends them again", family, missing)
    if state is EmitterState.SILENT:
        words = f"{batches}; the host ended without closing, and its next start may send them"
        return Difference(Kind.KILLED_HOST, words, family, missing)
    return Difference(Kind.LOST, f"{batches}, although the emitter has closed", family, missing)


def _remarks(emitter: EmitterRecord, state: EmitterState) -> Iterator[Difference]:
    if state is EmitterState.SILENT:
        words = "ended without closing: what it recorded after its last account is not known"
        yield Difference(Kind.KILLED_HOST, words)
    elif state is EmitterState.LIVE:
        yield Difference(Kind.PENDING, "alive: what it recorded since its last account is in its memory")
    if emitter.duplicates:
        words = f"{emitter.duplicates} batch(es) came again, and are not counted again"
        yield Difference(Kind.DUPLICATES, words, None, emitter.duplicates)


def _numbers(gaps: list[tuple[int, int]]) -> str:
    shown = ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in gaps[:4])
    return shown + (f" and {len(gaps) - 4} more" if len(gaps) > 4 else "")


@dataclass(frozen=True, slots=True)
class ScopeCounts:
    """One family of one release line and composition, in three places."""

    in_log: int
    """What the log has, up to where the ledger says that it has counted."""
    waiting: int
    """What stands in the log behind that."""
    counted: int
    """What the ledger has counted."""
    counted_later: int
    """The same, read again after the windows."""
    published: int | None
    """What the lifetime window says; None where there is none."""


def scope_differences(family: str, counts: ScopeCounts, *, trimmed: bool, tables_wait: bool) -> Iterator[Difference]:
    """Between the log, the ledger's counts and the windows. `tables_wait`: the tables are known not to run."""
    if counts.waiting:
        words = "in the log, and not counted yet"
        yield Difference(Kind.PENDING, words, family, counts.waiting)
    more = counts.counted - counts.in_log
    if more > 0 and trimmed:
        yield Difference(Kind.TRIMMED, "counted from records that the log no longer has", family, more)
    elif more:
        words = "counted more than the log has" if more > 0 else "counted less than the log has"
        yield Difference(Kind.UNEXPLAINED, words, family, more)
    published = counts.published or 0
    if published < counts.counted:
        late = counts.counted - published
        if tables_wait:
            yield Difference(Kind.PENDING, "counted, and not published: the tables do not run", family, late)
        else:
            yield Difference(Kind.UNEXPLAINED, "counted, and not published", family, late)
    elif published > counts.counted_later:
        yield Difference(Kind.UNEXPLAINED, "published more than is counted", family, published - counts.counted_later)


def late_and_skewed(marks: Mapping[str, int]) -> Iterator[Difference]:
    """What is in the counts, and worth knowing."""
    if marks.get("late"):
        words = "counted after their window had closed; they are in the counts"
        yield Difference(Kind.LATE, words, None, marks["late"])
    if marks.get("skewed"):
        words = "from the future; they are in the counts, at the broker's time"
        yield Difference(Kind.SKEWED, words, None, marks["skewed"])
    if marks.get("duplicates"):
        words = f"{marks['duplicates']} batch(es) came again, and are not counted again"
        yield Difference(Kind.DUPLICATES, words, None, marks["duplicates"])
