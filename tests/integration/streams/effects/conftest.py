"""A namespace with effects workers and hosts that ask them."""

from collections.abc import Callable, Iterator

import pytest
from tests.integration.streams.effects.asking_hosts import EffectsRig


@pytest.fixture
def rigged_effects() -> Iterator[Callable[[str, str], EffectsRig]]:
    """Make rigs on a broker: `rigged_effects(bootstrap, namespace)`. Workers and hosts end with the test."""
    made: list[EffectsRig] = []

    def make(bootstrap: str, namespace: str) -> EffectsRig:
        rig = EffectsRig(bootstrap, namespace)
        made.append(rig)
        return rig

    yield make
    for rig in made:
        rig.close()


@pytest.fixture
def rig(kafka: str, namespace: str, rigged_effects: Callable[[str, str], EffectsRig]) -> EffectsRig:
    """A rig on the shared broker."""
    return rigged_effects(kafka, namespace)
