"""Checks the effects ledger's whole history with code of its own: no commit twice, none lost, every lease ended."""

from unmask.consumers.effects_check.check import Account, Rules, check_history
from unmask.consumers.effects_check.history import Asked, Decided, History, Partition
from unmask.consumers.effects_check.problems import Breach, Problem
from unmask.consumers.effects_check.read import read_history

__all__ = [
    "Account",
    "Asked",
    "Breach",
    "Decided",
    "History",
    "Partition",
    "Problem",
    "Rules",
    "check_history",
    "read_history",
]
