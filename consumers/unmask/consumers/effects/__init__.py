"""What one tenant's effects came to, from the decisions of the effects ledger. Never of two tenants at once."""

from unmask.consumers.effects.book import Book, EffectLine, State
from unmask.consumers.effects.read import read_book

__all__ = ["Book", "EffectLine", "State", "read_book"]
