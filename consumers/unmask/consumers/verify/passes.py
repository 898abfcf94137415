"""Passes over the log and what was published, until they agree or the time to settle is over.

Every pass reads, in this order, how far the stream says that it has read, the log up to there, and what stands. The log
is read from its beginning whatever the range: an emitter's account of the range rests on its batches before it, and
only the whole log tells which those are.
"""

import time
from collections import deque
from dataclasses import replace

from unmask.consumers.report.time_range import parse_instant
from unmask.consumers.topic_reader import Row
from unmask.consumers.verify.broker_time import BrokerTime
from unmask.consumers.verify.compare_verdicts import compare_verdicts
from unmask.consumers.verify.compare_windows import compare_windows
from unmask.consumers.verify.evidence import AsOf, sure_from
from unmask.consumers.verify.mark_check import MarkCheck
from unmask.consumers.verify.obstacles import Open, obstacles
from unmask.consumers.verify.outcome import Examined, Mismatch, Outcome
from unmask.consumers.verify.published import Admissions, Marks, PublishedTopic
from unmask.consumers.verify.put_aside import PutAside
from unmask.consumers.verify.readers import Readers
from unmask.consumers.verify.recount import PartitionFacts, Recount
from unmask.consumers.verify.request import Request
from unmask.consumers.verify.settling import Settling
from unmask.consumers.verify.span import Range
from unmask.consumers.verify.strict import StrictReader
from unmask.schemas.framing import framing_from_environment
from unmask.schemas.windowing import MICROS

__all__ = ["Passes"]

_PAUSE_SECONDS = 0.5
_READABLE = "put aside by the stream, but readable here: see `unmask quarantine replay`"


