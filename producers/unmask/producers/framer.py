"""How batches get their bytes: at once, or only after a schema registry has told the schema's id.

Asking the registry may take seconds, so that it is asked in the background alone. Until it has answered once nothing is
cut and events wait in their lanes; afterwards encoding never asks again.
"""

from collections.abc import Callable
from typing import Any, Self

from unmask.schemas import history
from unmask.schemas.errors import RegistryUnavailable
from unmask.schemas.framing import Framing, SingleObjectFraming, framing_from_environment

__all__ = ["REGISTRY_UNAVAILABLE", "Framer"]

REGISTRY_UNAVAILABLE = "REGISTRY_UNAVAILABLE"
_RECORD = "event_batch"


class Framer:
    """Encodes the batches of one life. A forked child takes another one: clients do not survive a fork."""

    def __init__(self, make: Callable[[], Framing]) -> None:
        self._make = make
        self._framing: Framing | None = None
        self.ready = False
        """Whether encoding needs nobody's answer any more."""

    @classmethod
    def from_environment(cls) -> Self:
        """As SCHEMA_REGISTRY_URL says. Raises RegistryClientMissing; asks nobody."""
        # Here and not in the background: a fork in the middle of an import leaves the import's lock held in the child.
        history.latest(_RECORD)
        framer = cls(framing_from_environment)
        framer._use(framing_from_environment())
        return framer

    @classmethod
    def single_object(cls) -> Self:
        """Without a registry."""
        framer = cls(SingleObjectFraming)
        framer._use(SingleObjectFraming())
        return framer

    def anew(self) -> "Framer":
        """For a forked child: another client, made when it is needed."""
        return self if isinstance(self._framing, SingleObjectFraming) else Framer(self._make)

    def prepare(self, sample: Callable[[], dict[str, Any]]) -> bool:
        """Whether it is ready now, after asking the registry where it has not answered yet. Takes seconds at most."""
        if not self.ready:
            if self._framing is None:
                self._use(self._make())
            try:
                self.encode(_RECORD, sample())
            except RegistryUnavailable:
                return False
            self.ready = True
        return True

    def encode(self, record: str, value: dict[str, Any]) -> bytes:
        """The framed bytes. Raises EncodeError, and RegistryUnavailable while not ready."""
        assert self._framing is not None
        return self._framing.encode(record, value)

    def _use(self, framing: Framing) -> None:
        self._framing = framing
        self.ready = self.ready or isinstance(framing, SingleObjectFraming)
