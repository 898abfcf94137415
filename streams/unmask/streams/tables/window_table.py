"""The window table: everything that one table partition knows of its windows, merged from tallies, flaws and marks.

Windows are routed: a window, with all its cells and flaws, lies on one table partition, marks on all of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from unmask.schemas.codes import Measure
from unmask.schemas.keys import window_key, window_route
from unmask.schemas.partitioner import partition_for
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import LIFETIME, MICROS, window_end, window_start
from unmask.streams.tables.cells import CellStore, Label, LabelIndex
from unmask.streams.tables.evidence import Flaw, family_evidence, flaw_of
from unmask.streams.tables.marks import NEVER, MarkBoard
from unmask.streams.tables.rules import TableRules
from unmask.streams.tables.window_record import Counts, count_cells, window_record

__all__ = ["WindowId", "WindowTable"]

WindowId = tuple[int, int]
"""Start and size of a window."""
_UPSTREAM = Measure.UPSTREAM.value
_MAX_FILLED = 20_000


@dataclass(slots=True)
class _Window:
    cells: CellStore = field(default_factory=CellStore)
    flaws: dict[str, Flaw] = field(default_factory=dict)


class WindowTable:
    """The windows of one table partition. No clock, no I/O; instants are microseconds."""

    def __init__(self, partition: int, rules: TableRules) -> None:
        self.partition = partition
        self.marks = MarkBoard()
        self._rules = rules
        self._labels = LabelIndex()
        self._windows: dict[WindowId, _Window] = {}
        self._dirty: set[WindowId] = set()
        self._unsettled: set[WindowId] = set()
        self._filled: dict[int, int] = {}
        self._seen_marks = 0
        self._forgotten = 0

    def apply(self, key: str, record: dict[str, Any] | None) -> None:
        """Takes one record of the tallies topic in, by its key; None is a tombstone.

        A flaw that is removed has healed. A cell that is removed is forgotten, and the window's last record stands.
        """
        kind = key[:1]
        if kind == "m":
            if record is not None:
                self.marks.apply(record)
        elif kind == "f":
            self._apply_flaw(key, record)
        elif record is not None:
            self._apply_cell(record)
        else:
            self._forget_cell(key)

    def _window(self, start: int, seconds: int) -> _Window | None:
        """The window, new if need be; None for one that is too old to be kept."""
        found = self._windows.get((start, seconds))
        if found is None:
            if seconds != LIFETIME and start < self._forgotten:
                return None
            found = self._windows[start, seconds] = _Window()
            self._unsettled.add((start, seconds))
            if seconds != LIFETIME:
                self._filled[seconds] = min(start, self._filled.get(seconds, start))
        return found

    def _apply_cell(self, record: dict[str, Any]) -> None:
        start, seconds = record["window_start"], record["window_seconds"]
        if record["measure"] == _UPSTREAM:
            return
        window = self._window(start, seconds)
        if window is None:
            return
        label = Label(Scope(**record["scope"]), record["measure"], record["capability"], record["code"])
        correction = record["correction"]
        changed = window.cells.put(
            record["partition"],
            self._labels.number(label),
            record["offset"],
            record["count"],
            None if correction is None else (correction["emitter_id"], correction["batch_seq"]),
        )
        if changed:
            self._dirty.add((start, seconds))

    def _forget_cell(self, key: str) -> None:
        parts = key.split("|")
        window = self._windows.get((int(parts[3]) * MICROS, int(parts[2])))
        if window is None:
            return
        correction = (parts[9], int(parts[10])) if len(parts) > 9 else None
        for number in range(len(self._labels)):
            label = self._labels.label(number)
            named = (label.scope.release_line, label.scope.composition, label.measure, label.capability, label.code)
            if named == tuple(parts[4:9]):
                window.cells.drop(int(parts[1]), number, correction)

    def _apply_flaw(self, key: str, record: dict[str, Any] | None) -> None:
        if record is None:
            parts = key.split("|")
            start, seconds = int(parts[3]) * MICROS, int(parts[2])
            known = self._windows.get((start, seconds))
            if known is not None and known.flaws.pop(key, None) is not None:
                self._dirty.add((start, seconds))
            return
        start, seconds = record["window_start"], record["window_seconds"]
        window = self._window(start, seconds)
        if window is None:
            return
        flaw, before = flaw_of(record), window.flaws.get(key)
        if before is None or before.offset <= flaw.offset:
            window.flaws[key] = flaw
            self._dirty.add((start, seconds))

    def take_dirty(self, limit: int | None = None) -> list[WindowId]:
        """Windows whose records may have changed since the last call, newest first; what exceeds `limit` waits."""
        self._fill_silence()
        if self._seen_marks != self.marks.version:
            self._seen_marks = self.marks.version
            self._dirty.update(w for w in self._unsettled if w[1] != LIFETIME and self.marks.closed(window_end(*w)))
            if self.marks.reopened_from != NEVER:
                again = self.marks.reopened_from
                self._dirty.update(w for w in self._windows if w[1] != LIFETIME and window_end(*w) > again)
                self.marks.reopened_from = NEVER
        dirty = sorted(self._dirty & self._windows.keys(), reverse=True)
        taken = dirty[:limit]
        self._dirty = set(dirty[len(taken) :])
        return taken

    def touch(self, window_id: WindowId) -> None:
        """The window's records are looked at again, for what stands of them has changed."""
        self._dirty.add(window_id)

    def _fill_silence(self) -> None:
        """Adds the closed windows in which nothing happened, so that silence is seen and not left out."""
        closed = self.marks.closed_through
        if closed is None:
            return
        left = _MAX_FILLED
        for seconds, cursor in list(self._filled.items()):
            size = seconds * MICROS
            while cursor + size <= closed and left:
                window = (cursor, seconds)
                if window not in self._windows and self._mine(cursor, seconds):
                    self._windows[window] = _Window()
                    self._unsettled.add(window)
                    self._dirty.add(window)
                cursor += size
                left -= 1
            self._filled[seconds] = cursor

    def _mine(self, start: int, seconds: int) -> bool:
        return partition_for(window_route(start, seconds), self._rules.table_partitions) == self.partition

    def records(self, window_id: WindowId) -> dict[str, dict[str, Any]]:
        """All records of a window by key: the window as a whole, its scopes, their capabilities. Without revisions."""
        start, seconds = window_id
        window = self._windows[window_id]
        counts = count_cells((self._labels.label(number), count) for number, count in window.cells.sums())
        for flaw in window.flaws.values():
            if flaw.scope is not None:
                counts.setdefault(flaw.scope, {None: Counts()})
        lifetime = seconds == LIFETIME
        end = NEVER if lifetime else window_end(start, seconds)
        still_open = lifetime or not self.marks.closed(end)
        records: dict[str, dict[str, Any]] = {}
        total = Counts()
        for scope, by_capability in sorted(counts.items()):
            whole = by_capability[None]
            total.update(whole)
            evidence = family_evidence(
                pending=still_open or self.marks.accounted_through(scope) < end,
                flaws=(flaw for flaw in window.flaws.values() if flaw.scope is None or flaw.scope == scope),
                witnesses=whole.emitters,
                told_by=whole.witnesses,
            )
            for capability, part in by_capability.items():
                records[window_key(start, seconds, scope, capability)] = window_record(
                    start, seconds, scope, capability, part, emitters=whole.emitters, quarantined=0, evidence=evidence
                )
        pending = still_open or self.marks.all_accounted_through() < end
        records[window_key(start, seconds, None, None)] = window_record(
            start,
            seconds,
            None,
            None,
            total,
            emitters=total.emitters,
            quarantined=sum(flaw.unreadable for flaw in window.flaws.values()),
            evidence=family_evidence(
                pending=pending, flaws=window.flaws.values(), witnesses=total.emitters, told_by=total.witnesses
            ),
        )
        if pending:
            self._unsettled.add(window_id)
        else:
            self._unsettled.discard(window_id)
        return records

    def closed(self, window_id: WindowId) -> bool:
        """Whether a window is closed on every source partition."""
        return window_id[1] != LIFETIME and self.marks.closed(window_end(*window_id))

    def forget_before(self, instant: int) -> None:
        """Drops windows that start before the instant; their last records stand, and later cells of them are passed."""
        self._forgotten = max(self._forgotten, instant)
        for window_id in [w for w in self._windows if w[1] != LIFETIME and w[0] < self._forgotten]:
            del self._windows[window_id]
            self._unsettled.discard(window_id)
        for seconds, cursor in self._filled.items():
            size = seconds * MICROS
            self._filled[seconds] = max(cursor, window_start(self._forgotten + size - 1, seconds))

    def __contains__(self, window_id: object) -> bool:
        return window_id in self._windows

    def __iter__(self) -> Iterator[WindowId]:
        return iter(self._windows)

    def __len__(self) -> int:
        return len(self._windows)

    @property
    def cells(self) -> int:
        """Cells that are kept."""
        return sum(len(window.cells) for window in self._windows.values())
