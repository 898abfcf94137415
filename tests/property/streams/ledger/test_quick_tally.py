"""The quick encoder of snapshots writes what the general one writes."""

from hypothesis import given
from hypothesis import strategies as st

from unmask.schemas.codec import encode
from unmask.schemas.codes import Measure
from unmask.schemas.keys import tally_key
from unmask.schemas.scope import Scope
from unmask.streams.ledger.quick_tally import QuickTally

tokens = st.from_regex(r"[a-z][a-z0-9_.-]{0,63}", fullmatch=True)
scopes = st.builds(Scope, tokens, tokens, tokens, tokens, tokens)
counts = st.one_of(st.integers(0, 300), st.integers(0, 10**15))
quick = QuickTally()


@given(
    st.integers(0, 1000), counts, st.integers(0, 10**6), st.sampled_from((0, 60, 3600)), scopes,
    st.sampled_from(list(Measure)), tokens, tokens, counts,
)  # fmt: skip
def test_a_snapshot_is_encoded_the_same_both_ways(
    partition: int, offset: int, number: int, seconds: int, scope: Scope, measure: Measure, capability: str, code: str,
    count: int,
) -> None:  # fmt: skip
    start = number * seconds * 1_000_000
    value = {
        "partition": partition, "offset": offset, "window_start": start, "window_seconds": seconds,
        "scope": scope._asdict(), "measure": measure.value, "capability": capability, "code": code, "count": count,
        "sessions": [], "correction": None,
    }  # fmt: skip
    key = tally_key(partition, start, seconds, scope, measure.value, capability, code).encode()
    for _ in range(2):
        # The second time from what is remembered.
        told = quick.encode(partition, offset, (start, seconds, scope, measure.value, capability, code), count)
        assert told == (key, encode("tally", value))
