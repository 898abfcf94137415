"""The comparison of windows: what stands on their topic against what was recounted from the log. Pure."""

from collections.abc import Collection, Mapping
from typing import Any

from unmask.consumers.verify.evidence import AsOf, EvidenceBook
from unmask.consumers.verify.expected import (
    Fields,
    evidence_states,
    expected_lifetime,
    expected_window,
    window_fields,
)
from unmask.consumers.verify.outcome import Examined, Mismatch
from unmask.consumers.verify.published import Entry, PublishedTopic, Unusable
from unmask.consumers.verify.recount import Recount
from unmask.consumers.verify.span import BEFORE_HEAD, KEPT, RECENT, Range
from unmask.schemas.codes import Evidence, FlawCause
from unmask.schemas.keys import window_key, window_route
from unmask.schemas.partitioner import partition_for
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import LIFETIME, MICROS

__all__ = ["compare_windows"]

_PENDING, _ABSENT = Evidence.PENDING.value, Evidence.ABSENT.value
_OPEN = "not settled: a partition or a living emitter has not passed its end yet"
_FROZEN = "changed after the days for which the stream keeps windows; their last records stand"
_SKIPPED = "the stream skipped records that the log no longer has; the counts were compared"


def compare_windows(
    examined: Examined,
    recount: Recount,
    as_of: AsOf,
    published: PublishedTopic,
    partitions: int,
    within: Range,
    sizes: Collection[int] | None = None,
) -> None:
    """Compares the records of all windows in the range.

    `partitions` is how many the windows topic has, `sizes` are the sizes to compare, by default all that were counted.
    """
    standing: dict[tuple[int, int], dict[str, Fields | Unusable]] = {}
    for entry in published:
        start, seconds, fields = _read_window(published, entry, partitions)
        standing.setdefault((start, seconds), {})[entry.key] = fields
    for seconds in recount.rules.window_seconds if sizes is None else sizes:
        if seconds == LIFETIME:
            _compare_lifetime(examined, recount, standing.get((0, LIFETIME), {}))
            continue
        book = EvidenceBook(recount, as_of, seconds)
        here = {start: records for (start, size), records in standing.items() if size == seconds}
        starts = _starts(recount, book, here, within)
        if within.since is not None and book.blind_until >= 0:
            # What was asked for and is gone is told, also where nothing is left that names its windows.
            last = book.blind_until if within.until is None else min(book.blind_until, within.until - 1)
            gone = range(within.since - within.since % (seconds * MICROS), last + 1, seconds * MICROS)
            examined.skip("windows", BEFORE_HEAD, len(gone))
            starts = [start for start in starts if start > book.blind_until]
        for start in starts:
            if book.blind(start):
                examined.skip("windows", BEFORE_HEAD)
            else:
                agreed = len(examined.mismatches)
                _compare_closing(examined, recount, book, start, here.get(start, {}))
                if start + KEPT < book.closed_through and len(examined.mismatches) > agreed:
                    del examined.mismatches[agreed:]
                    examined.skip("windows", _FROZEN)


def _compare_closing(
    examined: Examined, recount: Recount, book: EvidenceBook, start: int, standing: Mapping[str, Fields | Unusable]
) -> None:
    recent = start + book.seconds * MICROS > book.closed_through - RECENT
    expected = expected_window(recount, book, start)
    if book.closed(start) and book.blind_until >= 0 and any(map(_skipped, standing.values())):
        examined.skip("evidence of windows", _SKIPPED)
        _compare_counts(examined, expected, standing, recent=recent)
    else:
        _compare_window(examined, expected, standing, recent=recent)


def _starts(recount: Recount, book: EvidenceBook, here: Mapping[int, Any], within: Range) -> list[int]:
    """Windows to be compared: all that stand, and from the first to the last of which the log tells, without holes."""
    size = book.seconds * MICROS
    counted = (start for start, seconds in recount.counts.windows if seconds == book.seconds)
    known = {*book.known_windows(), *counted}
    if known:
        known.update(range(min(known), max(known) + 1, size))
    first = None if within.since is None else within.since - within.since % size
    return sorted(start for start in known.union(here) if Range(first, within.until).holds(start))


