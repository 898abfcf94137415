"""Workers as values: how far each source partition is counted, and by whom."""

from unmask.schemas.instants import from_micros
from unmask.schemas.topics import Topics
from unmask.schemas.windowing import MICROS
from unmask.streams.ledger.pieces import read_head
from unmask.streams.web.page.memory import Memory
from unmask.streams.web.page.reading import Reading
from unmask.streams.web.page.values import GroupLine, PartitionLine, PartitionState

__all__ = ["group_lines", "partition_lines"]

_BEHIND = 15 * MICROS
_MANY = 10_000


def partition_lines(
    memory: Memory, reading: Reading, topics: Topics, now: int, stalled: int
) -> tuple[PartitionLine, ...]:
    """Every partition of the events. `now` and `stalled` in microseconds. Raises LedgerStateUnreadable."""
    return tuple(_line(p, memory, reading, topics, now, stalled) for p in range(topics.events_partitions))


def _line(p: int, memory: Memory, reading: Reading, topics: Topics, now: int, stalled: int) -> PartitionLine:
    end, known = reading.ends.get(p), memory.heads.get(p)
    if known is None:
        return PartitionLine(
            partition=p, worker=None, state=PartitionState.UNCOUNTED, next_offset=None, log_end=end, lag=end,
            read_through=None, committed_at=None,
        )  # fmt: skip
    head = read_head(known.raw)
    lag = None if end is None else max(0, end - head.next_offset)
    return PartitionLine(
        partition=p,
        worker=head.writer.removeprefix(f"{topics.namespace}.ledger."),
        state=_state(lag, now - known.committed_at, now - head.read_through, stalled),
        next_offset=head.next_offset,
        log_end=end,
        lag=lag,
        read_through=from_micros(head.read_through) if head.read_through else None,
        committed_at=from_micros(known.committed_at),
    )


def _state(lag: int | None, unheard: int, unread: int, stalled: int) -> PartitionState:
    if unheard > stalled:
        return PartitionState.STALLED
    if lag and (lag > _MANY or unread > _BEHIND):
        return PartitionState.LAGGING
    return PartitionState.CURRENT


def group_lines(reading: Reading, topics: Topics, ledger: str, tables: str) -> tuple[GroupLine, ...]:
    """The ledger's group and the tables'; none before the broker has described them."""
    partitions = {ledger: topics.events_partitions, tables: topics.table_partitions}
    return tuple(
        GroupLine(
            part="ledger" if group.name == ledger else "tables",
            members=group.members,
            state=group.state,
            # While partitions move nobody is asked to have them.
            unassigned=tuple(sorted(set(range(partitions[group.name])) - group.assigned))
            if group.state == "STABLE"
            else (),
        )
        for group in reading.groups
        if group.name in partitions
    )
