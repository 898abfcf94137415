"""The three timelines of a session over one another: what it used, what was written down, what was taken back."""

from unmask.consumers.record_answers import EXIT_CODES, RecordAnswer, exit_code_table
from unmask.consumers.timeline.build import SessionRecord, build_timeline, nothing_to_show
from unmask.consumers.timeline.document import Timeline, json_schema
from unmask.consumers.timeline.draw import draw
from unmask.consumers.timeline.read import read_record
from unmask.consumers.timeline.turns import Turns, TurnsError, parse_turns

__all__ = [
    "EXIT_CODES",
    "RecordAnswer",
    "SessionRecord",
    "Timeline",
    "Turns",
    "TurnsError",
    "build_timeline",
    "draw",
    "exit_code_table",
    "json_schema",
    "nothing_to_show",
    "parse_turns",
    "read_record",
]
