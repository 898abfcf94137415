"""What names an effect, as it is published: every part a token, a digest where the host's own text is none."""

import hashlib
from dataclasses import asdict, dataclass
from typing import Self

from unmask.schemas.keys import effect_id, effect_route
from unmask.schemas.tokens import opaque_id

__all__ = ["EffectKey", "fingerprint_token"]


@dataclass(frozen=True, slots=True)
class EffectKey:
    """Tenant, failure, strategy, its version and the budget: the whole of it is the key."""

    tenant: str
    failure: str
    strategy: str
    strategy_version: str
    budget_key: str

    @classmethod
    def of(cls, tenant: str, failure: str, strategy: str, strategy_version: str, budget_key: str) -> Self:
        """The key of what a host names. Raises ValueError where a part is empty."""
        parts = (tenant, failure, strategy, strategy_version, budget_key)
        if not all(parts):
            raise ValueError("tenant, failure, strategy, strategy_version and budget_key name an effect; one is empty")
        return cls(*map(opaque_id, parts))

    @property
    def effect_id(self) -> str:
        """A token that stands for the key."""
        return effect_id(self.tenant, self.failure, self.strategy, self.strategy_version, self.budget_key)

    @property
    def route(self) -> str:
        """Key of its records."""
        return effect_route(self.tenant, self.budget_key)

    def parts(self) -> dict[str, str]:
        """The parts by name, as in a record."""
        return asdict(self)


def fingerprint_token(content: str | bytes) -> str:
    """The fingerprint of an effect's content: a token as it is, anything else by its digest. Raises ValueError."""
    if not content:
        raise ValueError("a fingerprint is a digest of what the effect would do; it is empty")
    if isinstance(content, bytes):
        return "sha256-" + hashlib.sha256(content).hexdigest()[:32]
    return opaque_id(content)
