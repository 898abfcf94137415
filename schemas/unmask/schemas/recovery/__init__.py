"""Automatic choices of a session and what became of them: pure, standard library only.

A recovery that works is forgotten, and so is that it was meant for one turn. From the selections that hosts tell of,
`overlay` puts three timelines over one another (what turns really used, what was written down, what was taken back) and
says of each automatic choice how it lived and what is wrong with it. The rules and their reasons are in `rules`.
"""

from unmask.schemas.recovery.overlaid import Moment, Overlay, overlay
from unmask.schemas.recovery.recovered import Recovery
from unmask.schemas.recovery.selection import Selection

__all__ = ["Moment", "Overlay", "Recovery", "Selection", "overlay"]
