"""A claim of a delegation as a context: the client's, with each answer on record."""

from typing import TYPE_CHECKING, Any, Self

from unmask.producers.effects.key import fingerprint_token
from unmask.producers.effects.scoped import Effect

if TYPE_CHECKING:
    from unmask.producers.delegation.effects import Effects
    from unmask.producers.effects import EffectsClient, Settlement

__all__ = ["DelegatedEffect"]


class DelegatedEffect(Effect):
    """See `unmask.producers.effects.Effect`, of which it does the same."""

    def __init__(
        self, delegation: "Effects", client: "EffectsClient", arguments: dict[str, Any], turn: int | None
    ) -> None:
        super().__init__(client, arguments)
        self._delegation = delegation
        self._turn = turn
        self._fingerprint = fingerprint_token(arguments["fingerprint"])

    def __enter__(self) -> Self:
        super().__enter__()
        self._delegation.claimed(self.claim, fingerprint=self._fingerprint, turn=self._turn)
        return self

    def commit(self, receipt: str, **options: Any) -> "Settlement":
        """It was made; see EffectsClient.commit."""
        return self._told(super().commit(receipt, **options))

    def release(self, **options: Any) -> "Settlement":
        """It was not made; see EffectsClient.release."""
        return self._told(super().release(**options))

    def _told(self, settlement: "Settlement") -> "Settlement":
        self._delegation.settled(settlement, fingerprint=self._fingerprint, turn=self._turn)
        return settlement
