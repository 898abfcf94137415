"""The checker and the ledger were written apart: over any requests, each must hold the other to be right."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.consumers.effects_check.small_history import Small

from unmask.consumers.effects_check import Rules, check_history
from unmask.schemas.windowing import MICROS
from unmask.streams.effects.rules import EffectRules

_DAY = 86_400
_KEYS = st.sampled_from(["k1", "k2"])
_WHERE = st.fixed_dictionaries(
    {
        "tenant": st.sampled_from(["t", "u"]),
        "budget": st.sampled_from(["b", "c"]),
        "holder": st.sampled_from(["h1", "h2"]),
        # Few of them, so that questions come again.
        "request_id": st.sampled_from([f"q{n}" for n in range(6)]),
    }
)
_CLAIM = st.fixed_dictionaries(
    {
        "fingerprint": st.sampled_from(["f", "f", "f", "g"]),
        "lease_ms": st.integers(1, 5_000),
        "budget_limit": st.none() | st.integers(1, 6),
    }
)
_SETTLE = st.fixed_dictionaries(
    {
        "fencing_token": st.integers(1, 12),
        "receipt": st.sampled_from(["r", "r", "s"]),
        "lease_ms": st.integers(1, 5_000),
    }
)
_ASKED = st.one_of(
    st.tuples(st.just("claim"), _KEYS, _WHERE, _CLAIM),
    st.tuples(st.sampled_from(["commit", "release", "renew", "expire", "unknown_request"]), _KEYS, _WHERE, _SETTLE),
)
_WAITS = st.sampled_from([-0.5, 0.0, 0.0, 0.3, 1.0, 3.0, 10.0, 2.0 * _DAY])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(_WAITS, _ASKED, st.booleans()), max_size=40))
def test_whatever_is_asked_the_checker_finds_nothing_wrong_with_the_ledger(
    steps: list[tuple[float, tuple[str, str, dict[str, Any], dict[str, Any]], bool]],
) -> None:
    small = Small(EffectRules(retention_us=_DAY * MICROS))
    tokens: list[int] = []
    for wait, (kind, key, where, details), newest in steps:
        small.wait(wait)
        if kind != "claim" and newest and tokens:
            details = {**details, "fencing_token": tokens[-1]}
        told = small.ask(kind, key, **where, **details)
        if told["answer"] == "GRANTED":
            tokens.append(told["fencing_token"])
    # Nobody ends leases here of which nobody says anything.
    account = check_history(small.history(), Rules(retention=_DAY * MICROS, open_for=1_000 * _DAY * MICROS))
    assert account.problems == []
    assert account.answers.total() == len(steps)
