"""Quick tallies: snapshots of cells, of which only the offset and the count change from one to the next.

What stays is encoded once per label and once per window, by the general encoder's own schema; of the rest two numbers
are left. A busy worker publishes thousands of these a second.
"""

from io import BytesIO
from typing import Any

from fastavro import parse_schema, schemaless_writer

from unmask.schemas.codec import headers
from unmask.schemas.growth import carrier
from unmask.schemas.history import published
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS
from unmask.streams.ledger.state import CellId

__all__ = ["QuickTally"]

_REMEMBERED = 50_000
_SOURCE, _WINDOW = ("partition", "offset"), ("window_start", "window_seconds")
_LABEL, _COUNT = ("scope", "measure", "capability", "code"), ("count", "sessions", "correction")
# No sessions, and no correction.
_PLAIN_END = b"\0\0"


class QuickTally:
    """Encodes tallies that name no session and correct nothing, as the single-object encoding has them."""

    def __init__(self) -> None:
        self._schemas = [_parts(schema.unparsed) for schema in published("tally")]
        self._windows: dict[tuple[int, int], tuple[bytes, str]] = {}
        self._labels: dict[tuple[Scope, str, str, str], tuple[bytes, bytes, str]] = {}

    def encode(self, partition: int, offset: int, cell_id: CellId, count: int) -> tuple[bytes, bytes]:
        """Key and value of a snapshot."""
        start, seconds, scope, measure, capability, code = cell_id
        window = self._windows.get((start, seconds)) or self._new_window(start, seconds)
        label = self._labels.get((scope, measure, capability, code)) or self._new_label(*cell_id[2:])
        value = b"".join((label[0], _long(partition), _long(offset), window[0], label[1], _long(count), _PLAIN_END))
        return f"c|{partition}{window[1]}{label[2]}".encode(), value

    def _new_window(self, start: int, seconds: int) -> tuple[bytes, str]:
        if len(self._windows) >= _REMEMBERED:
            self._windows.clear()
        encoded = _encoded(self._schemas[0][_WINDOW], {"window_start": start, "window_seconds": seconds})
        window = self._windows[start, seconds] = (encoded, f"|{seconds}|{start // MICROS}")
        return window

    def _new_label(self, scope: Scope, measure: str, capability: str, code: str) -> tuple[bytes, bytes, str]:
        if len(self._labels) >= _REMEMBERED:
            self._labels.clear()
        value = {"scope": scope._asdict(), "measure": measure, "capability": capability, "code": code}
        # As the general encoder: in the oldest version that has the measure.
        version = carrier("tally", value)[0].version
        encoded = _encoded(self._schemas[version - 1][_LABEL], value)
        text = f"|{scope.release_line}|{scope.composition}|{measure}|{capability}|{code}"
        label = self._labels[scope, measure, capability, code] = (headers("tally")[version - 1], encoded, text)
        return label


def _parts(schema: Any) -> dict[tuple[str, ...], Any]:
    """The schemas of those parts of a tally that are encoded once."""
    fields = {field["name"]: field for field in schema["fields"]}
    if tuple(fields) != (*_SOURCE, *_WINDOW, *_LABEL, *_COUNT):
        raise AssertionError("the tally's fields have changed: adapt QuickTally to them")
    named: dict[str, Any] = {}
    return {
        parts: parse_schema(
            {
                "type": "record",
                "name": f"Tally{parts[0].title().replace('_', '')}",
                "namespace": schema["namespace"],
                "fields": [fields[name] for name in parts],
            },
            named_schemas=named,
        )
        for parts in (_WINDOW, _LABEL)
    }


def _encoded(schema: Any, value: dict[str, Any]) -> bytes:
    out = BytesIO()
    schemaless_writer(out, schema, value, strict=True)
    return out.getvalue()


def _long(number: int) -> bytes:
    """A number that is not negative, as Avro has it."""
    number <<= 1
    if number < 128:
        return bytes((number,))
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
