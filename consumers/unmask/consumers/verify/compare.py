"""The comparison: what stands on the output topics against what was recounted from the log. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from unmask.consumers.verify.evidence import AsOf, EvidenceBook, sure_from
from unmask.consumers.verify.expected import (
    Fields,
    evidence_states,
    expected_lifetime,
    expected_window,
    window_fields,
)
from unmask.consumers.verify.judgement import NotJudged, judge, verdict_fields
from unmask.consumers.verify.outcome import Examined, Mismatch
from unmask.consumers.verify.published import Admissions, Entry, PublishedTopic, Unusable
from unmask.consumers.verify.recount import Recount
from unmask.schemas.codes import Directive, Evidence, VerdictKind
from unmask.schemas.keys import window_key, window_route
from unmask.schemas.partitioner import partition_for
from unmask.schemas.scope import Scope
from unmask.schemas.verdict_digest import verify_digest
from unmask.schemas.windowing import LIFETIME, MICROS

__all__ = ["RECENT", "Range", "compare_verdicts", "compare_windows"]

RECENT = 30 * MICROS
"""A stream that keeps up has published what is over by then; one that was stopped may not have."""

_PENDING, _ABSENT = Evidence.PENDING.value, Evidence.ABSENT.value
_CLEAN = VerdictKind.CLEAN_SUCCESS.value
_DEFAULT_THRESHOLD = 0.05
_BEFORE_HEAD = "partly before the oldest record that the log still has"
_OPEN = "not settled: a partition or a living emitter has not passed its end yet"


@dataclass(frozen=True, slots=True)
class Range:
    """Windows that start, and sessions that end, at or after `since` and before `until`; microseconds, None: open."""

    since: int | None = None
    until: int | None = None

    def holds(self, instant: int) -> bool:
        """Whether the instant lies in the range."""
        return (self.since is None or instant >= self.since) and (self.until is None or instant < self.until)


def compare_windows(
    examined: Examined, recount: Recount, as_of: AsOf, published: PublishedTopic, partitions: int, within: Range
) -> None:
    """Compares the records of all windows in the range. `partitions` is how many the windows topic has."""
    standing: dict[tuple[int, int], dict[str, Fields | Unusable]] = {}
    for entry in published:
        start, seconds, fields = _read_window(published, entry, partitions)
        standing.setdefault((start, seconds), {})[entry.key] = fields
    for seconds in recount.rules.window_seconds:
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
            examined.skip("windows", _BEFORE_HEAD, len(gone))
            starts = [start for start in starts if start > book.blind_until]
        for start in starts:
            if book.blind(start):
                examined.skip("windows", _BEFORE_HEAD)
            else:
                recent = start + seconds * MICROS > book.closed_through - RECENT
                _compare_window(examined, expected_window(recount, book, start), here.get(start, {}), recent=recent)


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
        examined.skip("windows", _BEFORE_HEAD)
        return
    expected = expected_lifetime(recount)
    if not expected and not standing:
        return
    examined.windows += 1
    for key in sorted(expected.keys() | standing.keys()):
        examined.window_records += 1
        stands = standing.get(key)
        if isinstance(stands, dict):
            # It never closes, so that its evidence says nothing.
            stands = {name: value for name, value in stands.items() if not name.startswith("evidence.")}
        _match(examined, key, stands, expected.get(key))


def _is_silence(fields: Fields | Unusable | None) -> bool:
    """Whether a record says no more than that nobody witnessed the window, as readers take it without one."""
    if not isinstance(fields, dict) or evidence_states(fields) != {_ABSENT}:
        return False
    return not any(value for name, value in fields.items() if not name.endswith(".state"))


def _match(
    examined: Examined, key: str, stands: Fields | Unusable | None, recounted: Fields | None, *, recent: bool = False
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


def compare_verdicts(
    examined: Examined,
    recount: Recount,
    as_of: AsOf,
    published: PublishedTopic,
    admissions: Admissions,
    partitions: int,
    within: Range,
) -> None:
    """Compares the verdicts of all sessions that ended in the range. `partitions` is how many the topic has."""
    standing: dict[str, dict[str, Any]] = {}
    for entry in published:
        record = _read_verdict(published, entry, partitions)
        if isinstance(record, Unusable):
            examined.verdicts += 1
            examined.mismatches.append(Mismatch("verdict", entry.key, {"record": record.why}, {"record": "sound"}))
        else:
            standing[entry.key] = record
    for session_id in sorted(standing.keys() | recount.sessions.keys()):
        verdict = standing.get(session_id)
        if verdict is not None and within.holds(verdict["ended_at"]):
            examined.digests += 1
            if not verify_digest(verdict):
                told = {"digest": "not that of the verdict's content"}
                examined.mismatches.append(Mismatch("digest", session_id, told, {"digest": "of its content"}))
        _compare_verdict(examined, recount, as_of, session_id, standing, admissions, within)


def _compare_verdict(
    examined: Examined,
    recount: Recount,
    as_of: AsOf,
    session_id: str,
    standing: Mapping[str, dict[str, Any]],
    admissions: Admissions,
    within: Range,
) -> None:
    session, verdict = recount.sessions.get(session_id), standing.get(session_id)
    stands = None if verdict is None else verdict_fields(verdict)
    if session is None:
        assert verdict is not None  # the session came from one of the two
        if not within.holds(verdict["ended_at"]):
            return
        if verdict["ended_at"] <= max((sure_from(recount, p) for p in recount.partitions), default=-1):
            examined.skip("verdicts", "its session lies before the oldest record that the log still has")
            return
        examined.verdicts += 1
        examined.mismatches.append(Mismatch("verdict", session_id, stands, None))
        return
    threshold = recount.rules.threshold
    if threshold is None:
        threshold = _DEFAULT_THRESHOLD if verdict is None else verdict["threshold"]
    inherited = _inherited(session.predecessors, verdict, standing, admissions)
    judged = judge(recount, as_of, session, threshold=threshold, inherited=inherited)
    if isinstance(judged, NotJudged):
        if verdict is not None and within.holds(verdict["ended_at"]):
            _compare_unjudged(examined, session_id, verdict, judged)
        elif verdict is None and judged.ended and within.holds(session.last_event):
            examined.skip("verdicts", judged.why)
        return
    if not within.holds(judged.ended_at) and (verdict is None or not within.holds(verdict["ended_at"])):
        return
    if session.out_of_order and stands is not None and _is_doubt(stands, judged.fields):
        examined.skip("verdicts", "batches came out of order, and the stream keeps a doubt that the whole log dispels")
        return
    examined.verdicts += 1
    if stands != judged.fields:
        through = min((as_of.through.get(partition, 0) for partition in recount.partitions), default=0)
        recent = (session.ended_arrival or judged.ended_at) > through - RECENT
        examined.mismatches.append(Mismatch("verdict", session_id, stands, judged.fields, recent))


def _is_doubt(stands: Fields, recounted: Fields) -> bool:
    """Whether all that a verdict says against the recount is that its evidence is not complete."""
    if stands["evidence"] != Evidence.LOSSY.value or recounted["evidence"] != Evidence.COMPLETE.value:
        return False
    follows = {"evidence", "verdict", "directive"} if recounted["verdict"] == _CLEAN else {"evidence"}
    return all(stands[name] == value for name, value in recounted.items() if name not in follows)


def _compare_unjudged(examined: Examined, session_id: str, verdict: dict[str, Any], why: NotJudged) -> None:
    # An emitter that was given up and came back takes its sessions up again: what was said of them stands meanwhile.
    if why.ended or verdict["outcome_claimed"] is None:
        examined.skip("verdicts", why.why if why.ended else "taken up again after it had been given up")
    else:
        examined.verdicts += 1
        examined.mismatches.append(Mismatch("verdict", session_id, verdict_fields(verdict), None))


def _inherited(
    predecessors: Iterable[str],
    verdict: dict[str, Any] | None,
    standing: Mapping[str, dict[str, Any]],
    admissions: Admissions,
) -> list[Directive]:
    """Directives that predecessors left open: as their own verdicts say, which are verified like every other."""
    open_directives: list[Directive] = []
    for name in predecessors:
        left = standing.get(name)
        if left is None:
            # Nothing is known of it any more: what was inherited once stays inherited.
            if verdict is not None and name in verdict["inherited_from"]:
                open_directives.append(Directive(verdict["directive"]))
            continue
        directive = Directive(left["directive"])
        clean = left["verdict"] == _CLEAN or directive is Directive.NONE
        if not clean and not admissions.discharged(name, left["digest"]):
            open_directives.append(directive)
    return open_directives


def _read_verdict(published: PublishedTopic, entry: Entry, partitions: int) -> dict[str, Any] | Unusable:
    record = published.read(entry)
    if isinstance(record, Unusable):
        return record
    if record["session_id"] != entry.key:
        return Unusable("under the key of another session")
    if partition_for(entry.key, partitions) != entry.partition:
        return Unusable(f"on partition {entry.partition}, which its session does not hash to")
    return record
