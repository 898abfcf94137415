"""Quick reading: the usual batch without a Python object per event.

Reads what our own encoder writes: the newest schema, an emitter that was met before, one block per array. Anything
else, and anything that looks wrong, is left to the general decoder, which alone judges. Two things make it quick: the
first bytes of all batches of one emitter are equal, so that they are compared instead of decoded, and the instants
and run ids of all groups are columns of bytes that are checked and decoded at once.
"""

import re
import struct
from collections.abc import Callable, Sequence
from functools import cache
from io import BytesIO
from typing import Any
from zlib import crc32

import numpy as np
from fastavro import parse_schema, schemaless_reader, schemaless_writer
from numpy.typing import NDArray

from unmask.schemas.bounds import LAST_INSTANT, MOST
from unmask.schemas.codec import HEADER_LENGTH, MAGIC
from unmask.schemas.codes import Family
from unmask.schemas.history import PublishedSchema, published
from unmask.schemas.tokens import TOKEN_PATTERN

__all__ = ["DOUBLE", "SINGLE", "QuickReader", "Unusual", "column", "number"]

_REMEMBERED_EMITTERS = 200_000
_FEW = 256
"""So many instants of a batch are decoded as one long integer; of more, numpy is quicker."""
_REMEMBERED_LABELS = 10_000
_REMEMBERED_WITNESSES = 1_000
_UNKNOWN = Family.UNKNOWN_FAMILY.value
_BEFORE = ("emitter", "accounts", "route_attempts")
_NOTHING_NEW = dict.fromkeys(("route_selections", "delegation_progress", "delegation_effects", "witnesses"), ())
_ATTEMPT = Family.ROUTE_ATTEMPT.value
_TOKEN = re.compile(TOKEN_PATTERN.encode())
_FIRST = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_ALLOWED = _FIRST + b".-"

# What follows the emitter in a batch of one attempt and nothing else, family 0 being that of attempts: batch_seq,
# sent_at, closing, one account without drops, one group, its labels, its instant, its run id, four empty arrays. Labels
# are looked up with their lengths, so that it does not matter where the pattern believes them to end.
_NUMBER = rb"([\x80-\xff]{0,8}[\x00-\x7f])"
_INSTANT = rb"([\x80-\xff]{7}[\x00-\x7f])"
SINGLE = re.compile(
    _NUMBER + _INSTANT + rb"([\x00\x01])\x02\x00" + _NUMBER + rb"\x00\x00\x02([^\x02]{4,130})\x02" + _INSTANT
    + rb"\x00(?:\x00|\x02(.)(" + TOKEN_PATTERN.encode() + rb")\x00)\x00{5}",
    re.DOTALL,
)  # fmt: skip
_SHORT = 200
DOUBLE = [bytes((2 * length,)) for length in range(65)]

# An instant of our century in microseconds takes 8 bytes of 7 bits; all but the last have the top bit set.
_TOPS = 0x8080808080808080
_EIGHT = 0x0080808080808080
_LOW7 = 0x7F7F7F7F7F7F7F7F
_SIGN = 1
_STEPS = (
    (0x007F007F007F007F, 0x7F007F007F007F00, 1),
    (0x00003FFF00003FFF, 0x3FFF00003FFF0000, 2),
    (0x000000000FFFFFFF, 0x0FFFFFFF00000000, 4),
)
_NUMPY_STEPS = tuple((np.uint64(low), np.uint64(high), np.uint64(shift)) for low, high, shift in _STEPS)


class Unusual(Exception):
    """Not the usual shape; the general decoder decides."""


