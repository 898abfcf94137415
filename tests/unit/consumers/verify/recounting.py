"""The recount of a log in memory."""

from tests.unit.consumers.verify.hosts import Log

from unmask.consumers.verify.recount import PartitionFacts, Recount
from unmask.consumers.verify.rules import RecountRules
from unmask.consumers.verify.strict import StrictReader
from unmask.schemas.framing import SingleObjectFraming

__all__ = ["FRAMING", "TABLES", "recount_of"]

TABLES = 3
FRAMING = SingleObjectFraming()


def recount_of(
    log: Log, rules: RecountRules | None = None, grace: dict[int, int] | None = None, **keep: int
) -> Recount:
    """The recount of what is kept of a log; `keep` are the first offsets kept, by `p0`, `p1` ..."""
    starts = {p: keep.get(f"p{p}", 0) for p in range(log.partitions)}
    waits = dict.fromkeys(starts, 5_000_000) if grace is None else grace
    partitions = {}
    for partition, start in starts.items():
        deleted = [r.arrival for r in log.records if r.partition == partition and r.offset < start]
        partitions[partition] = PartitionFacts(start, head=max(deleted, default=0))
    recount = Recount(StrictReader(FRAMING), rules or RecountRules(), waits, partitions)
    for record in log.records:
        if record.offset >= starts[record.partition]:
            recount.take(record.partition, record.offset, record.arrival, record.key, record.value)
    return recount
