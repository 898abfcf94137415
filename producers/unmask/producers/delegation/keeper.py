"""Keeps the accounts of an emitter's delegations: in memory, and in the book where there is one.

Called in the host's own threads, so that it never waits for long and never raises. Who cannot have the book at once
leaves its entries in memory, where they count already, and the next one who can writes them.
"""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import ParamSpec

from unmask.producers import fork
from unmask.producers.delegation.account import Account, Entry
from unmask.producers.delegation.desk import Desk, Moving
from unmask.producers.delegation.saving import FORKED, Saving

__all__ = ["Keeper"]

P = ParamSpec("P")

_PATIENCE = 0.25
"""Seconds for which a call waits for another thread at most."""
_FORK_PATIENCE = 1.0
_CLOSE_S = 1.0
"""Seconds for which the end of the process tries a disk that fails."""
_LOOK = 0.02
_MOST_DESKS = 4_096
"""Delegations that are remembered in memory; beyond, those on which nobody works are forgotten, the oldest first."""
_FORGET_AT_ONCE = 64


class Keeper:
    """The accounts of one emitter's delegations. Its methods return soon and never raise an Exception."""

    def __init__(
        self,
        folder: Path | None,
        note_fault: Callable[[], None] = lambda: None,
        *,
        seconds: Callable[[], float] = monotonic,
    ) -> None:
        """`folder` is where the book is; without one there is none, and accounts live as long as the process."""
        self._note_fault = note_fault
        self._seconds = seconds
        self._desks: dict[str, Desk] = {}
        self._moving = Moving()
        self._saving = None if folder is None else Saving(folder, self._moving, note_fault, seconds)
        self._lost: str | None = None
        self._users = 0
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._owner = 0
        self._forks: list[bool] = []
        """For each fork that has begun, whether it has the lock: a signal handler may fork during another fork."""

    @property
    def problem(self) -> str | None:
        """What keeps accounts from the disk now: the system's name or SQLite's; None where nothing does."""
        return self._lost if self._saving is None else self._saving.problem

    def enter(self, delegation: str) -> None:
        """Somebody begins to work on a delegation: it is not forgotten, and the book stays open, until leave()."""
        self._locked(self._enter, delegation)

    def leave(self, delegation: str) -> None:
        """The work ends. With the last one the book is closed."""
        self._locked(self._leave, delegation)

    def post(self, delegation: str, *entries: Entry) -> Account:
        """Add to an account; how it stands then, with what other processes added to it until now."""
        if self._process != os.getpid():
            # A forked child that nobody told of the fork. First of all: what is added now is the child's own.
            self.begin_anew()
        desk = self._desks.get(delegation)
        if desk is None:
            desk = self._desks.setdefault(delegation, Desk())
        desk.fresh.extend(entries)
        if self._locked(self._settle, delegation, desk):
            return desk.view
        return desk.with_fresh(self._moving)

    def look(self, delegation: str) -> Account:
        """How an account stands."""
        return self.post(delegation)

    # -- called with the lock held

    def _enter(self, delegation: str) -> None:
        self._desks.setdefault(delegation, Desk()).users += 1
        self._users += 1
        if self._users == 1 and self._saving is not None:
            fork.watch(self)

    def _leave(self, delegation: str) -> None:
        desk = self._desks.get(delegation)
        if desk is None or not desk.users:
            return
        desk.users -= 1
        self._users -= 1
        if self._saving is not None:
            self._saving.try_at_once()
        self._settle(delegation, desk)
        if not self._users and all(one.idle for one in self._desks.values()):
            # Else the end of the process is to try the disk once more.
            fork.forget(self)

    def _settle(self, delegation: str, desk: Desk) -> None:
        desk.take_up(self._moving)
        saving = self._saving
        if saving is None:
            desk.unsaved.clear()
        elif not self._forks and saving.due():
            with fork.using_a_database_within(_PATIENCE) as free:
                if free:
                    saving.save(delegation, desk)
                    if not self._users:
                        # Whom no fork tells of itself must leave no file open.
                        saving.close()
        if len(self._desks) > _MOST_DESKS:
            for name in [name for name, one in self._desks.items() if one.idle][:_FORGET_AT_ONCE]:
                del self._desks[name]

    def _locked(self, step: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> bool:
        """Whether the step could be done: not where the lock is held for long, or by a frame below in this thread."""
        if self._process != os.getpid():
            self.begin_anew()
        lock = self._lock
        if self._owner == threading.get_ident() or not lock.acquire(timeout=_PATIENCE):
            return False
        self._owner = threading.get_ident()
        try:
            step(*args, **kwargs)
        except Exception:
            self._note_fault()
            return False
        finally:
            # Where a signal handler forked in the middle, the child has another lock by now.
            self._owner = 0
            lock.release()
        return True

    # -- what the process does; called by unmask.producers.fork

    def before_fork(self) -> None:
        """Close the file: SQLite's locks must not go over a fork. Nobody opens it until the fork is over."""
        mine = self._owner == threading.get_ident()
        quiet = not mine and self._lock.acquire(timeout=_FORK_PATIENCE)
        self._forks.append(quiet)
        if quiet and self._saving is not None:
            self._saving.close()

    def after_fork(self) -> None:
        """This is the parent."""
        if self._forks.pop():
            self._lock.release()

    def begin_anew(self) -> None:
        """This is a forked child: it goes on with what the parent knew, and opens the file for itself."""
        if self._process == os.getpid():
            return
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._owner = 0
        self._forks = []
        for desk in list(self._desks.values()):
            desk.begin_anew()
        if self._saving is not None and self._saving.abandon():
            # SQLite in this process believes to have the parent's locks on this file.
            self._saving, self._lost = None, FORKED

    def begin_closing(self) -> float:
        """The process ends. Returns until when the disk may be tried."""
        return monotonic() + _CLOSE_S

    def finish_closing(self, deadline: float) -> None:
        """Write what is left, and close the file."""
        while (left := [name for name, desk in self._desks.items() if desk.unsaved or desk.fresh]) and self._saving:
            for delegation in left:
                self._saving.try_at_once()
                self._locked(self._settle, delegation, self._desks[delegation])
            if self.problem is None or monotonic() >= deadline:
                break
            sleep(_LOOK)
        self._locked(self._end)

    def _end(self) -> None:
        if self._saving is not None:
            self._saving.close()
        fork.forget(self)