class QuickReader:
    """Reads usual batches of emitters and labels that it was told of; `read` gives None for all others."""

    def __init__(self) -> None:
        self._layouts = {MAGIC + schema.fingerprint: _Layout(schema) for schema in published("event_batch")}
        self._emitters: dict[bytes, _Known] = {}
        self.labels: dict[bytes, tuple[str, str]] = {}

    def remember(self, key: bytes, value: bytes, batch: dict[str, Any]) -> None:
        """The general decoder has read and checked this batch: its emitter and labels are known from now on."""
        layout = self._layouts.get(value[:HEADER_LENGTH])
        if layout is None:
            return
        prefix = value[:HEADER_LENGTH] + _encoded(layout.emitter, batch["emitter"])
        if not value.startswith(prefix):
            return
        if len(self._emitters) >= _REMEMBERED_EMITTERS:
            self._emitters.clear()
        self._emitters[key] = (prefix, batch["emitter"], crc32(prefix), layout)
        layout.remember_witnesses(batch["witnesses"])
        if len(self.labels) > _REMEMBERED_LABELS:
            self.labels.clear()
        for group in batch["route_attempts"]:
            labels = (group["capability"], group["entry_point"])
            known = b"".join(_string(label) for label in labels)
            self.labels[known] = labels

    def known(self, key: bytes | None) -> "_Known | None":
        """What the batches of an emitter begin with, and the emitter; None where its batches hold other parts."""
        known = self._emitters.get(key) if key is not None else None
        return known if known is not None and known[3].version == 1 else None

    def read(self, key: bytes, value: bytes) -> dict[str, Any] | None:
        """The batch; None where the general decoder must read it.

        Everything is checked but what its fallbacks, masked errors, openings and teardowns say. Run ids are checked
        and left out, since nothing counts by them; instants are tuples, those of large batches numpy columns. A key
        of its own, `digest`, tells the record's bytes from others; another, `summary`, holds the first and the last
        instant of all attempts, and where the batch tells of nothing else what `read_account` would say, else None;
        with it there are no `accounts`.
        """
        known = self._emitters.get(key)
        if known is None or not value.startswith(known[0]):
            return None
        at = len(known[0])
        try:
            if len(value) - at <= _SHORT and (match := SINGLE.fullmatch(value, at)) is not None:
                return self._read_single(known[1], crc32(value), *match.groups())
            return self._read(value, at, known[1], known[3])
        except (Unusual, IndexError, ValueError):
            return None

    def _read_single(
        self, emitter: dict[str, Any], digest: int, seq: bytes, sent: bytes, closing: bytes, count: bytes,
        label: bytes, at: bytes, length: bytes | None, run_id: bytes | None,
    ) -> dict[str, Any]:  # fmt: skip
        """A batch of a single attempt, from the parts of its bytes."""
        labels = self.labels.get(label)
        batch_seq, recorded = number(seq), number(count)
        if labels is None or (run_id is not None and length != DOUBLE[len(run_id)]):
            raise Unusual
        instants = _decoded_few(sent + at, 2)
        if max(instants) > LAST_INSTANT or not 1 <= batch_seq <= MOST or recorded > MOST:
            raise Unusual
        sent_at, occurred_at = instants
        capability, entry_point = labels
        return {
            "emitter": emitter,
            "batch_seq": batch_seq,
            "sent_at": sent_at,
            "closing": closing == b"\1",
            "route_attempts": (
                {"capability": capability, "entry_point": entry_point, "occurred_at": (occurred_at,), "run_id": ()},
            ),
            "kernel_fallbacks": (),
            "masked_errors": (),
            "session_openings": (),
            "session_teardowns": (),
            "summary": (occurred_at, occurred_at, ({_ATTEMPT: recorded}, {}, {_ATTEMPT: 1})),
            "digest": digest,
        }

    def _read(self, value: bytes, at: int, emitter: dict[str, Any], layout: "_Layout") -> dict[str, Any]:
        batch_seq, at = _varint(value, at)
        # The cut is an instant like those of the events, and is decoded with them.
        columns = [value[at : at + 8]]
        at += 8
        closing = value[at]
        if closing > 1 or not 1 <= batch_seq <= MOST:
            raise Unusual
        shipped, at = _read_accounts(value, at + 1, layout.families)
        attempts: list[dict[str, Any]] = []
        sizes: list[int] = []
        n = value[at]
        at += 1
        if n:
            if n & 1:
                raise Unusual
            if n > 127:
                n, at = _varint(value, at - 1)
                n *= 2
            at = self._read_attempts(value, at, n >> 1, attempts, sizes, columns)
        events = sum(sizes)
        instants, first, last = _instants(columns, events + 1)
        begin = 1
        for group, size in zip(attempts, sizes, strict=True):
            group["occurred_at"] = instants[begin : begin + size]
            begin += size
        witnesses = layout.quiet.get(value[at:])
        quiet: Any = None
        if witnesses is not None:
            shipped.pop(_UNKNOWN, None)
            quiet = (shipped, {}, {_ATTEMPT: events} if attempts else {})
        # In one piece, so that it need not grow.
        batch: dict[str, Any] = {
            "emitter": emitter,
            "batch_seq": batch_seq,
            "sent_at": int(instants[0]),
            "closing": closing == 1,
            "route_attempts": attempts,
            "kernel_fallbacks": (),
            "masked_errors": (),
            "session_openings": (),
            "session_teardowns": (),
            "summary": (first, last, quiet),
            "digest": crc32(value),
        }
        if quiet is not None:
            if witnesses:
                batch["witnesses"] = witnesses
            return batch
        body = BytesIO(value)
        body.seek(at)
        try:
            rest: Any = schemaless_reader(body, layout.rest, None)
        except Exception as error:
            raise Unusual from error
        if body.tell() != len(value):
            raise Unusual
        batch["accounts"] = [
            {"family": name, "recorded": recorded, "dropped": ()} for name, recorded in shipped.items()
        ]
        batch.update(_NOTHING_NEW)
        batch.update(rest)
        if rest.get("witnesses") and not any(said for name, said in rest.items() if name != "witnesses"):
            # The next one that holds nothing else is known by its bytes.
            layout.remember_witnesses(rest["witnesses"])
        return batch

    def _read_attempts(
        self, value: bytes, at: int, groups: int, attempts: list[dict[str, Any]], sizes: list[int],
        columns: list[bytes],
    ) -> int:  # fmt: skip
        """Adds the groups, how many events each has, and the bytes of their instants; where the next field begins."""
        known = self.labels
        ids: list[bytes] = []
        for _ in range(groups):
            end = at + 1 + (value[at] >> 1)
            end += 1 + (value[end] >> 1)
            labels = known.get(value[at:end])
            if labels is None:
                # Lengths that are negative, or take two bytes, are of no label that is known.
                raise Unusual
            size, at = value[end], end + 1
            if size & 0x81:
                size, at = _varint(value, end)
                if size < 0:
                    raise Unusual
            else:
                size >>= 1
            sizes.append(size)
            if size:
                end = at + 8 * size
                columns.append(value[at:end])
                if value[end]:
                    raise Unusual
                at = end + 1
            at = _pass_run_ids(value, at, size, ids)
            attempts.append({"capability": labels[0], "entry_point": labels[1], "occurred_at": (), "run_id": ()})
        if value[at] or (ids and not _are_tokens(ids)):
            raise Unusual
        return at + 1


