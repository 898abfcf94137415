"""Why a range, or its newest part, could not be checked although the log was read: in words, with what to do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unmask.consumers.verify.evidence import AsOf
from unmask.consumers.verify.outcome import Mismatch
from unmask.consumers.verify.published import Mark
from unmask.consumers.verify.recount import Recount
from unmask.consumers.verify.span import RECENT
from unmask.schemas.instants import iso

__all__ = ["Open", "obstacles"]


@dataclass(frozen=True, slots=True)
class Open:
    """What was still open when the time to settle was over."""

    mismatches: Sequence[Mismatch] = ()
    """Disagreements that changed a moment ago, and may heal."""
    unread: int = 0
    """Records that stood in the log at the beginning and that the stream has not read yet."""
    withheld: Sequence[Mismatch] = ()
    """Records that still say PENDING although the stream has read all that settles them."""
    sizes: Sequence[int] = ()
    """Window sizes that were asked for and that the stream does not count."""
    counted: Sequence[int] = ()
    """Window sizes that it does."""


def obstacles(
    recount: Recount, as_of: AsOf, marks: Mapping[int, Mark], broker_time: int, until: int | None, still: Open
) -> list[str]:
    """Everything that stands in the way of a range that ends at `until`."""
    told: list[str] = []
    missing = sorted(partition for partition in recount.partitions if partition not in marks)
    grace = max((mark.grace for mark in marks.values()), default=0)
    closed = as_of.closed_through(recount.partitions)
    if missing:
        told.append(
            f"the stream has published no mark of the partitions {missing}: it does not run, or not yet. Start it with "
            "`unmask stream`, then verify again"
        )
    elif broker_time - closed > RECENT + grace and (until is None or until > closed):
        told.append(
            f"the stream has closed windows only through {iso(max(0, closed))} and the broker's time is "
            f"{iso(broker_time)}: it is behind or has stopped, and what is newer was not checked"
        )
    if still.unread and not missing:
        told.append(
            f"{still.unread:,} record(s) stand in the log that the stream has not read yet: it is behind or has "
            "stopped. Start it, or give it more time with --settle; what it has read was checked"
        )
    counted = {mark.partitions for mark in marks.values()} - {len(recount.partitions)}
    if counted:
        told.append(
            f"the stream takes the log to have {sorted(counted)[0]} partitions, and it has {len(recount.partitions)}: "
            "restart its workers"
        )
    if still.mismatches:
        told.append(
            f"{len(still.mismatches):,} record(s) do not agree with the log, but changed a moment ago and may yet "
            f"(first: {still.mismatches[0].what} {still.mismatches[0].key}). Verify again, or give it more time with "
            "--settle"
        )
    if still.withheld:
        told.append(
            f"{len(still.withheld):,} record(s) still say PENDING, although the stream has read all that settles them "
            f"(first: {still.withheld[0].what} {still.withheld[0].key}): its tables have stopped or are behind"
        )
    if still.sizes:
        told.append(
            f"the stream counts no windows of {', '.join(map(str, still.sizes))} s, only of "
            f"{', '.join(map(str, still.counted))}: choose among these with --window-seconds"
        )
    return told
