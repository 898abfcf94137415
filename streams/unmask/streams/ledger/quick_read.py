"""Quick reading: the usual batch without a Python object per event.

Reads what our own encoder writes: the newest schema, an emitter that was met before, one block per array. Anything
else, and anything that looks wrong, is left to the general decoder, which alone judges. Two things make it quick: the
first bytes of all batches of one emitter are equal, so that they are compared instead of decoded, and instants and
run ids of a group are columns of bytes that numpy checks and decodes at once.
"""

import re
from collections.abc import Callable
from io import BytesIO
from itertools import accumulate
from typing import Any

import numpy as np
from fastavro import parse_schema, schemaless_reader, schemaless_writer
from numpy.typing import NDArray

from unmask.schemas.codec import header
from unmask.schemas.history import latest, without_logical_types
from unmask.schemas.tokens import TOKEN_PATTERN

__all__ = ["LAST_INSTANT", "MOST", "QuickReader"]

LAST_INSTANT = 7_258_118_400_000_000
"""The year 2200; anything later is no instant of a running host."""
MOST = 10**15
"""No emitter counts further; sums and differences of such numbers fit into every record."""
_REMEMBERED_EMITTERS = 200_000
_FEW = 12
"""Up to so many items a loop is quicker than numpy."""
_TOKEN = re.compile(TOKEN_PATTERN.encode())
_FIRST = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_ALLOWED = _FIRST + b".-"

# An instant of our century in microseconds takes 8 bytes of 7 bits; all but the last have the top bit set.
_TOPS = np.uint64(0x8080808080808080)
_EIGHT = np.uint64(0x0080808080808080)
_LOW7 = np.uint64(0x7F7F7F7F7F7F7F7F)
_STEPS = (
    (np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00), np.uint64(1)),
    (np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000), np.uint64(2)),
    (np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000), np.uint64(4)),
)


class _Unusual(Exception):
    """Not the usual shape; the general decoder decides."""


class QuickReader:
    """Reads usual batches of emitters and labels that it was told of; `read` gives None for all others."""

    def __init__(self) -> None:
        schema = latest("event_batch")
        fields = {field["name"]: field for field in without_logical_types(schema.source)["fields"]}
        named: dict[str, Any] = {}
        self._emitter_schema = parse_schema({**fields["emitter"]["type"], "namespace": "unmask.v1"})
        families = fields["accounts"]["type"]["items"]["fields"][0]["type"]["symbols"]
        self._families: list[str] = families
        for name in ("emitter", "accounts", "route_attempts"):
            parse_schema(_record(f"Before{name.title().replace('_', '')}", [fields[name]]), named_schemas=named)
        rest = ("kernel_fallbacks", "masked_errors", "session_openings", "session_teardowns")
        self._rest_schema = parse_schema(_record("Rest", [fields[name] for name in rest]), named_schemas=named)
        self._header = header("event_batch")
        self._emitters: dict[bytes, tuple[bytes, dict[str, Any]]] = {}
        self._labels: dict[bytes, str] = {}

    def remember(self, key: bytes, value: bytes, batch: dict[str, Any]) -> None:
        """The general decoder has read and checked this batch: its emitter and labels are known from now on."""
        out = BytesIO()
        schemaless_writer(out, self._emitter_schema, batch["emitter"])
        prefix = self._header + out.getvalue()
        if not value.startswith(prefix):
            return
        if len(self._emitters) >= _REMEMBERED_EMITTERS:
            self._emitters.clear()
        self._emitters[key] = (prefix, batch["emitter"])
        if len(self._labels) > 10_000:
            self._labels.clear()
        for group in batch["route_attempts"]:
            for label in (group["capability"], group["entry_point"]):
                self._labels[label.encode()] = label

    def read(self, key: bytes, value: bytes) -> dict[str, Any] | None:
        """The batch; None where the general decoder must read it.

        Everything is checked but what its fallbacks, masked errors, openings and teardowns say. Run ids are checked
        and left out, since nothing counts by them; instants of large groups are numpy columns.
        """
        known = self._emitters.get(key)
        if known is None or not value.startswith(known[0]):
            return None
        try:
            return self._read(value, len(known[0]), known[1])
        except (_Unusual, IndexError, ValueError):
            return None

    def _read(self, value: bytes, at: int, emitter: dict[str, Any]) -> dict[str, Any]:
        batch_seq, at = _varint(value, at)
        sent_at, at = _varint(value, at)
        closing = value[at]
        at += 1
        if closing > 1 or not 1 <= batch_seq <= MOST or not 0 <= sent_at <= LAST_INSTANT:
            raise _Unusual
        accounts: list[dict[str, Any]] = []
        n = value[at]
        at += 1
        if n:
            if n & 0x81:
                raise _Unusual
            families = self._families
            for _ in range(n >> 1):
                if value[at] & 1:
                    raise _Unusual
                family = families[value[at] >> 1]
                recorded, at = _varint(value, at + 1)
                if value[at] or not 0 <= recorded <= MOST:
                    raise _Unusual
                at += 1
                accounts.append({"family": family, "recorded": recorded, "dropped": ()})
            if value[at] or (n > 2 and len({account["family"] for account in accounts}) != len(accounts)):
                raise _Unusual
            at += 1
        attempts: list[dict[str, Any]] = []
        n = value[at]
        at += 1
        if n:
            if n & 1:
                raise _Unusual
            if n > 127:
                n, at = _varint(value, at - 1)
                n *= 2
            labels = self._labels
            columns: list[tuple[int, int, int]] = []
            for _ in range(n >> 1):
                end = at + 1 + (value[at] >> 1)
                capability = labels.get(value[at + 1 : end])
                entry_end = end + 1 + (value[end] >> 1)
                entry_point = labels.get(value[end + 1 : entry_end])
                # An odd length is a negative one.
                if capability is None or entry_point is None or (value[at] | value[end]) & 1:
                    raise _Unusual
                at = entry_end
                size, at = _varint(value, at)
                instants: list[int] = []
                if size > _FEW:
                    columns.append((len(attempts), at, size))
                    at += 8 * size
                    if value[at]:
                        raise _Unusual
                    at += 1
                elif size:
                    instants, at = _few_instants(value, at, size)
                at = _skip_run_ids(value, at, size)
                attempts.append(
                    {"capability": capability, "entry_point": entry_point, "occurred_at": instants, "run_id": ()}
                )
            if value[at]:
                raise _Unusual
            at += 1
            if columns:
                for (index, _, _), column in zip(columns, _decoded(value, columns), strict=True):
                    attempts[index]["occurred_at"] = column
        batch: dict[str, Any] = {
            "emitter": emitter,
            "batch_seq": batch_seq,
            "sent_at": sent_at,
            "closing": closing == 1,
            "accounts": accounts,
            "route_attempts": attempts,
        }
        if value[at:] == b"\0\0\0\0":
            batch["kernel_fallbacks"] = batch["masked_errors"] = ()
            batch["session_openings"] = batch["session_teardowns"] = ()
            return batch
        body = BytesIO(value)
        body.seek(at)
        try:
            rest: Any = schemaless_reader(body, self._rest_schema, None)
        except Exception as error:
            raise _Unusual from error
        if body.tell() != len(value):
            raise _Unusual
        batch.update(rest)
        return batch


