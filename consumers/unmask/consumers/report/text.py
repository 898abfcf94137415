"""A report for programs, as JSON and CSV. Nothing is ever written as NaN."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from unmask.consumers.report.cells import COUNTED_FAMILIES, LATER_FAMILIES, ReportRow
from unmask.consumers.report.dimensions import Selection
from unmask.consumers.report.document import FORMAT
from unmask.consumers.report.pipeline import PipelineState
from unmask.consumers.report.time_range import TimeRange
from unmask.schemas.instants import iso

__all__ = ["FLAT", "MAPS", "pipeline_values", "to_csv", "to_json"]

FLAT = (
    "window_start", "window_end", "window_seconds", "release_line", "composition", "capability", "reason",
    "entry_point", "tenant", "state", "attempts", "fallbacks_total", "rate", "rate_state", "masked_errors", "emitters",
    "late", "skewed", "duplicates", "quarantined", "compositions", "selections", "delegation_calls",
    "delegation_effects",
)  # fmt: skip
"""Columns of one value."""
MAPS = (
    "losses", "attempts_by_entry_point", "fallbacks_by_reason", "masked_errors_by_class", "teardowns_by_outcome",
    "windows", "selections_by_timeline", "delegation_calls_by_outcome", "delegation_effects_by_step",
)  # fmt: skip
"""Columns of counts by code."""


def to_json(
    rows: Sequence[ReportRow],
    wanted: TimeRange,
    *,
    generated_at: int,
    selection: Selection | None = None,
    pipeline: PipelineState | None = None,
    remarks: Sequence[str] = (),
) -> str:
    """The report as one JSON document of the published schema; what is not known is null."""
    document = {
        "format": FORMAT,
        "generated_at": iso(generated_at),
        "since": iso(wanted.since),
        "until": iso(wanted.until),
        "granularity_seconds": wanted.seconds,
        "window_seconds": wanted.window_seconds,
        "by": sorted(selection.dimensions) if selection is not None else [],
        "pipeline": None if pipeline is None else pipeline_values(pipeline),
        "remarks": list(remarks),
    }
    head = json.dumps(document, indent=2, allow_nan=False).removesuffix("\n}")
    # One line for each row: what is indented deeper is written many times slower, and read by nobody.
    lines = ",\n".join(f"    {json.dumps(row.as_dict(), allow_nan=False)}" for row in rows)
    return f'{head},\n  "rows": [\n{lines}\n  ]\n}}' if lines else f'{head},\n  "rows": []\n}}'


def pipeline_values(state: PipelineState) -> dict[str, Any]:
    """Plain values, for JSON."""
    return {
        "stage": str(state.stage),
        "words": state.words,
        "fix": state.fix,
        "waiting": state.waiting,
        "read_through": None if state.read_through is None else iso(state.read_through),
    }


def to_csv(rows: Sequence[ReportRow]) -> str:
    """The report as CSV with a header; what is not known is empty, and maps are `code=count` divided by spaces."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    families = [str(family) for family in (*COUNTED_FAMILIES, *LATER_FAMILIES)]
    writer.writerow([*FLAT, *(f"state_{family}" for family in families), "causes", *MAPS, "absent", "notes"])
    for row in rows:
        plain = row.as_dict()
        writer.writerow(
            [
                *("" if plain[name] is None else plain[name] for name in FLAT),
                *(row.states.get(family, "") for family in families),
                " ".join(row.causes),
                *(_pairs(plain[name]) for name in MAPS),
                " ".join(f"{stretch['since']}/{stretch['until']}" for stretch in plain["absent"]),
                "; ".join(row.notes),
            ]
        )
    return out.getvalue()


def _pairs(counts: dict[str, int]) -> str:
    return " ".join(f"{code}={count}" for code, count in sorted(counts.items()))