class _Layout:
    """One version of the batch: what its parts are read with."""

    def __init__(self, schema: PublishedSchema) -> None:
        self.version = schema.version
        fields = {field["name"]: field for field in schema.unparsed["fields"]}
        named: dict[str, Any] = {}
        self.emitter = parse_schema({**fields["emitter"]["type"], "namespace": "unmask.v1"})
        self.families: list[str] = fields["accounts"]["type"]["items"]["fields"][0]["type"]["symbols"]
        for name in _BEFORE:
            parse_schema(_record(f"Before{name.title().replace('_', '')}", [fields[name]]), named_schemas=named)
        rest = tuple(fields)[tuple(fields).index("kernel_fallbacks") :]
        self.rest = parse_schema(_record("Rest", [fields[name] for name in rest]), named_schemas=named)
        self._witnesses: Any = None
        if "witnesses" in rest:
            self._witnesses = parse_schema(_record("Witnesses", [fields["witnesses"]]), named_schemas=named)
        self._empty = b"\0" * (len(rest) - ("witnesses" in rest))
        self.quiet: dict[bytes, tuple[str, ...]] = {}
        """What follows the attempts where a batch holds nothing else, and which families its emitter witnesses."""
        self.remember_witnesses(())

    def remember_witnesses(self, witnesses: Sequence[str]) -> None:
        """A batch of this version says that its emitter witnesses these."""
        tail = self._empty
        if self._witnesses is not None:
            tail += _encoded(self._witnesses, {"witnesses": list(witnesses)})
        if len(self.quiet) < _REMEMBERED_WITNESSES:
            self.quiet[tail] = tuple(witnesses)


_Known = tuple[bytes, dict[str, Any], int, _Layout]
"""What the batches of an emitter begin with, the emitter, the digest of that beginning, and the layout of the rest."""


def _read_accounts(value: bytes, at: int, families: list[str]) -> tuple[dict[str, int], int]:
    """Recorded events per family, none of them dropped, and where the next field begins."""
    shipped: dict[str, int] = {}
    n = value[at]
    at += 1
    if not n:
        return shipped, at
    if n & 0x81:
        raise Unusual
    for _ in range(n >> 1):
        if value[at] & 1:
            raise Unusual
        family = families[value[at] >> 1]
        recorded, at = _varint(value, at + 1)
        if value[at] or not 0 <= recorded <= MOST or family in shipped:
            raise Unusual
        at += 1
        shipped[family] = recorded
    if value[at]:
        raise Unusual
    return shipped, at + 1


def _encoded(schema: Any, value: Any) -> bytes:
    out = BytesIO()
    schemaless_writer(out, schema, value)
    return out.getvalue()


