"""What an operator does with verdicts: look at all that was ever said of a session, and withdraw what is wrong."""

from unmask.consumers.verdicts.chronicle import Said, read_chronicle
from unmask.consumers.verdicts.withdrawal import NothingToWithdraw, Withdrawal, WithdrawalUnrecorded, withdraw

__all__ = ["NothingToWithdraw", "Said", "Withdrawal", "WithdrawalUnrecorded", "read_chronicle", "withdraw"]
