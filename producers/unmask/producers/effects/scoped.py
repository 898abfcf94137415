"""A claim as a context manager: what is left without a word is settled as far as that can be known."""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from unmask.producers.effects.answers import Claim, Settlement

if TYPE_CHECKING:
    from unmask.producers.effects.client import EffectsClient

__all__ = ["Effect"]


class Effect:
    """`with client.effect(...) as effect: if effect.granted: effect.commit(make_it())`.

    Left without a commit, the claim is released: the effect was not made. Left by an exception, it is not, since nobody
    knows whether the effect was made: its lease ends by its time, and the next holder is told to look first.
    """

    def __init__(self, client: "EffectsClient", arguments: dict[str, Any]) -> None:
        self._client = client
        self._arguments = arguments
        self._claim: Claim | None = None
        self.settlement: Settlement | None = None
        """What became of it last."""

    @property
    def claim(self) -> Claim:
        """The answer. Raises RuntimeError before the block is entered."""
        if self._claim is None:
            raise RuntimeError("an effect is claimed when its block is entered: use `with client.effect(...)`")
        return self._claim

    @property
    def granted(self) -> bool:
        """Whether the effect may be made."""
        return self.claim.granted

    def commit(self, receipt: str, **options: Any) -> Settlement:
        """It was made; see EffectsClient.commit."""
        return self._settled(self._client.commit(self.claim, receipt, **options))

    def release(self, **options: Any) -> Settlement:
        """It was not made; see EffectsClient.release."""
        return self._settled(self._client.release(self.claim, **options))

    def renew(self, *lease: Any, **options: Any) -> Settlement:
        """More time; see EffectsClient.renew."""
        renewed = self._client.renew(self.claim, *lease, **options)
        self._claim = renewed.claim
        return renewed

    def __enter__(self) -> Self:
        self._claim = self._client.claim(**self._arguments)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self.settlement is None and self.claim.granted:
            self.release()

    def _settled(self, settlement: Settlement) -> Settlement:
        self.settlement = settlement
        return settlement
