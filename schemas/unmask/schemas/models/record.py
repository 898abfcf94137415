"""The frame of every model: frozen, closed, without NaN; and the way to and from a record's plain dict."""

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from unmask.schemas.instants import FROM_MICROS, to_micros
from unmask.schemas.scope import Scope

__all__ = ["Record", "from_avro", "to_avro"]


class Record(BaseModel):
    """A value of the contract, as people and other processes meet it."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


AnyRecord = TypeVar("AnyRecord", bound=Record)


def to_avro(model: Record) -> dict[str, Any]:
    """The model as the codec takes it: instants as microseconds, codes as their text."""
    return {name: _plain(getattr(model, name)) for name in type(model).model_fields}


def from_avro(model: type[AnyRecord], value: Mapping[str, Any]) -> AnyRecord:
    """A decoded dict as a model. Raises pydantic's ValidationError where it breaks a rule of the contract."""
    return model.model_validate(value, context={FROM_MICROS: True})


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return to_avro(value)
    if isinstance(value, Scope):
        return value._asdict()
    if isinstance(value, datetime):
        return to_micros(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
