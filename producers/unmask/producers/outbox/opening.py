"""Setting up the outbox of a life that begins; where that fails the life goes on without one, and says so."""

from collections.abc import Callable
from pathlib import Path
from time import monotonic

from unmask.producers import fork
from unmask.producers.outbox.folder import LifeFolder
from unmask.producers.outbox.page import PAGE, Page
from unmask.producers.outbox.problems import name_of
from unmask.producers.outbox.store import Limits, OutboxStore
from unmask.producers.report import OutboxHealth, OutboxState
from unmask.producers.store import BatchStore, MemoryStore, Owner

__all__ = ["WithoutOutbox", "begin"]

_FORKED = "FORKED_INSIDE_DATABASE"


class WithoutOutbox(MemoryStore):
    """Batches in memory, because the outbox that was asked for could not be set up."""

    def __init__(self, limit: int, problem: str) -> None:
        super().__init__(limit)
        self._problem = problem

    def health(self) -> OutboxHealth | None:
        """Why there is none."""
        return OutboxHealth(OutboxState.UNAVAILABLE, self._problem)


def begin(owner: Owner, above: Path, limits: Limits, *, seconds: Callable[[], float] = monotonic) -> BatchStore:
    """The store of a new life: a folder of its own, locked, with a page on which its record calls count from now on."""
    if not fork.databases_work():
        return WithoutOutbox(limits.in_flight, _FORKED)
    try:
        folder = LifeFolder.create(above, owner.identity.emitter_id)
        try:
            page = Page(folder.path / PAGE, owner.identity)
            if owner.buffer is not None:
                page.count_for(owner.buffer)
        except BaseException:
            folder.remove()
            raise
    except OSError as error:
        return WithoutOutbox(limits.in_flight, name_of(error))
    return OutboxStore(owner, limits, folder, page, seconds=seconds)
