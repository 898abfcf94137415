"""Intake: from the bytes of one Kafka record to a checked request, or the reason why it cannot be one.

Everything that the fold rests on is checked here. No text of a refused record goes anywhere.
"""

from unmask.schemas.codes import EffectRequestKind, QuarantineReason
from unmask.schemas.errors import DecodeError
from unmask.schemas.framing import Framing, SingleObjectFraming
from unmask.schemas.keys import effect_route
from unmask.schemas.partitioner import partition_for
from unmask.schemas.tokens import is_token
from unmask.streams.effects.fold import Request
from unmask.streams.effects.rules import LONGEST_LEASE_MS
from unmask.streams.effects.state import EffectKey

__all__ = ["Intake"]

_RECORDS = ("effect_request",)
_MOST = 2**62
_NEEDED = {
    EffectRequestKind.CLAIM.value: ("fingerprint", "lease_ms"),
    EffectRequestKind.COMMIT.value: ("fencing_token", "receipt"),
    EffectRequestKind.RELEASE.value: ("fencing_token",),
    EffectRequestKind.RENEW.value: ("fencing_token", "lease_ms"),
    EffectRequestKind.EXPIRE.value: ("fencing_token",),
}
_TEXTS = ("request_id", "holder", *EffectKey._fields)
_OPTIONAL_TEXTS = ("fingerprint", "receipt")
_NUMBERS = {"lease_ms": LONGEST_LEASE_MS, "budget_limit": _MOST, "fencing_token": _MOST}


class Intake:
    """Decodes and checks requests of a topic with so many partitions."""

    def __init__(self, partitions: int, framing: Framing | None = None) -> None:
        self._partitions = partitions
        self._decode = (framing or SingleObjectFraming()).decode_any

    def read(self, partition: int, key: bytes | None, value: bytes | None) -> Request:
        """The request in a record.

        Raises DecodeError with the reason for the quarantine, and RegistryUnavailable, which says nothing about the
        record.
        """
        _, request = self._decode(_RECORDS, value)
        for name in _TEXTS:
            _token(request[name])
        for name in _OPTIONAL_TEXTS:
            if request[name] is not None:
                _token(request[name])
        for name in _NEEDED.get(request["kind"], ()):
            _content(request[name] is not None, "a field that the kind needs is missing")
        for name, most in _NUMBERS.items():
            _content(request[name] is None or 1 <= request[name] <= most, "a number is out of range")
        route = effect_route(request["tenant"], request["budget_key"])
        if key != route.encode():
            raise DecodeError(QuarantineReason.EMPTY_KEY, "the key is not the request's tenant and budget key")
        # On another partition another writer would decide about the same key.
        _content(partition_for(route, self._partitions) == partition, "it stands on another partition than its key's")
        return request


def _token(text: str) -> None:
    if not is_token(text):
        raise DecodeError(QuarantineReason.INVALID_TOKEN, "a text is not a token")


def _content(holds: bool, rule: str) -> None:
    if not holds:
        raise DecodeError(QuarantineReason.INVALID_CONTENT, rule)
