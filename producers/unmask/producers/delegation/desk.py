"""One delegation in this process: what happened to it, on its way from the host's threads into its account."""

from collections import deque
from collections.abc import Iterable
from contextlib import suppress

from unmask.producers.delegation.account import Account, Entry

__all__ = ["Desk", "Moving"]

_MOST_UNSAVED = 1_000
"""Entries that wait for the disk one by one; of more, the older half becomes one entry, which has no steps."""
_MOST_SIGNALS = 4_096


class Moving:
    """Names of the signals that have been seen to move, in whatever delegation; the first 4,096 of them."""

    __slots__ = ("_names", "unlearned")

    def __init__(self) -> None:
        self._names: set[str] = set()
        self.unlearned: set[str] = set()
        """Those of which the book does not know it yet."""

    def add(self, names: Iterable[str]) -> None:
        """These move."""
        for name in names:
            if name not in self._names and len(self._names) < _MOST_SIGNALS:
                self._names.add(name)
                self.unlearned.add(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names


class Desk:
    """Entries go from `fresh`, which any thread adds to, into the view, and are unsaved until the book has them."""

    __slots__ = ("fresh", "saved", "unsaved", "users", "view")

    def __init__(self) -> None:
        self.fresh: deque[Entry] = deque()
        self.unsaved: list[Entry] = []
        self.view = Account()
        """The account with everything that was taken up."""
        self.saved = Account()
        """As it was in the book when this process last looked."""
        self.users = 0
        """Who works on it now."""

    @property
    def idle(self) -> bool:
        """Whether it may be forgotten."""
        return not (self.users or self.unsaved or self.fresh)

    def take_up(self, moving: Moving) -> None:
        """Take up what is fresh. For one thread at a time."""
        while self.fresh:
            entry = self.fresh.popleft()
            moving.add(entry.moving)
            self.view = self.view.after(entry, moving)
            moving.add(self.view.breaker.moved)
            self.unsaved.append(entry)
        if len(self.unsaved) > _MOST_UNSAVED:
            half = _MOST_UNSAVED // 2
            merged = self.unsaved[0]
            for entry in self.unsaved[1:half]:
                merged = merged.without_step(entry)
            self.unsaved[:half] = [merged]

    def is_saved(self, account: Account) -> None:
        """The book has it all, and this is the account there."""
        self.view = self.saved = account
        self.unsaved.clear()

    def with_fresh(self, moving: Moving) -> Account:
        """The view with what nobody has taken up yet; nothing is changed."""
        account = self.view
        with suppress(RuntimeError):  # another thread takes it up at this moment
            for entry in list(self.fresh):
                account = account.after(entry, moving)
        return account

    def begin_anew(self) -> None:
        """The process is a forked child: what the parent has not written is the parent's to write."""
        self.fresh.clear()
        self.unsaved.clear()