def _compare_window(
    examined: Examined, expected: Mapping[str, Fields], standing: Mapping[str, Fields | Unusable], *, recent: bool
) -> None:
    compared = False
    for key in sorted(expected.keys() | standing.keys()):
        recounted, stands = expected.get(key), standing.get(key)
        unsettled = recounted is not None and evidence_states(recounted) == {_PENDING}
        if unsettled and (stands is None or (isinstance(stands, dict) and evidence_states(stands) == {_PENDING})):
            # Its counts still grow, and nobody claims that they do not.
            continue
        compared = True
        examined.window_records += 1
        if not (_is_silence(recounted) and stands is None) and not (recounted is None and _is_silence(stands)):
            _match(examined, key, stands, recounted, recent=recent)
    if compared:
        examined.windows += 1
    else:
        examined.skip("windows", _OPEN)


def _compare_lifetime(examined: Examined, recount: Recount, standing: Mapping[str, Fields | Unusable]) -> None:
    if any(facts.trimmed for facts in recount.partitions.values()):
        examined.skip("windows", BEFORE_HEAD)
        return
    expected = expected_lifetime(recount)
    if expected or standing:
        # It never closes, so that its evidence says nothing.
        _compare_counts(examined, expected, standing, recent=False)


def _compare_counts(
    examined: Examined, expected: Mapping[str, Fields], standing: Mapping[str, Fields | Unusable], *, recent: bool
) -> None:
    examined.windows += 1
    for key in sorted(expected.keys() | standing.keys()):
        examined.window_records += 1
        recounted, stands = expected.get(key), standing.get(key)
        _match(
            examined,
            key,
            _without_evidence(stands) if isinstance(stands, dict) else stands,
            None if recounted is None else _without_evidence(recounted),
            recent=recent,
        )


def _without_evidence(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if not name.startswith("evidence.")}


def _skipped(fields: Fields | Unusable) -> bool:
    """Whether the stream says that it skipped records of the window's time."""
    if isinstance(fields, Unusable):
        return False
    causes = (value.split() for name, value in fields.items() if name.endswith(".causes"))
    return any(FlawCause.SKIPPED.value in told for told in causes)


def _is_silence(fields: Fields | Unusable | None) -> bool:
    """Whether a record says no more than that nobody witnessed the window, as readers take it without one."""
    if not isinstance(fields, dict) or evidence_states(fields) != {_ABSENT}:
        return False
    return not any(value for name, value in fields.items() if not name.endswith(".state"))


def _match(
    examined: Examined, key: str, stands: Fields | Unusable | None, recounted: Fields | None, *, recent: bool
) -> None:
    if isinstance(stands, Unusable):
        examined.mismatches.append(Mismatch("window", key, {"record": stands.why}, {"record": "sound"}))
    elif stands != recounted:
        examined.mismatches.append(Mismatch("window", key, stands, recounted, recent))


def _read_window(published: PublishedTopic, entry: Entry, partitions: int) -> tuple[int, int, Fields | Unusable]:
    seconds, start = (int(part) for part in entry.key.split("|")[:2])
    start *= MICROS
    record = published.read(entry)
    if isinstance(record, Unusable):
        return start, seconds, record
    scope = None if record["scope"] is None else Scope(**record["scope"])
    key = window_key(record["window_start"], record["window_seconds"], scope, record["capability"])
    if key != entry.key:
        return start, seconds, Unusable("under the key of another record")
    if partition_for(window_route(start, seconds), partitions) != entry.partition:
        return start, seconds, Unusable(f"on partition {entry.partition}, which its window does not belong to")
    return start, seconds, window_fields(record)
