"""Where the development broker keeps its files, and the lock that keeps two starts apart."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["broker_folder", "home_folder", "locked"]


def home_folder() -> Path:
    """The per-user cache folder: `UNMASK_HOME`, or `~/.cache/unmask`."""
    configured = os.environ.get("UNMASK_HOME")
    return Path(configured).expanduser().absolute() if configured else Path.home() / ".cache" / "unmask"


def broker_folder() -> Path:
    """The data folder of the shared development broker: `UNMASK_BROKER_DIR`, or `broker` in the cache folder."""
    configured = os.environ.get("UNMASK_BROKER_DIR")
    return Path(configured).expanduser().absolute() if configured else home_folder() / "broker"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; waits for whoever holds it.

    The lock file lies beside the folder, not in it: wiping the folder must not take the lock away from a waiter.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.parent / f".{folder.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
