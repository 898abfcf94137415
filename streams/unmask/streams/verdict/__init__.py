"""Verdicts: how an ended session is judged, from what the ledger's partitions know of it. Pure; no clock, no I/O."""

from unmask.streams.verdict.adjudicate import adjudicate
from unmask.streams.verdict.delegations import Delegation
from unmask.streams.verdict.merge import SessionView, merge_tallies
from unmask.streams.verdict.obligation import Obligation

__all__ = ["Delegation", "Obligation", "SessionView", "adjudicate", "merge_tallies"]
