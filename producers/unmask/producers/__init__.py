"""The host SDK: what a host calls to make its fallbacks visible.

Names are imported when they are first used: a library that only needs the port pays for the standard library alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmask.producers.classify import classify_upstream
    from unmask.producers.classify_reason import classify_refusal
    from unmask.producers.decorators import tracked
    from unmask.producers.delegation import Allowance, Budget, Delegation, DelegationAnswer, Signal
    from unmask.producers.delivered import TeardownDelivery
    from unmask.producers.effects.client import EffectsClient
    from unmask.producers.emitter import Emitter
    from unmask.producers.errors import NotAttempted
    from unmask.producers.log_watch import TraceHandler
    from unmask.producers.operation import Operation
    from unmask.producers.place import current_session
    from unmask.producers.port import (
        AgentTelemetrySink,
        FallbackTelemetrySink,
        NullSink,
        get_sink,
        set_sink,
        wiring_problem,
    )
    from unmask.producers.report import Counts, DeliveryReport, FamilyCount, Health, OutboxHealth, OutboxState
    from unmask.producers.selection import InvalidProfiles, NotAPreference, Selections, Turn
    from unmask.producers.session import Session
    from unmask.producers.settings import EmitterSettings
    from unmask.producers.ways import Substitute

__all__ = [
    "AgentTelemetrySink",
    "Allowance",
    "Budget",
    "Counts",
    "Delegation",
    "DelegationAnswer",
    "DeliveryReport",
    "EffectsClient",
    "Emitter",
    "EmitterSettings",
    "FallbackTelemetrySink",
    "FamilyCount",
    "Health",
    "InvalidProfiles",
    "NotAPreference",
    "NotAttempted",
    "NullSink",
    "Operation",
    "OutboxHealth",
    "OutboxState",
    "Selections",
    "Session",
    "Signal",
    "Substitute",
    "TeardownDelivery",
    "TraceHandler",
    "Turn",
    "classify_refusal",
    "classify_upstream",
    "current_session",
    "get_sink",
    "set_sink",
    "tracked",
    "wiring_problem",
]

_HOMES = {
    "AgentTelemetrySink": "port",
    "Allowance": "delegation",
    "Budget": "delegation",
    "Counts": "report",
    "Delegation": "delegation",
    "DelegationAnswer": "delegation",
    "DeliveryReport": "report",
    "EffectsClient": "effects.client",
    "Emitter": "emitter",
    "EmitterSettings": "settings",
    "FallbackTelemetrySink": "port",
    "FamilyCount": "report",
    "Health": "report",
    "InvalidProfiles": "selection",
    "NotAPreference": "selection",
    "NotAttempted": "errors",
    "NullSink": "port",
    "OutboxHealth": "report",
    "OutboxState": "report",
    "Selections": "selection",
    "Session": "session",
    "Signal": "delegation",
    "Operation": "operation",
    "Substitute": "ways",
    "TeardownDelivery": "delivered",
    "TraceHandler": "log_watch",
    "Turn": "selection",
    "classify_refusal": "classify_reason",
    "classify_upstream": "classify",
    "current_session": "place",
    "get_sink": "port",
    "set_sink": "port",
    "tracked": "decorators",
    "wiring_problem": "port",
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
