"""The guard of a session's selections: an automatic choice is for its turn, and only the user's choice lasts."""

from unmask.producers.selection.errors import InvalidProfiles, NotAPreference
from unmask.producers.selection.guard import SelectionRecorder, Selections
from unmask.producers.selection.turn import Turn

__all__ = ["InvalidProfiles", "NotAPreference", "SelectionRecorder", "Selections", "Turn"]
