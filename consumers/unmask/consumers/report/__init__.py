"""Reports on windows: which were asked for, what is known of each, and how it is written down."""

from unmask.consumers.report.cells import ReportRow
from unmask.consumers.report.dimensions import Dimension, DimensionError, Labels, Selection
from unmask.consumers.report.rows import build_rows
from unmask.consumers.report.table import to_table
from unmask.consumers.report.text import to_csv, to_json
from unmask.consumers.report.time_range import RangeError, TimeRange, parse_instant, parse_range

__all__ = [
    "Dimension",
    "DimensionError",
    "Labels",
    "RangeError",
    "ReportRow",
    "Selection",
    "TimeRange",
    "build_rows",
    "parse_instant",
    "parse_range",
    "to_csv",
    "to_json",
    "to_table",
]
