"""Rigs for the ledger's integration tests."""

from collections.abc import Callable, Iterator

import pytest
from tests.integration.streams.ledger.rig import Rig


@pytest.fixture
def rigged() -> Iterator[Callable[..., Rig]]:
    """Make rigs on a broker: `rigged(bootstrap, namespace)`. Their workers end with the test."""
    made: list[Rig] = []

    def make(bootstrap: str, namespace: str, **more: int) -> Rig:
        rig = Rig(bootstrap, namespace, **more)
        made.append(rig)
        return rig

    yield make
    for rig in made:
        rig.close()


@pytest.fixture
def rig(kafka: str, namespace: str, rigged: Callable[..., Rig]) -> Rig:
    """A rig on the shared broker."""
    return rigged(kafka, namespace)
