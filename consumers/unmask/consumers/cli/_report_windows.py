"""Reads everything that a window report is made from, and makes it."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from unmask.consumers.cli._reading import reading
from unmask.consumers.report import ReportRow, Selection, TimeRange, build_rows
from unmask.consumers.report.fallbacks_view import fallbacks_source, read_fallbacks
from unmask.consumers.report.pipeline import PipelineFacts, PipelineState, closed_through, judge
from unmask.consumers.report.pipeline_view import look_if_allowed
from unmask.consumers.report.tenants import UnknownTenants, tenant_rows
from unmask.consumers.windows_view import WindowRecords, read_windows, windows_source
from unmask.schemas.topics import Topics
from unmask.schemas.windowing import MICROS

__all__ = ["Asked", "WindowReport", "gather"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted, from where."""

    bootstrap: str
    topics: Topics
    wanted: TimeRange
    selection: Selection
    unknown_tenant: UnknownTenants
    now: int
    """This machine's clock, microseconds."""
    timeout: float


@dataclass(frozen=True, slots=True)
class WindowReport:
    """The lines, with what has to be known of all of them."""

    rows: list[ReportRow]
    pipeline: PipelineState
    remarks: list[str] = field(default_factory=list)
    overall: list[ReportRow] = field(default_factory=list)
    """One line for each time, of everything that was selected."""

    @property
    def nothing_to_read(self) -> bool:
        """Whether what it would be made from does not exist: the topics, or windows of that size."""
        return not self.rows


def gather(asked: Asked) -> WindowReport:
    """The report. Raises TopicUnreadable, RangeError, and TenantlessRefused."""
    wanted, topics = asked.wanted, asked.topics
    facts = look_if_allowed(asked.bootstrap, topics, min(asked.timeout, 20.0))
    if facts is not None and topics.windows.name in facts.missing:
        return WindowReport([], judge(facts, now=asked.now))
    source = windows_source(asked.bootstrap, topics.namespace)
    with reading("windows") as progress:
        records = read_windows(
            source, wanted.window_seconds, wanted.read_since, wanted.read_until,
            timeout=asked.timeout, progress=progress,
        )  # fmt: skip
    state = _state(facts, records, asked)
    uncounted = _not_counted(records, wanted.window_seconds)
    if uncounted is not None:
        return WindowReport([], state, [uncounted])
    over = _over(facts, records, asked)
    rows = build_rows(records, wanted, asked.selection, now=over)
    overall = build_rows(records, wanted, replace(asked.selection, by="window", tenant=None), now=over)
    remarks = list(_remarks(records))
    if asked.selection.by_tenant:
        with reading("fallbacks") as progress:
            fallbacks = read_fallbacks(
                fallbacks_source(asked.bootstrap, topics.namespace), wanted.seconds, wanted.read_since,
                wanted.read_until, timeout=asked.timeout, progress=progress,
            )  # fmt: skip
        rows = tenant_rows(rows, fallbacks, asked.selection, asked.unknown_tenant)
        if fallbacks.unreadable:
            remarks.append(f"{fallbacks.unreadable} record(s) of {topics.fallbacks.name} cannot be read.")
    return WindowReport(rows, state, remarks, overall)


def _state(facts: PipelineFacts | None, records: WindowRecords, asked: Asked) -> PipelineState:
    newest = None if records.newest is None else records.newest + asked.wanted.window_seconds * MICROS
    return judge(facts, now=asked.now, newest_window=newest)


def _over(facts: PipelineFacts | None, records: WindowRecords, asked: Asked) -> int:
    """Before when a window without a record is one that nobody witnessed; later ones are still to come."""
    if facts is None:
        return asked.now
    closed = closed_through(facts)
    if closed is None:
        return asked.now
    if facts.marks and records.newest is not None:
        # Closed windows are published also when nothing happened in them: what is younger than all is on its way.
        closed = min(closed, records.newest)
    return min(asked.now, closed)


def _not_counted(records: WindowRecords, size: int) -> str | None:
    """What to say where windows are counted, and none of this size: it would look as if nobody had witnessed any."""
    if size in records.sizes or not any(records.sizes):
        return None
    sizes = ", ".join(str(known) for known in records.sizes)
    return f"There are no windows of {size} s; sizes that are counted: {sizes}. Choose one with --window."


def _remarks(records: WindowRecords) -> Iterator[str]:
    if records.unreadable:
        yield f"{len(records.unreadable)} window(s) have a record that cannot be read; they are shown as LOSSY."
