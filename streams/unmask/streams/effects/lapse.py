"""Leases that are over: whatever asks for a key next finds that out. Pure."""

from dataclasses import replace

from unmask.streams.effects.state import Effect, EffectKey, PartitionState, Standing

__all__ = ["lapse"]


def lapse(state: PartitionState, key: EffectKey) -> Effect | None:
    """The effect of a key, its newest lease ended where its time is over; None where nothing is known of the key."""
    effect = state.effects.get(key)
    if effect is None or effect.standing is not Standing.HELD or effect.live(state.now):
        return effect
    # Nobody said whether the effect was made: whoever gets the next lease must look first.
    ended = replace(effect, standing=Standing.LAPSED, unsettled=effect.unsettled + 1, changed_at=state.now)
    state.put(key, ended)
    return ended
