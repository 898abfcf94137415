"""Alerts that follow from the marks: emitters and partitions that fell silent, and nobody left to witness anything.

Marks are broadcast to every table partition, so that each of these alerts is one partition's to publish.
"""

from typing import Any

from unmask.schemas.codes import AlertKind, FlawCause
from unmask.schemas.keys import window_route
from unmask.schemas.partitioner import partition_for
from unmask.schemas.windowing import LIFETIME, MICROS, window_start
from unmask.streams.tables.alerts import alert, alert_id
from unmask.streams.tables.marks import MarkBoard
from unmask.streams.tables.rules import TableRules

__all__ = ["absent_alert", "owns_absence", "silent_emitter_alerts", "stalled_alerts"]

_SILENT = FlawCause.SILENT.value


def silent_emitter_alerts(board: MarkBoard, partition: int, rules: TableRules) -> list[dict[str, Any]]:
    """SILENT_EMITTER for every emitter that stopped without closing and whose alert is this partition's."""
    found = []
    for entry in board.unaccounted():
        identity = alert_id(AlertKind.SILENT_EMITTER, entry.emitter_id)
        if entry.cause == _SILENT and partition_for(identity, rules.table_partitions) == partition:
            found.append(
                alert(
                    identity,
                    AlertKind.SILENT_EMITTER,
                    since=entry.since,
                    scope=entry.scope,
                    emitter_id=entry.emitter_id,
                    causes=[entry.cause],
                )
            )
    return found


def stalled_alerts(
    board: MarkBoard, partition: int, rules: TableRules, *, now: int, watched_since: int
) -> list[dict[str, Any]]:
    """TELEMETRY_ABSENT for every source partition whose mark no longer moves: nobody can witness its windows.

    `now` is the wall clock; a worker that has only begun to look, at `watched_since`, gives the ledger its time.
    """
    found = []
    for source, through in sorted(board.read_through().items()):
        identity = alert_id(AlertKind.TELEMETRY_ABSENT, "stalled", str(source))
        if now - max(through, watched_since) <= rules.stalled or source >= board.partitions:
            continue
        if partition_for(identity, rules.table_partitions) == partition:
            found.append(
                alert(
                    identity,
                    AlertKind.TELEMETRY_ABSENT,
                    since=through,
                    causes=["partition_stalled"],
                    facts={"partition": source},
                )
            )
    return found


def owns_absence(partition: int, rules: TableRules) -> bool:
    """Whether TELEMETRY_ABSENT is this table partition's: the one that knows, by the lifetime window, who ever was."""
    return partition_for(window_route(0, LIFETIME), rules.table_partitions) == partition


def absent_alert(board: MarkBoard, rules: TableRules) -> dict[str, Any] | None:
    """TELEMETRY_ABSENT once a whole window has closed in which no emitter lived, after there had been some.

    The caller sees to it that there had been some.
    """
    if not board.complete or board.emitters or board.closed_through is None:
        return None
    size = rules.alert_seconds * MICROS
    idle = [since for source, since in board.idle_since.items() if source < board.partitions]
    if len(idle) < board.partitions:
        return None
    idle_since = max(idle)
    last = window_start(board.closed_through, rules.alert_seconds) - size
    if last < idle_since:
        return None
    return alert(
        alert_id(AlertKind.TELEMETRY_ABSENT, "*"),
        AlertKind.TELEMETRY_ABSENT,
        since=idle_since,
        causes=["no_witness"],
    )
