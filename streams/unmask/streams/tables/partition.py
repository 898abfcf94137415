"""One table partition: its inputs folded in the order of their logs, and the records that must go out.

Pure: bytes in, records out; no Kafka, no Faust, no clock. Instants are microseconds.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from unmask.schemas.codes import AlertKind
from unmask.schemas.errors import DecodeError
from unmask.schemas.windowing import LIFETIME, MICROS, window_end
from unmask.schemas.wire import decode, decode_any
from unmask.streams.tables.alert_board import AlertBoard
from unmask.streams.tables.alerts import resolved, unverifiable_alert
from unmask.streams.tables.finding_alerts import FINDING_KINDS
from unmask.streams.tables.flow import Output, Source
from unmask.streams.tables.rules import TableRules
from unmask.streams.tables.session_alerts import SESSION_KINDS
from unmask.streams.tables.session_table import KnownVerdicts, SessionTable
from unmask.streams.tables.silence import absent_alert, owns_absence, silent_emitter_alerts, stalled_alerts
from unmask.streams.tables.standing import (
    Standing,
    Stood,
    content_digest,
    is_scoped,
    stood_window,
    weight_of,
    window_of,
)
from unmask.streams.tables.upstreams import UpstreamTable
from unmask.streams.tables.verdict_check import RecordCheck
from unmask.streams.tables.verdict_shelf import VerdictShelf
from unmask.streams.tables.window_alerts import loss_alerts
from unmask.streams.tables.window_table import WindowId, WindowTable

__all__ = ["TablePartition"]

_TALLY_RECORDS = ("tally", "evidence_mark", "evidence_flaw")
_SESSION_KINDS = frozenset(kind.value for kind in (*SESSION_KINDS, *FINDING_KINDS))
_WINDOWS_AT_ONCE = 500
_SWEEP = MICROS
_FORGET = 60 * MICROS
_SEEN_FOR = 60 * MICROS


class TablePartition:
    """Everything that one partition of the tables knows."""

    def __init__(
        self, partition: int, rules: TableRules, known: KnownVerdicts, check: RecordCheck | None = None
    ) -> None:
        self.partition = partition
        self.windows = WindowTable(partition, rules)
        self.sessions = SessionTable(rules, known)
        self.alerts = AlertBoard()
        self.undecodable: Counter[Source] = Counter()
        self.applied: Counter[Source] = Counter()
        self._rules = rules
        self._known = known
        self._upstreams = UpstreamTable(rules)
        self._standing = Standing()
        self.verdicts = VerdictShelf(check or RecordCheck())
        self._positions: dict[Source, int] = {}
        self._held: dict[WindowId, int] = {}
        self._strays: set[WindowId] = set()
        """Windows of which records were read back, and of which the inputs may say nothing."""
        self._again: dict[str, dict[str, Any]] = {}
        self._swept_at = self._forgot_at = 0
        self._accounted = -1
        self._watched_since: int | None = None

    def position(self, source: Source) -> int:
        """The offset that follows everything taken in."""
        return self._positions.get(source, 0)

    @property
    def withheld(self) -> int:
        """Window records that were not published because they count less than what stands."""
        return self._standing.withheld

    def apply(self, source: Source, key: bytes | None, value: bytes | None, offset: int, *, own: bool = False) -> bool:
        """Takes a record in; False for one that is not newer than what was taken in, or cannot be read.

        `own` marks what this very process published and knows of already; verdicts are looked at all the same, since
        the mark can be copied. What cannot be read is counted and passed over: it is on topics that only this product
        writes, and nothing of it is shown.
        """
        if offset < self.position(source):
            return False
        self._positions[source] = offset + 1
        if own and source is not Source.VERDICTS:
            return True
        try:
            self._take(source, _text(key), value)
        except (DecodeError, UnicodeDecodeError, ValueError, KeyError, IndexError):
            self.undecodable[source] += 1
            return False
        self.applied[source] += 1
        return True

    def _take(self, source: Source, key: str, value: bytes | None) -> None:
        if source is Source.TALLIES:
            record = None if value is None else decode_any(_TALLY_RECORDS, value)[1]
            self.windows.apply(key, record)
            self._upstreams.apply(key, record)
        elif source is Source.SESSIONS:
            self.sessions.apply(key, None if value is None else decode("session_tally", value))
        elif source is Source.WINDOWS:
            self._read_back_window(key, None if value is None else decode("window", value))
        elif source is Source.VERDICTS:
            believed = self.verdicts.note(key, value)
            self.undecodable[source] += not believed
            self.sessions.touch(key)
        else:
            self._read_back_alert(key, None if value is None else decode("alert", value))

    def _read_back_window(self, key: str, record: dict[str, Any] | None) -> None:
        stood = None if record is None else stood_window(record)
        self._standing.note(key, stood)
        # Somebody else wrote it, perhaps late: whether it may stand is decided when the window is looked at again.
        self.windows.touch(window_of(key))
        self._strays.add(window_of(key))

    def _read_back_alert(self, identity: str, record: dict[str, Any] | None) -> None:
        known = self.alerts.get(identity)
        if record is not None and known is not None and record["revision"] < known["revision"]:
            # An older word was written over ours, by a worker that did not know yet: ours is said again.
            self._again[identity] = known
            return
        self.alerts.note(identity, record)

    def collect(self, now: int, *, everything: bool) -> list[Output]:
        """Records to publish, which then count as published. `now` is the wall clock.

        Verdicts, and what sessions and upstreams alert to, are always looked at; windows and silence only with
        `everything`.
        """
        if self._watched_since is None:
            self._watched_since = now
        again, self._again = self._again, {}
        outputs = [_alert_output(record) for record in again.values()]
        outputs += self._unverifiable(now)
        outputs += self._judge(now)
        self._upstreams.close(self.windows.marks.closed_through)
        outputs += self._offer(self._upstreams.take_alerts(), self.position(Source.TALLIES))
        if everything:
            outputs += self._windows_due()
            if now - self._swept_at >= _SWEEP:
                self._swept_at = now
                outputs += self._silence(now)
                outputs += self._sweep(now)
        return outputs

    def offer_alerts(self, kind: AlertKind, alerts: list[dict[str, Any]], revision: int, now: int) -> list[Output]:
        """Alerts of a kind that is decided elsewhere, completely: whatever else of the kind fires here is resolved."""
        outputs = self._offer(alerts, revision)
        still = [record["alert_id"] for record in alerts]
        return outputs + [_alert_output(r) for r in self.alerts.settle(kind.value, still, until=now, revision=revision)]

    def _judge(self, now: int) -> Iterator[Output]:
        if self._accounted != self.windows.marks.version:
            self._accounted = self.windows.marks.version
            self.sessions.account(self.windows.marks.accounts())
        for session_id in self.verdicts.due(now):
            self.sessions.touch(session_id)
        for judged in self.sessions.take_judged(self.verdicts.get):
            session_id = judged.session_id
            if judged.withdrawn:
                if self.verdicts.withdraw(session_id):
                    yield Output(Source.VERDICTS, "verdict", session_id, None)
            elif judged.verdict is not None:
                published = self.verdicts.put(judged.verdict, now)
                if published is not None:
                    yield Output(Source.VERDICTS, "verdict", session_id, published)
                elif not self.verdicts.agrees(judged.verdict):
                    continue
            elif self.verdicts.get(session_id) is not None:
                # A verdict stands although the snapshots that are left say nothing: it goes on to stand.
                continue
            yield from self._offer(judged.alerts, self._session_revision())
            for record in judged.past:
                yield from map(_alert_output, self.alerts.offer_past(record, self._session_revision()))

    def _unverifiable(self, now: int) -> list[Output]:
        """Alerts to records on the verdict topic that cannot be believed; each stands until it is looked at again."""
        found = self.verdicts.take_usurped()
        alerts = [unverifiable_alert(session_id, cause, now) for session_id, cause in found]
        return self._offer(alerts, self.position(Source.VERDICTS))

    def _session_revision(self) -> int:
        return self.position(Source.SESSIONS)

    def _offer(self, alerts: list[dict[str, Any]], revision: int) -> list[Output]:
        offered = (self.alerts.offer(record, revision) for record in alerts)
        return [_alert_output(record) for record in offered if record is not None]

    def _windows_due(self) -> Iterator[Output]:
        revision = self.position(Source.TALLIES)
        for window_id in [w for w, needed in self._held.items() if needed <= revision]:
            del self._held[window_id]
            self.windows.touch(window_id)
        now = self.windows.marks.closed_through or 0
        for window_id in self.windows.take_dirty(_WINDOWS_AT_ONCE):
            records = self.windows.records(window_id)
            for key, record in records.items():
                wanted = Stood(revision, content_digest(record), weight_of(record))
                if self._standing.must_publish(key, wanted):
                    self._standing.note(key, wanted)
                    yield Output(Source.WINDOWS, "window", key, {**record, "revision": revision})
                    continue
                stood = self._standing.get(key)
                if stood is not None and stood.revision > revision and stood.digest != wanted.digest:
                    self._held[window_id] = max(stood.revision, self._held.get(window_id, 0))
            yield from self._withdrawn(window_id, records, revision)
            if window_id[1] == self._rules.alert_seconds and self.windows.closed(window_id):
                losses = loss_alerts(records, now=now, horizon=self._rules.alert_horizon)
                yield from self._offer(losses, revision)

        for window_id in self._strays - self._held.keys():
            if window_id not in self.windows:
                yield from self._withdrawn(window_id, {}, revision)
        self._strays = {window_id for window_id in self._strays if window_id in self._held}

    def _withdrawn(self, window_id: WindowId, records: Mapping[str, Any], revision: int) -> Iterator[Output]:
        """Takes back what stands and would no longer be said: a scope's flaw that has healed, where nobody was.

        Only what counts nothing: a record with counts tells of cells, which may have been forgotten since.
        """
        for key in self._standing.of_window(window_id):
            stood = self._standing.get(key)
            if key in records or stood is None or stood.weight:
                continue
            if stood.revision > revision:
                self._held[window_id] = max(stood.revision, self._held.get(window_id, 0))
                continue
            if is_scoped(key):
                self._standing.note(key, None)
                yield Output(Source.WINDOWS, "window", key, None)

    def _silence(self, now: int) -> list[Output]:
        marks, revision = self.windows.marks, self.position(Source.TALLIES)
        silent = silent_emitter_alerts(marks, self.partition, self._rules)
        outputs = self.offer_alerts(AlertKind.SILENT_EMITTER, silent, revision, marks.closed_through or now)
        absent = stalled_alerts(marks, self.partition, self._rules, now=now, watched_since=self._watched_since or now)
        if owns_absence(self.partition, self._rules) and (0, LIFETIME) in self.windows:
            nobody = absent_alert(marks, self._rules)
            absent += [] if nobody is None else [nobody]
        return outputs + self.offer_alerts(AlertKind.TELEMETRY_ABSENT, absent, revision, now)

    def _sweep(self, now: int) -> list[Output]:
        """Resolves what nothing will ever touch again, and forgets what is too old."""
        if now - self._forgot_at >= _FORGET:
            self._forgot_at = now
            self.alerts.prune(now, self.sessions)
            self._forget_before(now - self._rules.window_horizon)
        read_through = self.windows.marks.closed_through or 0
        outputs = []
        for _, stood in self.alerts.firing():
            until = self._over_since(stood, read_through, now)
            if until is not None:
                outputs += self._offer([resolved(stood, until)], stood["revision"])
        return outputs

    def _over_since(self, stood: dict[str, Any], read_through: int, now: int) -> int | None:
        kind = stood["kind"]
        if kind == AlertKind.TELEMETRY_LOSS.value:
            expires = window_end(stood["window_start"], stood["window_seconds"]) + self._rules.alert_horizon
            return expires if read_through >= expires else None
        if kind == AlertKind.UNVERIFIABLE_VERDICT.value:
            restored = not self.verdicts.usurped(stood["session_id"])
            return now if restored and now >= stood["since"] + _SEEN_FOR else None
        if kind in _SESSION_KINDS and stood["session_id"] not in self.sessions:
            return self._session_over_since(stood, now)
        if kind == AlertKind.UPSTREAM_OUTAGE.value and stood["upstream"] not in self._upstreams:
            return read_through
        return None

    def _session_over_since(self, stood: dict[str, Any], now: int) -> int | None:
        verdict = self.verdicts.get(stood["session_id"])
        if verdict is not None:
            discharged = self._known.discharged_at(stood["session_id"], verdict.digest)
            if discharged is not None:
                return discharged
        return now if stood["since"] + self._rules.window_horizon < now else None

    def _forget_before(self, instant: int) -> None:
        self.windows.forget_before(instant)
        old = [key for key in self._standing if 0 < window_of(key)[0] < instant]
        self._standing.forget(old)
        for window_id in [w for w in self._held if w not in self.windows]:
            del self._held[window_id]

    def read_back_done(self) -> None:
        """Both inputs have been read to their end, after the outputs had been.

        What stands with a revision beyond that end was computed from topics that are no longer these.
        """
        end = self.position(Source.TALLIES)
        self._standing.forget([key for key in self._standing if self._standing_revision(key) > end])

    def _standing_revision(self, key: str) -> int:
        stood = self._standing.get(key)
        return 0 if stood is None else stood.revision


def _alert_output(record: dict[str, Any]) -> Output:
    return Output(Source.ALERTS, "alert", record["alert_id"], record)


def _text(key: bytes | None) -> str:
    if not key:
        raise ValueError("a record of a keyed topic has no key")
    return key.decode()