def _record(name: str, fields: list[Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "namespace": "unmask.v1", "fields": fields}


def number(raw: bytes) -> int:
    """A number from exactly its bytes; raises Unusual where it is negative."""
    u = shift = 0
    for x in raw:
        u |= (x & 127) << shift
        shift += 7
    if u & 1:
        raise Unusual
    return u >> 1


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
            raise Unusual


def _string(text: str) -> bytes:
    """A short string as it stands in a record; a long one as it stands in none."""
    raw = text.encode()
    return bytes((2 * len(raw),)) + raw if len(raw) < 64 else b""


def _instants(columns: list[bytes], n: int) -> tuple[tuple[int, ...] | NDArray[np.int64], int, int]:
    """The instants in columns of numbers of 8 bytes each; the first and the last but for the very first number."""
    data = b"".join(columns)
    if len(data) != 8 * n:
        raise Unusual
    instants: Any = _decoded_few(data, n) if n <= _FEW else column(data)
    if n == 1:
        first = last = instants[0]
    elif n == 2:
        first = last = instants[1]
    elif n <= _FEW:
        first, last = min(instants[1:]), max(instants[1:])
    else:
        first, last = int(instants[1:].min()), int(instants[1:].max())
    if last > LAST_INSTANT or instants[0] > LAST_INSTANT:
        raise Unusual
    return instants, first, last


@cache
def _lanes(n: int) -> tuple[Any, ...]:
    """The masks for `n` numbers of 64 bits in one integer, and how they are unpacked."""
    ones = sum(1 << 64 * lane for lane in range(n))
    steps = [ones * mask for low, high, _ in _STEPS for mask in (low, high)]
    return ones * _TOPS, ones * _EIGHT, ones * _LOW7, ones * _SIGN, *steps, struct.Struct(f"<{n}Q").unpack


def _decoded_few(data: bytes, n: int) -> tuple[int, ...]:
    """The instants in a column of numbers of 8 bytes each."""
    tops, eight, low7, sign, low1, high1, low2, high2, low4, high4, unpack = _lanes(n)
    x = int.from_bytes(data, "little")
    if x & tops != eight:
        raise Unusual
    x &= low7
    x = (x & low1) | ((x & high1) >> 1)
    x = (x & low2) | ((x & high2) >> 2)
    x = (x & low4) | ((x & high4) >> 4)
    # Twice the instant where it is not negative, odd where it is.
    if x & sign:
        raise Unusual
    instants: tuple[int, ...] = unpack((x >> 1).to_bytes(8 * n, "little"))
    return instants


def column(data: bytes) -> NDArray[np.int64]:
    """As _decoded_few, for many."""
    x = np.frombuffer(data, np.dtype("<u8"))
    if not ((x & np.uint64(_TOPS)) == np.uint64(_EIGHT)).all():
        raise Unusual
    x = x & np.uint64(_LOW7)
    for low, high, shift in _NUMPY_STEPS:
        x = (x & low) | ((x & high) >> shift)
    if (x & np.uint64(_SIGN)).any():
        raise Unusual
    return (x >> np.uint64(1)).view(np.int64)


def _pass_run_ids(value: bytes, at: int, instants: int, ids: list[bytes]) -> int:
    """Passes over run ids, which must be empty or as many as the instants; where the next field begins.

    Ids of one length stand in rows of one width, which go to `ids` and are checked together later; others are checked
    here. Nothing counts by them.
    """
    n = value[at]
    if n == 0:
        return at + 1
    if n & 0x81:
        n, at = _varint(value, at)
    else:
        n, at = n >> 1, at + 1
    if n != instants:
        raise Unusual
    length = value[at]
    width = (length >> 1) + 1
    end = at + n * width
    # Where their lengths differ, what stands there may be anything.
    if length & 0x81 or width == 1 or len(value) <= end or value[end] or value[at:end:width] != bytes((length,)) * n:
        return _skip_few(value, at, n)
    ids.append(value[at:end])
    return end + 1


def _are_tokens(ids: list[bytes]) -> bool:
    """Whether rows of ids, each of one length, hold tokens."""
    if len(ids) == 1 or len({rows[0] for rows in ids}) == 1:
        return _rows_are_tokens(ids[0] if len(ids) == 1 else b"".join(ids))
    return all(map(_rows_are_tokens, ids))


def _rows_are_tokens(rows: bytes) -> bool:
    length = rows[:1]
    width = (length[0] >> 1) + 1
    if len(rows) == width:
        return _TOKEN.fullmatch(rows, 1) is not None
    if rows[1::width].translate(None, _FIRST):
        return False
    # A length may be the code of a letter too, and is then taken away with them.
    return rows.translate(None, _ALLOWED) == (b"" if length in _ALLOWED else length * (len(rows) // width))


def _skip_few(value: bytes, at: int, n: int) -> int:
    match: Callable[..., Any] = _TOKEN.fullmatch
    for _ in range(n):
        length = value[at]
        if length & 0x81:
            # Longer than 63 bytes, or negative: 64 is legal, and rare.
            raise Unusual
        end = at + 1 + (length >> 1)
        if length and match(value, at + 1, end) is None:
            raise Unusual
        at = end
    if value[at]:
        raise Unusual
    return at + 1
