"""What a host names an effect by, as it is published."""

import pytest

from unmask.producers.effects import EffectKey
from unmask.producers.effects.key import fingerprint_token
from unmask.schemas.keys import effect_id
from unmask.schemas.tokens import is_token


def test_tokens_stay_and_anything_else_becomes_a_digest_so_that_no_two_are_merged() -> None:
    key = EffectKey.of("acme", "card declined: 4711", "refund", "v2", "mail@example.org")
    assert (key.tenant, key.strategy) == ("acme", "refund")
    assert all(map(is_token, key.parts().values()))
    assert key.failure != EffectKey.of("acme", "card declined: 4712", "refund", "v2", "x").failure
    assert key.effect_id == effect_id(*key.parts().values())
    assert key.route == f"acme|{key.budget_key}"


@pytest.mark.parametrize("empty", range(5))
def test_an_empty_part_is_refused(empty: int) -> None:
    parts = ["a", "b", "c", "d", "e"]
    parts[empty] = ""
    with pytest.raises(ValueError, match="one is empty"):
        EffectKey.of(*parts)


def test_a_fingerprint_is_a_token_or_the_digest_of_what_it_is_given() -> None:
    assert fingerprint_token("abc123") == "abc123"
    assert is_token(fingerprint_token("refund 12.50 to account 9"))
    assert fingerprint_token(b"refund 12.50") == fingerprint_token("refund 12.50")
    assert fingerprint_token(b"refund 12.50") != fingerprint_token(b"refund 12.51")
    with pytest.raises(ValueError, match="empty"):
        fingerprint_token(b"")
