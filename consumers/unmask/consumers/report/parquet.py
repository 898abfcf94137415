"""A report as a Parquet file: typed columns, nulls for what is not known, and what it is about in its metadata."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unmask.consumers.report.cells import COUNTED_FAMILIES, LATER_FAMILIES, ReportRow
from unmask.consumers.report.document import FORMAT
from unmask.consumers.report.extras import need
from unmask.consumers.report.pipeline import PipelineState
from unmask.consumers.report.text import MAPS, pipeline_values
from unmask.consumers.report.time_range import TimeRange
from unmask.schemas.instants import iso

__all__ = ["write_parquet"]

_WANTED = "a Parquet file"
_LABELS = ("release_line", "composition", "capability", "reason", "entry_point", "tenant")
_COUNTS = (
    "attempts", "fallbacks_total", "masked_errors", "emitters", "late", "skewed", "duplicates", "quarantined",
    "compositions", "selections", "delegation_calls", "delegation_effects",
)  # fmt: skip


def write_parquet(
    path: Path,
    rows: Sequence[ReportRow],
    wanted: TimeRange,
    *,
    generated_at: int,
    pipeline: PipelineState | None = None,
) -> None:
    """Writes the file. Raises ExtraMissing without pyarrow, and OSError.

    Instants are timestamps in microseconds, UTC; maps are from code to count; nothing is NaN.
    """
    arrow, parquet = need("pyarrow", _WANTED), need("pyarrow.parquet", _WANTED)
    instant = arrow.timestamp("us", tz="UTC")
    code = arrow.dictionary(arrow.int32(), arrow.string())
    counts = arrow.map_(arrow.string(), arrow.int64())
    plain = [row.as_dict() for row in rows]

    def column(name: str) -> list[Any]:
        return [values[name] for values in plain]

    columns: dict[str, Any] = {
        "window_start": arrow.array([row.window_start for row in rows], instant),
        "window_end": arrow.array([row.window_end for row in rows], instant),
        "window_seconds": arrow.array(column("window_seconds"), arrow.int64()),
    }
    for name in (*_LABELS, "state", "rate_state"):
        columns[name] = arrow.array(column(name), arrow.string()).cast(code)
    for family in (*COUNTED_FAMILIES, *LATER_FAMILIES):
        states = arrow.array([row.states.get(str(family)) for row in rows], arrow.string())
        columns[f"state_{family}"] = states.cast(code)
    columns["rate"] = arrow.array(column("rate"), arrow.float64())
    for name in _COUNTS:
        columns[name] = arrow.array(column(name), arrow.int64())
    for name in MAPS:
        columns[name] = arrow.array([list(found.items()) for found in column(name)], counts)
    columns["causes"] = arrow.array(column("causes"), arrow.list_(arrow.string()))
    columns["absent"] = arrow.array(
        [[{"since": first, "until": last} for first, last in row.absent] for row in rows],
        arrow.list_(arrow.struct([("since", instant), ("until", instant)])),
    )
    columns["notes"] = arrow.array(column("notes"), arrow.list_(arrow.string()))
    about = {
        "format": FORMAT,
        "generated_at": iso(generated_at),
        "since": iso(wanted.since),
        "until": iso(wanted.until),
        "granularity_seconds": wanted.seconds,
        "window_seconds": wanted.window_seconds,
        "pipeline": None if pipeline is None else pipeline_values(pipeline),
    }
    table = arrow.table(columns).replace_schema_metadata({"unmask.report": json.dumps(about)})
    parquet.write_table(table, path)
