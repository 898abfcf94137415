"""The digest of a verdict: SHA-256 over everything that decides, so that no part of it can be changed unnoticed.

Everything decides but the digest itself, the signature over it, and by whom and in which order it was published: a
verdict that is published again, because somebody overwrote it, is the same verdict. (Writer and sequence are signed.)
Parts that say nothing (null, an empty list) are left out: a field that a later version adds leaves the digests of older
verdicts as they are, and a reader that does not know a field which does say something computes another digest, and
refuses.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from unmask.schemas.errors import EncodeError
from unmask.schemas.history import latest
from unmask.schemas.models.record import to_avro
from unmask.schemas.models.verdict import Verdict

__all__ = ["canonical_digest", "seal", "verdict_digest", "verify_digest"]

# Made once: a gate computes a digest for every question.
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_SCALARS = frozenset((str, int, float, bool))
_NOT_DIGESTED = frozenset({"digest", "signature", "writer", "sequence"})


def verdict_digest(verdict: Verdict | Mapping[str, Any]) -> str:
    """The digest, 64 hex digits, of a model or of a decoded dict (instants in microseconds).

    Raises EncodeError where a dict holds what no verdict can: a NaN, a datetime.
    """
    value = to_avro(verdict) if isinstance(verdict, Verdict) else verdict
    doubles = _doubles()
    # One pass over the record's own fields: a gate does this for every question.
    said: dict[str, Any] = {}
    for name, item in value.items():
        if name in _NOT_DIGESTED:
            continue
        if name in doubles:
            item = _double(item)
        if type(item) in _SCALARS:
            said[str(name)] = item
        elif not _silent(item):
            said[str(name)] = _without_silence(item)
    return _digest(said)


def canonical_digest(value: Mapping[str, Any]) -> str:
    """SHA-256, 64 hex digits, over a value's one canonical text; parts that say nothing do not change it.

    Raises EncodeError where it holds what no record can: a NaN, a datetime.
    """
    return _digest(_without_silence(value))


def _digest(said: Any) -> str:
    try:
        text = _CANONICAL.encode(said)
    except (TypeError, ValueError) as error:
        raise EncodeError("not a record: it holds a NaN, or a value that records have no type for") from error
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def verify_digest(verdict: Verdict | Mapping[str, Any]) -> bool:
    """Whether the verdict's digest is the one of its content."""
    claimed = verdict.digest if isinstance(verdict, Verdict) else verdict.get("digest")
    if not isinstance(claimed, str):
        return False
    try:
        return hmac.compare_digest(claimed.encode(), verdict_digest(verdict).encode())
    except EncodeError:
        return False


def seal(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict's dict with its digest set, and without a signature, which an older digest would not match."""
    return {**verdict, "digest": verdict_digest(verdict), "signature": None}


@cache
def _doubles() -> frozenset[str]:
    fields = latest("verdict").source["fields"]
    return frozenset(field["name"] for field in fields if "double" in (field["type"], *field["type"]))


def _double(item: Any) -> Any:
    # 0 and 0.0 are one ratio and one Avro double, but two texts; so are 0.0 and -0.0.
    return float(item) + 0.0 if isinstance(item, int | float) else item


def _without_silence(value: Any) -> Any:
    if type(value) is dict or isinstance(value, Mapping):
        # Most are plain values, which say something and hold nothing.
        return {
            str(name): item if type(item) in _SCALARS else _without_silence(item)
            for name, item in value.items()
            if type(item) in _SCALARS or not _silent(item)
        }
    if isinstance(value, list | tuple):
        return [item if type(item) in _SCALARS else _without_silence(item) for item in value]
    return value


def _silent(item: Any) -> bool:
    return item is None or (isinstance(item, list | tuple | Mapping) and not item)
