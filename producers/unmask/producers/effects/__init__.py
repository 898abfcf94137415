"""Effects: a host asks before it makes an effect that must not be made twice, and says afterwards what became of it.

Names are imported when they are first used, and no connection is made before the first question.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmask.producers.effects.answers import Claim, NotGranted, Settlement
    from unmask.producers.effects.client import EffectsClient
    from unmask.producers.effects.key import EffectKey
    from unmask.producers.effects.scoped import Effect

__all__ = ["Claim", "Effect", "EffectKey", "EffectsClient", "NotGranted", "Settlement"]

_HOMES = {
    "Claim": "answers",
    "Effect": "scoped",
    "EffectKey": "key",
    "EffectsClient": "client",
    "NotGranted": "answers",
    "Settlement": "answers",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
