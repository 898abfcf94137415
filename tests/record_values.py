"""Values of the contract's records for properties: whatever Avro lets a schema hold, or only what the rules allow."""

from typing import Any

from hypothesis import strategies as st

from unmask.schemas.signatures import SIGNATURE_WORDS
from unmask.schemas.tokens import TOKEN_PATTERN, is_token

INT = st.integers(-(2**31), 2**31 - 1)
LONG = st.integers(-(2**63), 2**63 - 1)
COUNT = st.integers(0, 2**63 - 1)
# The years 1 to 9999, in microseconds.
INSTANT = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)
TOKEN = st.from_regex(TOKEN_PATTERN, fullmatch=True).filter(is_token)
DIGEST = st.text("0123456789abcdef", min_size=64, max_size=64)
TEXTS = {
    "event_type": st.just("kernel_fallback.v1"),
    "route_expected": st.just("kernel"),
    "runtime_route": st.just("legacy"),
    "masked_upstream_signature": st.one_of(
        st.sampled_from(sorted(SIGNATURE_WORDS)),
        st.integers(100, 599).map(lambda status: f"HTTP_{status}"),
        st.integers(0, 9_999_999).map(lambda ms: f"TIMEOUT_{ms}ms"),
    ),
    "digest": DIGEST,
    "verdict_digest": DIGEST,
    "fingerprint": DIGEST,
    "value": DIGEST,
}
FROM_ONE = st.integers(1, 2**63 - 1)
NUMBERS = {
    "batch_seq": FROM_ONE,
    "heartbeat_ms": FROM_ONE,
    "step": FROM_ONE,
    "attempt": FROM_ONE,
    "lease_ms": FROM_ONE,
    "budget_limit": FROM_ONE,
    "fencing_token": FROM_ONE,
    "measure": LONG,
    "from_seq": LONG,
    "to_seq": LONG,
    "facts": LONG,
}


def anything(schema: Any, named: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Whatever Avro lets the schema hold."""
    return _build(schema, "", named, free=True)


def allowed(schema: Any, named: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Only what the contract's rules allow."""
    return _build(schema, "", named, free=False)


def _build(schema: Any, field: str, named: dict[str, Any], *, free: bool) -> st.SearchStrategy[Any]:
    if isinstance(schema, list):
        return st.none() | _build(schema[1], field, named, free=free)
    if isinstance(schema, str):
        known = named.get(schema)
        return _primitive(schema, field, free=free) if known is None else _build(known, field, named, free=free)
    if "logicalType" in schema:
        return LONG if free else INSTANT
    if schema["type"] == "enum":
        named[schema["name"]] = schema
        return st.sampled_from(schema["symbols"])
    if schema["type"] == "array":
        return st.lists(_build(schema["items"], field, named, free=free), max_size=3)
    if schema["type"] == "map":
        keys = st.text(max_size=8) if free else TOKEN
        return st.dictionaries(keys, _build(schema["values"], field, named, free=free), max_size=3)
    named[schema["name"]] = schema
    fields = {f["name"]: _build(f["type"], f["name"], named, free=free) for f in schema["fields"]}
    value = st.fixed_dictionaries(fields)
    return value if free or schema["name"] != "AttemptGroup" else value.map(_with_equal_columns)


def _with_equal_columns(group: dict[str, Any]) -> dict[str, Any]:
    columns = len(group["occurred_at"])
    return {**group, "run_id": (group["run_id"] + [""] * columns)[:columns]}


def _primitive(kind: str, field: str, *, free: bool) -> st.SearchStrategy[Any]:
    if kind == "string":
        return st.text(max_size=12) if free else TEXTS.get(field, TOKEN)
    if kind == "boolean":
        return st.booleans()
    if kind == "double":
        return st.floats(allow_nan=False, allow_infinity=False) if free else st.floats(0, 1)
    if free:
        return INT if kind == "int" else LONG
    return st.integers(0, 2**31 - 1) if kind == "int" else NUMBERS.get(field, COUNT)
