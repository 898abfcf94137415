"""Parity evidence: what a CI run counted, published to a topic of its own, and read back from there."""

from unmask.consumers.parity.junit import JUnitCounts, JUnitUnusable, read_junit
from unmask.consumers.parity.publish import ParityUndelivered, ParityUnusable, publish_run
from unmask.consumers.parity.reading import ParityRecords, parity_source, read_parity

__all__ = [
    "JUnitCounts",
    "JUnitUnusable",
    "ParityRecords",
    "ParityUndelivered",
    "ParityUnusable",
    "parity_source",
    "publish_run",
    "read_junit",
    "read_parity",
]