def _record(name: str, fields: list[Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "namespace": "unmask.v1", "fields": fields}


def _varint(value: bytes, at: int) -> tuple[int, int]:
    x = value[at]
    at += 1
    if x < 128:
        return (x >> 1) ^ -(x & 1), at
    u = x & 127
    shift = 7
    while True:
        x = value[at]
        at += 1
        u |= (x & 127) << shift
        if x < 128:
            return (u >> 1) ^ -(u & 1), at
        shift += 7
        if shift > 63:
            raise _Unusual


def _few_instants(value: bytes, at: int, n: int) -> tuple[list[int], int]:
    if n < 0:
        raise _Unusual
    few = []
    for _ in range(n):
        instant, at = _varint(value, at)
        if not 0 <= instant <= LAST_INSTANT:
            raise _Unusual
        few.append(instant)
    if value[at]:
        raise _Unusual
    return few, at + 1


def _decoded(value: bytes, columns: list[tuple[int, int, int]]) -> list[NDArray[np.int64]]:
    """The instants of columns, each given by where it begins and how long it is; all of them at once."""
    x = np.frombuffer(b"".join([value[at : at + 8 * n] for _, at, n in columns]), np.dtype("<u8"))
    if not ((x & _TOPS) == _EIGHT).all():
        raise _Unusual
    x = x & _LOW7
    for low, high, shift in _STEPS:
        x = (x & low) | ((x & high) >> shift)
    # Twice the instant where it is not negative, odd where it is.
    if (x & np.uint64(1)).any() or int(x.max()) > 2 * LAST_INSTANT:
        raise _Unusual
    instants = (x >> np.uint64(1)).view(np.int64)
    ends = list(accumulate(n for _, _, n in columns))
    return [instants[end - n : end] for end, (_, _, n) in zip(ends, columns, strict=True)]


def _skip_run_ids(value: bytes, at: int, instants: int) -> int:
    """Checks that run ids are tokens or empty and as many as the instants; nothing counts by them."""
    n, at = _varint(value, at)
    if n == 0:
        return at
    if n != instants:
        raise _Unusual
    length = value[at : at + 1]
    width = (length[0] >> 1) + 1
    end = at + n * width
    if n <= _FEW or width == 1 or length[0] & 0x81 or value[end]:
        return _skip_few(value, at, n)
    # Ids of one length stand in rows of one width: the lengths are a column, and so are the first letters.
    rows = value[at:end]
    lengths = length * n
    if rows[::width] != lengths:
        return _skip_few(value, at, n)
    if rows[1::width].translate(None, _FIRST):
        raise _Unusual
    # A length may be the code of a letter too, and is then taken away with them.
    if rows.translate(None, _ALLOWED) != (b"" if length in _ALLOWED else lengths):
        raise _Unusual
    return end + 1


def _skip_few(value: bytes, at: int, n: int) -> int:
    match: Callable[..., Any] = _TOKEN.fullmatch
    for _ in range(n):
        length = value[at]
        if length & 0x81:
            # Longer than 63 bytes, or negative: 64 is legal, and rare.
            raise _Unusual
        end = at + 1 + (length >> 1)
        if length and match(value, at + 1, end) is None:
            raise _Unusual
        at = end
    if value[at]:
        raise _Unusual
    return at + 1
