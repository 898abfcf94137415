"""The kinds of fields that records are made of. Every text among them is bounded."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from unmask.schemas.scope import Scope
from unmask.schemas.signatures import is_signature
from unmask.schemas.tokens import is_token

__all__ = [
    "AlertId",
    "CellLabel",
    "Count",
    "Digest",
    "Flag",
    "Hex",
    "Number",
    "PartitionNumber",
    "Ratio",
    "RunId",
    "ScopeField",
    "SequenceNumber",
    "Signature",
    "Token",
    "TopicName",
    "WindowSeconds",
]

_LONG = 2**63 - 1
_INT = 2**31 - 1


def _token(text: str) -> str:
    if not is_token(text):
        # The text itself is not quoted: it may be what must not be published.
        raise ValueError("not a bounded token (1 to 64 of letters, digits, '_', '-', '.'), or shaped like a credential")
    return text


def _cell_label(text: str) -> str:
    return text if text == "-" else _token(text)


def _run_id(text: str) -> str:
    return text and _token(text)


def _alert_id(text: str) -> str:
    for part in text.split("|"):
        if part != "*":
            _token(part)
    return text


def _signature(text: str) -> str:
    if not is_signature(text):
        raise ValueError("not a masked upstream signature; see unmask.schemas.signatures for the grammar")
    return text


def _scope(value: Any) -> Any:
    if isinstance(value, Scope):
        parts: Any = value._asdict()
    elif isinstance(value, list | tuple):
        raise ValueError("a scope is given by its names: release_line, event_contract, ...")
    else:
        parts = value
    if not isinstance(parts, dict) or set(parts) != set(Scope._fields):
        raise ValueError(f"a scope has exactly the parts {', '.join(Scope._fields)}")
    if not all(isinstance(part, str) for part in parts.values()):
        raise ValueError("the parts of a scope are texts")
    return Scope(**{name: _token(part) for name, part in parts.items()})


Token = Annotated[str, AfterValidator(_token)]
"""An identifier or label: a bounded token."""

RunId = Annotated[str, AfterValidator(_run_id)]
"""A token, or the empty text where an attempt belongs to no run."""

AlertId = Annotated[str, AfterValidator(_alert_id)]
"""The identity of an alert's condition: tokens divided by `|`, `*` where a part stands for all."""

CellLabel = Annotated[str, AfterValidator(_cell_label)]
"""A token, or `-` where a measure has no such label."""

Signature = Annotated[str, AfterValidator(_signature)]
"""A masked upstream signature of the closed grammar."""

Hex = Annotated[str, Field(pattern=r"^[0-9a-f]{1,1024}$")]
"""Bytes as lower-case hex digits."""

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256, as 64 hex digits."""

TopicName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._\-]{1,249}$")]
"""A name that Kafka takes for a topic."""

Count = Annotated[int, Field(strict=True, ge=0, le=_LONG)]
"""How many; an Avro long."""

SequenceNumber = Annotated[int, Field(strict=True, ge=1, le=_LONG)]
"""1, 2, 3 ... as an Avro long."""

Number = Annotated[int, Field(strict=True, ge=-_LONG - 1, le=_LONG)]
"""A position, which may be -1 where there is none; an Avro long."""

PartitionNumber = Annotated[int, Field(strict=True, ge=0, le=_INT)]
"""A partition, or how many there are; an Avro int."""

WindowSeconds = Annotated[int, Field(strict=True, ge=0, le=_INT)]
"""The size of a window; 0 is the lifetime window."""

Ratio = Annotated[float, Field(strict=True, ge=0.0, le=1.0)]
"""A share between 0 and 1; there is no NaN, a share of nothing is None."""

Flag = Annotated[bool, Field(strict=True)]
"""Yes or no, and nothing that merely looks like it."""

ScopeField = Annotated[
    Scope,
    BeforeValidator(_scope),
    PlainSerializer(lambda scope: scope._asdict(), return_type=dict[str, str]),
]
"""A Scope, written as an object of its five tokens."""
