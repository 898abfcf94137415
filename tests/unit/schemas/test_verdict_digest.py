"""The digest covers everything that decides, is the same for a model and its dict, and survives new fields."""

import json
from typing import Any

import pytest

from unmask.schemas.codec import decode, encode
from unmask.schemas.errors import EncodeError
from unmask.schemas.models import Verdict, from_avro
from unmask.schemas.testing import first_sample, sample
from unmask.schemas.verdict_digest import seal, verdict_digest, verify_digest

OTHER: dict[str, Any] = {
    "contract": 2,
    "session_id": "s-2",
    "verdict": "DEGRADED_SUCCESS",
    "directive": "HALT_AND_ALERT_DEVELOPER",
    "evidence": "LOSSY",
    "operations": 2,
    "degraded_operations": 2,
    "degraded_operation_ratio": 0.5000000000000001,
    "threshold": 0.06,
    "above_threshold": True,
    "equivalent": True,
    "outcome_claimed": "failure",
    "findings": ["CONTRADICTED"],
    "contradictions": [],
    "masked": [],
    "masked_cut": 2,
    "predecessor_session_id": None,
    "inherited_from": ["s-0", "s-1"],
    "inherited_cut": 2,
    "scope": None,
    "emitters": ["e-2"],
    "emitters_cut": 2,
    "opened_at": 1,
    "ended_at": 1,
    "sources": [{"partition": 1, "offset": 2}],
    "user_profile": None,
    "recoveries": [],
    "delegations": [],
}


def test_a_sealed_verdict_verifies_as_dict_and_as_model() -> None:
    verdict = sample("verdict")
    assert verify_digest(verdict)
    assert verify_digest(from_avro(Verdict, verdict))
    assert verdict_digest(from_avro(Verdict, verdict)) == verdict["digest"]


def test_the_digest_is_the_same_after_the_way_over_the_wire() -> None:
    verdict = sample("verdict", threshold=0, degraded_operation_ratio=1)
    assert verify_digest(decode("verdict", encode("verdict", verdict)))


def test_the_digest_does_not_depend_on_the_order_of_keys() -> None:
    verdict = sample("verdict")
    assert verdict_digest(dict(reversed(verdict.items()))) == verdict["digest"]


def test_every_field_that_decides_changes_it() -> None:
    verdict = sample("verdict")
    assert set(OTHER) == set(verdict) - {"digest", "signature", "writer", "sequence"}
    for field, value in OTHER.items():
        assert value != verdict[field]
        assert not verify_digest({**verdict, field: value}), field


def test_one_flipped_digit_of_the_ratio_is_noticed() -> None:
    """Case V10."""
    verdict = sample("verdict", degraded_operation_ratio=0.1)
    assert not verify_digest({**verdict, "degraded_operation_ratio": 0.11})


def test_every_part_of_a_masked_operation_changes_it() -> None:
    verdict = sample("verdict")
    (masked,) = verdict["masked"]
    for field, value in masked.items():
        other = value + 1 if isinstance(value, int) else "HTTP_504" if field.startswith("masked") else "other"
        assert not verify_digest({**verdict, "masked": [{**masked, field: other}]}), field


def test_a_verdict_of_another_session_is_not_this_ones() -> None:
    """Case V10: an old record replayed for a new session."""
    assert not verify_digest({**sample("verdict"), "session_id": "another"})


def test_the_signature_is_not_part_of_what_it_signs() -> None:
    verdict = sample("verdict")
    signed = {**verdict, "signature": {"key_id": "k", "algorithm": "ed25519", "value": "ab"}}
    assert verify_digest(signed)
    assert seal(signed)["signature"] is None


@pytest.mark.parametrize("changes", [{"writer": "worker-2"}, {"writer": None}, {"sequence": 99}])
def test_a_verdict_that_is_published_again_is_the_same_verdict(changes: dict[str, Any]) -> None:
    """What was recorded of it, by its digest, goes on to hold after somebody overwrote it and it was restored."""
    assert verify_digest({**sample("verdict"), **changes})


@pytest.mark.parametrize("silent", [None, [], {}])
def test_a_field_of_a_later_version_that_says_nothing_leaves_the_digest(silent: object) -> None:
    assert verify_digest({**sample("verdict"), "added_later": silent})


def test_a_field_of_a_later_version_that_says_something_does_not() -> None:
    later = seal({**sample("verdict"), "added_later": "x"})
    del later["added_later"]
    assert not verify_digest(later)


def test_false_and_zero_say_something() -> None:
    verdict = sample("verdict")
    without = {key: value for key, value in verdict.items() if key != "equivalent"}
    assert verdict["equivalent"] is False
    assert verdict_digest(without) != verdict["digest"]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), object()])
def test_what_no_verdict_can_hold_has_no_digest(bad: object) -> None:
    broken = {**sample("verdict"), "threshold": bad}
    with pytest.raises(EncodeError):
        verdict_digest(broken)
    assert not verify_digest(broken)


def test_a_verdict_without_a_digest_does_not_verify() -> None:
    assert not verify_digest({key: value for key, value in sample("verdict").items() if key != "digest"})


def test_the_digest_is_fixed_for_good() -> None:
    """Records stay for months; a change of the canonical form would make all of them unverifiable."""
    assert verdict_digest(first_sample("verdict")) == PINNED[0]
    assert verdict_digest(sample("verdict")) == PINNED[1]
    assert json.loads(json.dumps(sample("verdict"))) == sample("verdict")


def test_a_verdict_without_anything_new_keeps_the_digest_that_it_had_before_the_contract_grew() -> None:
    old = first_sample("verdict")
    read = decode("verdict", encode("verdict", old))
    assert set(read) > set(old)
    assert verdict_digest(read) == verdict_digest(old) == PINNED[0]
    assert verdict_digest(from_avro(Verdict, read)) == PINNED[0]


PINNED = (
    "a922d16e23da179469e900dcc9ac38bf9be7190fabbe335a82b814af79e298cf",
    "4133bd8fe902a201b8f85601b3cad726e98e6d79881b20b66d2ba302e6f37dc6",
)
