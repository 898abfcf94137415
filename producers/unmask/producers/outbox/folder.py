"""One folder per life, below the outbox of its events topic. A lock on the folder itself says that the life goes on.

The lock is flock's on the opened folder: the kernel takes it back when the process dies, however it dies, and nobody
can delete it by itself, as a lock file could be. A forked child has the same open folder and must close it (`leave`):
the lock stays as long as anybody has it open. Nothing here unlocks in any other way than by closing.
"""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

__all__ = ["LifeFolder"]

_COMING, _GOING = ".new-", ".done-"
_TRIES = 3


class LifeFolder:
    """A life's folder whose lock this process holds."""

    def __init__(self, path: Path, opened: int) -> None:
        self.path = path
        self._opened = opened

    @property
    def name(self) -> str:
        """The emitter_id."""
        return self.path.name

    @classmethod
    def create(cls, above: Path, emitter_id: str) -> Self:
        """A new folder, for this process alone. Raises OSError."""
        above.mkdir(mode=0o700, parents=True, exist_ok=True)
        for attempt in range(_TRIES):
            coming = above / f"{_COMING}{emitter_id}-{attempt}"
            coming.mkdir(mode=0o700)
            opened = _locked(coming)
            if opened is None:
                # Somebody who tidies up was quicker.
                continue
            try:
                # Under its own name only once it is locked, so that nobody can take it for a dead one's.
                coming.rename(above / emitter_id)
            except OSError:
                os.close(opened)
                raise
            return cls(above / emitter_id, opened)
        raise OSError(errno.ENOLCK, "a new folder could not be locked")

    @classmethod
    def of_the_dead(cls, above: Path, passed_over: frozenset[str] = frozenset()) -> Iterator[Self]:
        """Folders of lives that are over, locked, one at a time; whoever takes one must leave or remove it.

        Tidies up on the way what dying processes left of folders that were about to come or to go.
        """
        try:
            names = sorted(os.listdir(above))
        except OSError:
            return
        for name in names:
            path = above / name
            if name in passed_over or (name.startswith(".") and not name.startswith((_COMING, _GOING))):
                continue
            opened = _locked(path)
            if opened is None:
                continue
            folder = cls(path, opened)
            if name.startswith("."):
                folder._delete()
            else:
                yield folder

    def there(self) -> bool:
        """Whether it still stands where it did."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._opened))
        except OSError:
            return False

    def remove(self) -> None:
        """Delete it, in one step for whoever looks, and give the lock back. Raises OSError where that is refused."""
        if self.there():
            going = self.path.with_name(f"{_GOING}{self.path.name}")
            self.path.rename(going)
            self.path = going
        self._delete()

    def leave(self) -> None:
        """Give the lock back, and with it the folder to whoever finds it."""
        if self._opened >= 0:
            opened, self._opened = self._opened, -1
            os.close(opened)

    def _delete(self) -> None:
        if self.path.name.startswith("."):
            shutil.rmtree(self.path, ignore_errors=True)
        self.leave()


def _locked(path: Path) -> int | None:
    """The opened folder, locked; None where it is not there, not ours to open, or somebody has it."""
    opened = -1
    with suppress(OSError):
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever had the lock until now may have moved the folder away in the meantime.
        if os.path.samestat(os.stat(path), os.fstat(opened)):
            return opened
    if opened >= 0:
        os.close(opened)
    return None
