"""How much the page keeps and shows. What is left out is always said."""

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the page's memory, and of each of its lists. Records, unless the name says otherwise."""

    look_back_s: int = 2 * 3600
    """How far back windows are read when the page is opened."""
    sessions_look_back_s: int = 24 * 3600
    """The same for sessions, verdicts and admissions; an older session is looked up when its page is opened."""
    windows: int = 60
    """Windows that are kept, of each size."""
    records_of_a_window: int = 500
    """Release lines, compositions and capabilities that are kept of one window."""
    sessions: int = 1_000
    alerts: int = 1_000
    emitters: int = 2_000
    shown: int = 50
    """Lines of a list on the page and in the JSON."""
    shown_windows: int = 12
    """Windows that have a line of their own on the page; of all that are kept it shows the state."""
    viewers: int = 32
    """Pages that are kept up to date at one time by one worker."""
    slow_s: float = 30.0
    """So long a viewer may take for an update before it is let go."""
    idle_s: float = 60.0
    """After so long without a viewer nothing is read any more, and everything is forgotten."""
