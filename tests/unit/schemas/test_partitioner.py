"""Keys go where Java clients and Faust put them."""

import random

import pytest
from aiokafka.partitioner import murmur2

from unmask.schemas.partitioner import EmptyKey, partition_for

_RANDOM = random.Random(7)
KEYS = [f"session-{n}" for n in range(500)] + [
    "".join(_RANDOM.choices("abcXYZ019_.-", k=_RANDOM.randint(1, 64))) for _ in range(500)
]


@pytest.mark.parametrize("partitions", [1, 6, 64])
def test_a_thousand_keys_go_where_fausts_client_puts_them(partitions: int) -> None:
    """Case V07; librdkafka is asked in the integration tests."""
    for key in KEYS:
        assert partition_for(key, partitions) == (murmur2(key.encode()) & 0x7FFFFFFF) % partitions


@pytest.mark.parametrize("key", ["", b""])
def test_an_empty_key_is_refused(key: str | bytes) -> None:
    """Case V07."""
    with pytest.raises(EmptyKey, match="key is empty"):
        partition_for(key, 6)


def test_text_and_its_bytes_are_one_key() -> None:
    assert partition_for("é-1", 97) == partition_for("é-1".encode(), 97)