class Passes:
    """One verification, and what it has read so far. Every method raises as `verify` does."""

    def __init__(self, request: Request, readers: Readers) -> None:
        framing = framing_from_environment()
        topics = self._topics = request.topics
        self._request = request
        self._readers = readers
        self._clock = BrokerTime([readers.source(topics.events), readers.source(topics.ledger)])
        self._broker_time = 0
        self._within = Range()
        self._marks = Marks(framing)
        self._mark_check = MarkCheck()
        self._settling = Settling(request.settle / 2)
        self._put_aside = PutAside(topics.events.name, framing)
        self._ahead: dict[int, deque[Row]] = {}
        self._strict_reader = StrictReader(framing)
        self._recount: Recount | None = None
        self._sizes: set[int] = set()
        self._windows = PublishedTopic("window", framing, self._wants_window)
        self._verdicts = PublishedTopic("verdict", framing, self._wants_verdict)
        self._admissions = Admissions(framing)

    def run(self) -> Outcome:
        """Passes until all agrees, or the time to settle is over."""
        deadline = time.monotonic() + self._request.settle
        # What stands in the log when the verification begins is what it is about.
        ends = self._readers.ends(self._topics.events)
        began: float | None = None
        while True:
            missing = self._look_at_marks()
            over = time.monotonic() >= deadline
            if missing and not over:
                time.sleep(_PAUSE_SECONDS)
                continue
            recount = self._read_log()
            as_of = self._as_of()
            examined = self._compare(recount, as_of)
            certain, open_still = self._settle(recount, examined)
            unread = {p: end - self._told(p) for p, end in ends.items() if end > self._told(p)}
            began = time.monotonic() if began is None else began
            # Under traffic something is always under way: what is over only now and began to disagree later can wait.
            waiting = any(not m.recent for m in open_still) or (open_still and self._settling.still_since(began))
            if over or not (waiting or unread):
                return self._outcome(recount, as_of, examined, certain, Open(open_still, sum(unread.values())))
            time.sleep(_PAUSE_SECONDS)

    def _settle(self, recount: Recount, examined: Examined) -> tuple[list[Mismatch], list[Mismatch]]:
        if not examined.mismatches:
            return [], []
        counted = {p: facts.start if facts.next is None else facts.next for p, facts in recount.partitions.items()}
        ends = self._readers.ends(self._topics.events)
        return self._settling.note(examined.mismatches, counted, ends, time.monotonic())

    def _told(self, partition: int) -> int:
        """The offset up to which the stream says that it has read a partition."""
        mark = self._marks.known.get(partition)
        return 0 if mark is None else mark.offset

    def _look_at_marks(self) -> list[int]:
        # One partition of the tallies is enough: every one has the marks of all source partitions.
        self._readers.read(self._topics.tallies, self._marks.take, 0)
        self._readers.read(self._topics.quarantine, self._put_aside.take)
        self._broker_time = self._clock.now(self._request.timeout)
        return self._marks.missing(range(self._readers.partitions(self._topics.events)))

    def _read_log(self) -> Recount:
        """Counts all records of which the stream says that it has read them, and no others."""
        recount = self._recount
        if recount is None:
            starts = self._readers.reader(self._topics.events).positions
            grace = {partition: mark.grace for partition, mark in self._marks.known.items()}
            # Of a partition without records only its retention tells how old those were that it had.
            emptied = max(0, self._broker_time - int(self._topics.events.config["retention.ms"]) * 1000)
            partitions = {partition: PartitionFacts(start, head=emptied) for partition, start in starts.items()}
            recount = self._recount = Recount(self._strict_reader, self._request.rules, grace, partitions)
            self._within = self._range()
        until = {partition: mark.offset for partition, mark in self._marks.known.items()}
        counted = recount

        def take(row: Row) -> None:
            held = self._ahead.setdefault(row.partition, deque())
            held.append(row)
            self._mark_check.record(row.partition, row.offset, row.timestamp_ms * 1000)
            while held and held[0].offset < until.get(row.partition, 0):
                self._count(counted, held.popleft())

        for partition, held in self._ahead.items():
            while held and held[0].offset < until.get(partition, 0):
                self._count(counted, held.popleft())
        self._readers.read(self._topics.events, take, until=until)
        return recount

    def _count(self, recount: Recount, row: Row) -> None:
        aside = self._put_aside.holds(row)
        recount.take(row.partition, row.offset, row.timestamp_ms * 1000, row.key, row.value, aside=aside)

    def _range(self) -> Range:
        since, until, now = self._request.since, self._request.until, self._broker_time
        return Range(
            None if since is None else parse_instant(since, now), None if until is None else parse_instant(until, now)
        )

    def _as_of(self) -> AsOf:
        known = self._marks.known
        return AsOf(
            {partition: mark.read_through for partition, mark in known.items() if mark.read_through > 0},
            {partition: mark.grace for partition, mark in known.items()},
        )

    def _compare(self, recount: Recount, as_of: AsOf) -> Examined:
        topics, readers, examined = self._topics, self._readers, Examined()
        readers.read(topics.windows, self._windows.take)
        readers.read(topics.verdicts, self._verdicts.take)
        readers.read(topics.admissions, self._admissions.take)
        asked = self._request.rules.window_seconds
        compare_windows(
            examined, recount, as_of, self._windows, readers.partitions(topics.windows), self._within,
            [seconds for seconds in asked if seconds in self._sizes or not self._sizes],
        )  # fmt: skip
        compare_verdicts(
            examined, recount, as_of, self._verdicts, self._admissions, readers.partitions(topics.verdicts),
            self._within,
        )  # fmt: skip
        return examined

    def _oldest(self) -> int:
        """What is older than this, the log no longer tells of; -1 where it has its beginning on every partition."""
        recount = self._recount
        return -1 if recount is None else max((sure_from(recount, p) for p in recount.partitions), default=-1)

    def _wants_window(self, key: str, _published_ms: int) -> bool:
        seconds, _, rest = key.partition("|")
        start = rest.partition("|")[0]
        if not (seconds.isdecimal() and start.isdecimal()):
            return False
        self._sizes.add(int(seconds))
        if int(seconds) not in self._request.rules.window_seconds:
            return False
        return seconds == "0" or (int(start) + int(seconds)) * MICROS > self._oldest()

    def _wants_verdict(self, _key: str, published_ms: int) -> bool:
        return published_ms * 1000 > self._oldest()

    def _unknown_sizes(self) -> list[int]:
        return [size for size in self._request.rules.window_seconds if self._sizes and size not in self._sizes]

    def _outcome(
        self, recount: Recount, as_of: AsOf, examined: Examined, certain: list[Mismatch], open_still: Open
    ) -> Outcome:
        unpublished = [m for m in certain if m.recent and (m.published is None or m.pending)]
        for mismatch in unpublished:
            examined.skip(f"{mismatch.what} records", "over only a moment ago, and not published yet")
        if recount.totals.readable_now:
            examined.skip(
                "records", "put aside by the stream, but can be read here: replay them", recount.totals.readable_now
            )
        under_way = [m for m in open_still.mismatches if m.recent]
        for mismatch in under_way:
            examined.skip(f"{mismatch.what} records", "under way: over only a moment ago")
        open_still = replace(open_still, mismatches=[m for m in open_still.mismatches if not m.recent])
        withheld = [m for m in certain if m.pending and m not in unpublished]
        wrong = [m for m in certain if m not in unpublished and m not in withheld]
        differences = [difference for mismatch in wrong for difference in mismatch.differences()]
        differences += self._mark_check.lies(self._marks.known, self._broker_time)
        totals = {name: getattr(recount.totals, name) for name in recount.totals.__slots__}
        totals |= {"partitions": len(recount.partitions), "emitters": len(recount.chains)}
        heads = [facts.head for facts in recount.partitions.values() if facts.next is not None]
        return Outcome(
            differences=tuple(differences),
            examined=examined,
            obstacles=tuple(
                obstacles(
                    recount,
                    as_of,
                    self._marks.known,
                    self._broker_time,
                    self._within.until,
                    replace(open_still, withheld=withheld, sizes=self._unknown_sizes(), counted=sorted(self._sizes)),
                )
            ),
            totals=totals | {"sessions": len(recount.sessions), "unread": open_still.unread},
            since=self._within.since,
            until=self._within.until,
            log_from=min(heads, default=0),
            broker_time=self._broker_time,
            read_through=min((as_of.through.get(p, 0) for p in recount.partitions), default=0),
            strict=self._request.strict,
        )
