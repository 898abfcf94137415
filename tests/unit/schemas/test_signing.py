"""A signature binds a record to its place: to its session, its topic, its writer and its number."""

from pathlib import Path
from typing import Any

import pytest

from unmask.schemas.codec import decode, encode
from unmask.schemas.signing import (
    KeyUse,
    admission_flaw,
    follows,
    sign_admission,
    sign_verdict,
    verdict_flaw,
    verdict_statement,
)
from unmask.schemas.signing_keys import PrivateKey, TrustedKeys, generate_key, load_trusted_keys
from unmask.schemas.testing import sample
from unmask.schemas.verdict_digest import seal

TOPIC = "unmask.verdicts"
ADMISSIONS = "unmask.admissions"


@pytest.fixture
def key(tmp_path: Path) -> PrivateKey:
    return generate_key(tmp_path / "worker.pem")


def signed(key: PrivateKey, topic: str = TOPIC, **changes: Any) -> dict[str, Any]:
    verdict = seal(sample("verdict", writer="worker-1", sequence=7, **changes))
    return sign_verdict(verdict, topic, key)


def flaw(verdict: dict[str, Any], trust: TrustedKeys, session_id: str = "session_id-1", topic: str = TOPIC) -> str:
    return verdict_flaw(verdict, session_id=session_id, topic=topic, trust=trust) or ""


def test_a_signed_verdict_is_believed_also_after_the_way_over_the_wire(key: PrivateKey) -> None:
    verdict = signed(key)
    assert flaw(verdict, key.trust()) == ""
    assert flaw(decode("verdict", encode("verdict", verdict)), key.trust()) == ""


def test_an_unsigned_verdict_is_not_believed_where_keys_are_trusted_and_is_where_none_are(key: PrivateKey) -> None:
    verdict = {**signed(key), "signature": None}
    assert flaw(verdict, key.trust()) == "it is not signed"
    assert verdict_flaw(verdict, session_id="session_id-1", topic=TOPIC, trust=None) is None


def test_a_key_that_is_not_trusted_vouches_for_nothing(key: PrivateKey, tmp_path: Path) -> None:
    other = generate_key(tmp_path / "other.pem")
    assert "not trusted" in flaw(signed(other), key.trust())


def test_a_signature_under_a_trusted_key_s_name_by_another_key_is_refused(key: PrivateKey, tmp_path: Path) -> None:
    forged = signed(generate_key(tmp_path / "other.pem"))
    forged["signature"]["key_id"] = key.key_id
    assert "does not fit" in flaw(forged, key.trust())


@pytest.mark.parametrize("changes", [{"writer": "worker-2"}, {"writer": None}, {"sequence": 8}])
def test_who_published_it_and_as_which_one_is_signed(key: PrivateKey, changes: dict[str, Any]) -> None:
    assert "does not fit" in flaw({**signed(key), **changes}, key.trust())


def test_a_verdict_that_is_sealed_anew_has_lost_its_signature(key: PrivateKey) -> None:
    """Case V10: one flipped digit of the ratio, with a digest that fits."""
    verdict = signed(key, degraded_operation_ratio=0.5)
    altered = {**seal({**verdict, "degraded_operation_ratio": 0.05}), "signature": verdict["signature"]}
    assert "does not fit" in flaw(altered, key.trust())


def test_a_verdict_is_worth_nothing_under_another_session_s_key_or_name(key: PrivateKey) -> None:
    """Case V10: an old record replayed for a new session."""
    verdict = signed(key)
    assert "another session" in flaw(verdict, key.trust(), session_id="session-2")
    renamed = {**seal({**verdict, "session_id": "session-2"}), "signature": verdict["signature"]}
    assert "does not fit" in flaw(renamed, key.trust(), session_id="session-2")


def test_a_verdict_is_worth_nothing_in_another_namespace(key: PrivateKey) -> None:
    assert "does not fit" in flaw(signed(key, topic="staging.verdicts"), key.trust())


@pytest.mark.parametrize("algorithm", ["none", "hmac", "ED25519", ""])
def test_no_other_algorithm_is_taken(key: PrivateKey, algorithm: str) -> None:
    verdict = signed(key)
    verdict["signature"]["algorithm"] = algorithm
    assert "algorithm" in flaw(verdict, key.trust())


@pytest.mark.parametrize("value", ["", "00", "zz", "0" * 128, None])
def test_a_signature_that_is_none_is_refused_by_name_and_not_by_a_crash(key: PrivateKey, value: Any) -> None:
    verdict = signed(key)
    verdict["signature"]["value"] = value
    assert "does not fit" in flaw(verdict, key.trust())


@pytest.mark.parametrize("sequence", [-1, 1 << 62, True, None, 1.0])
def test_a_number_that_no_writer_gives_is_refused(key: PrivateKey, sequence: Any) -> None:
    assert "sequence" in flaw({**signed(key), "sequence": sequence}, key.trust())


def test_each_key_signs_only_what_it_is_for(tmp_path: Path) -> None:
    gate = generate_key(tmp_path / "gate.pem", [KeyUse.ADMISSIONS])
    trust = load_trusted_keys(tmp_path / "gate.pem.pub")
    assert "may not sign verdicts" in flaw(signed(gate), trust)
    admission = sign_admission(sample("admission", signature=None), ADMISSIONS, gate)
    assert admission_flaw(admission, session_id="session_id-1", topic=ADMISSIONS, trust=trust) is None


def test_every_part_of_an_admission_is_signed_with_its_topic(key: PrivateKey) -> None:
    admission = sign_admission(sample("admission", signature=None), ADMISSIONS, key)
    trust = key.trust()
    assert admission_flaw(admission, session_id="session_id-1", topic=ADMISSIONS, trust=trust) is None
    over_the_wire = decode("admission", encode("admission", admission))
    assert admission_flaw(over_the_wire, session_id="session_id-1", topic=ADMISSIONS, trust=trust) is None
    for name, value in admission.items():
        if name not in ("signature", "session_id"):
            other = {**admission, name: None if not isinstance(value, bool) else not value}
            assert admission_flaw(other, session_id="session_id-1", topic=ADMISSIONS, trust=trust), name
    assert admission_flaw(admission, session_id="session-2", topic=ADMISSIONS, trust=trust)
    assert admission_flaw(admission, session_id="session_id-1", topic="other.admissions", trust=trust)


def test_a_verdict_s_signature_is_none_of_an_admission(key: PrivateKey) -> None:
    admission = sample("admission", signature=signed(key)["signature"])
    assert admission_flaw(admission, session_id="session_id-1", topic=ADMISSIONS, trust=key.trust())


def test_parts_of_a_statement_cannot_run_into_each_other() -> None:
    one = {"session_id": "a", "writer": "b,c", "sequence": 1, "digest": "d"}
    other = {"session_id": "a,b", "writer": "c", "sequence": 1, "digest": "d"}
    assert verdict_statement(one, TOPIC) != verdict_statement(other, TOPIC)


def test_numbers_only_grow_and_what_nobody_numbered_follows_only_itself() -> None:
    assert follows(8, 7)
    assert follows(0, 0)
    assert not follows(7, 7)
    assert not follows(6, 7)
    assert not follows(0, 7)
