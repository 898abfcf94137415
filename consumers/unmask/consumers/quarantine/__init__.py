"""The quarantine: which records could not be read and why, and how they are handed to the ledger again."""

from unmask.consumers.quarantine.entries import Entries, read_entries
from unmask.consumers.quarantine.judge import Condition, Original, State, judge
from unmask.consumers.quarantine.log_stretch import LogStretch
from unmask.consumers.quarantine.place import BadPlace, Place, parse_place
from unmask.consumers.quarantine.replay import Replay, append, conditions, mark_replayed

__all__ = [
    "BadPlace",
    "Condition",
    "Entries",
    "LogStretch",
    "Original",
    "Place",
    "Replay",
    "State",
    "append",
    "conditions",
    "judge",
    "mark_replayed",
    "parse_place",
    "read_entries",
]
