"""Alerts that one window's records give rise to: telemetry that was lost in it."""

from typing import Any

from unmask.schemas.codes import AlertKind, Evidence
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import window_end
from unmask.streams.tables.alerts import alert, window_alert_id

__all__ = ["loss_alerts"]

_LOSSY, _PENDING = Evidence.LOSSY.value, Evidence.PENDING.value
_KIND = AlertKind.TELEMETRY_LOSS


def loss_alerts(records: dict[str, dict[str, Any]], *, now: int, horizon: int) -> list[dict[str, Any]]:
    """TELEMETRY_LOSS for every scope of a closed window: firing where it is LOSSY, else resolved.

    A window in which records were lost of which nobody knows whose they are, and in which no scope is known, alerts as
    a whole. A loss that does not heal is resolved `horizon` after the window's end. `now` is the time through which
    the window's inputs have been read.
    """
    wholes = [record for record in records.values() if record["capability"] is None]
    scoped = [record for record in wholes if record["scope"] is not None]
    return [_loss(record, now, horizon) for record in scoped or wholes if not _open(record)]


def _open(record: dict[str, Any]) -> bool:
    return any(entry["state"] == _PENDING for entry in record["evidence"])


def _loss(record: dict[str, Any], now: int, horizon: int) -> dict[str, Any]:
    start, seconds = record["window_start"], record["window_seconds"]
    scope = None if record["scope"] is None else Scope(**record["scope"])
    lossy = [entry for entry in record["evidence"] if entry["state"] == _LOSSY]
    expires = window_end(start, seconds) + horizon
    until = None if lossy and now < expires else min(now, expires)
    causes = sorted({cause for entry in lossy for cause in entry["causes"]})
    facts = {f"missing_{entry['family']}": entry["missing"] for entry in lossy if entry["missing"]}
    for entry in lossy:
        dropped = sum(drop["count"] for drop in entry["dropped"])
        if dropped:
            facts[f"dropped_{entry['family']}"] = dropped
    if record["quarantined"]:
        facts["quarantined"] = record["quarantined"]
    return alert(
        window_alert_id(_KIND, start, seconds, scope),
        _KIND,
        since=start,
        until=until,
        scope=scope,
        window=(start, seconds),
        causes=causes,
        facts=facts,
    )
