"""The disk outbox: what an emitter has recorded outlives its process, and is sent and accounted for by the next start.

Off unless a folder is named. Until then nothing more than this file is imported, and no file is touched.
"""

from typing import TYPE_CHECKING

from unmask.producers.settings import EmitterSettings
from unmask.producers.store import MemoryStore, Stores

if TYPE_CHECKING:
    from unmask.producers.batcher import Encode
    from unmask.producers.custody import Clock
    from unmask.producers.outbox.adopter import Adopter
    from unmask.producers.outbox.store import Limits

__all__ = ["adopter_for", "stores_for"]


def stores_for(settings: EmitterSettings) -> Stores:
    """What keeps batches under these settings: a folder of the emitter's own, or memory."""
    above = settings.outbox
    if above is None:
        return lambda _: MemoryStore(settings.max_unacknowledged)
    # Here and not in the background: a fork in the middle of an import leaves the import's lock held in the child.
    from unmask.producers.outbox.opening import begin

    return lambda owner: begin(owner, above, _limits(settings))


def adopter_for(settings: EmitterSettings, clock: "Clock", encode: "Encode", own: str) -> "Adopter | None":
    """What sends the outboxes of dead emitters; None where there are none. `own` is the living emitter's id."""
    above = settings.outbox
    if above is None:
        return None
    from unmask.producers.outbox.adopter import Adopter

    return Adopter(above, _limits(settings), clock, encode, own)


def _limits(settings: EmitterSettings) -> "Limits":
    from unmask.producers.outbox.store import Limits

    return Limits(settings.outbox_max_bytes, settings.outbox_max_age_s * 1_000_000, settings.max_unacknowledged)
