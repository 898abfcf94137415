"""Why a range, or its newest part, could not be checked although the log was read: in words, with what to do."""

from collections.abc import Mapping, Sequence

from unmask.consumers.verify.compare import RECENT
from unmask.consumers.verify.evidence import AsOf
from unmask.consumers.verify.outcome import Mismatch
from unmask.consumers.verify.published import Mark
from unmask.consumers.verify.recount import Recount
from unmask.schemas.instants import iso

__all__ = ["obstacles"]


def obstacles(
    recount: Recount,
    as_of: AsOf,
    marks: Mapping[int, Mark],
    broker_time: int,
    until: int | None,
    open_still: Sequence[Mismatch],
    withheld: Sequence[Mismatch],
) -> list[str]:
    """Everything that stands in the way of a range that ends at `until`.

    `open_still` are mismatches that may heal, `withheld` those in which the stream claims nothing although it could.
    """
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
    counted = {mark.partitions for mark in marks.values()} - {len(recount.partitions)}
    if counted:
        told.append(
            f"the stream takes the log to have {sorted(counted)[0]} partitions, and it has {len(recount.partitions)}: "
            "restart its workers"
        )
    if open_still:
        told.append(
            f"{len(open_still)} records do not agree with the log, but the stream has not published all that it was "
            f"sent, so that they may yet (first: {open_still[0].what} {open_still[0].key}). Verify again, or give it "
            "more time with --settle"
        )
    if withheld:
        told.append(
            f"{len(withheld)} records still say PENDING, although the stream has marked all that settles them as read "
            f"(first: {withheld[0].what} {withheld[0].key}): its tables have stopped or are behind"
        )
    return told
