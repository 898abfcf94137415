"""The fold's parameters. All durations are microseconds of the broker's time."""

from dataclasses import dataclass

from unmask.schemas.windowing import MICROS

__all__ = ["LONGEST_LEASE_MS", "EffectRules"]

LONGEST_LEASE_MS = 86_400_000
"""A day. What takes longer is renewed."""


@dataclass(frozen=True, slots=True)
class EffectRules:
    """What the fold needs to know beside the log. Equal on all workers of a namespace."""

    retention_us: int = 30 * 86_400 * MICROS
    """How long a key or a budget is remembered after its last change. Longer than any lease."""
    tenant_keys: int = 100_000
    """Keys that one tenant may have on record in a partition."""
    keys: int = 1_000_000
    """Keys that a partition may have on record in all."""
