"""The murmur2 partitioner of Kafka's Java clients, for choosing and checking partitions without a client."""

__all__ = ["EmptyKey", "partition_for"]

_M = 0x5BD1E995
_SEED = 0x9747B28C
_MASK = 0xFFFFFFFF


class EmptyKey(ValueError):
    """A record without a key would land on a random partition. Give every record its key."""

    def __init__(self) -> None:
        super().__init__("a record key is empty; keyed topics need one, or their records scatter over partitions")


def _murmur2(data: bytes) -> int:
    length = len(data)
    h = (_SEED ^ length) & _MASK
    whole = length - length % 4
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * _M & _MASK
        k = (k ^ (k >> 24)) * _M & _MASK
        h = (h * _M & _MASK) ^ k
    rest = data[whole:]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * _M & _MASK
    h = (h ^ (h >> 13)) * _M & _MASK
    return h ^ (h >> 15)


def partition_for(key: bytes | str, partitions: int) -> int:
    """The partition of `key` among `partitions`, as Java, Faust and librdkafka's `murmur2_random` choose it.

    Raises EmptyKey.
    """
    raw = key.encode() if isinstance(key, str) else key
    if not raw:
        raise EmptyKey
    return (_murmur2(raw) & 0x7FFFFFFF) % partitions
