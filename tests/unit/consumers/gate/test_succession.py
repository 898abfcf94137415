"""Which of a session's records stands, when not everybody who wrote one should have."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.consumers.gate import AdmissionAnswer, Displaced, Recorded, Tombstone, decide
from unmask.consumers.gate.succession import Succession
from unmask.consumers.testing import clean_verdict, degraded_verdict
from unmask.schemas.codec import encode
from unmask.schemas.signing import sign_verdict
from unmask.schemas.signing_keys import PrivateKey, generate_key

SESSION = "session-1"
TOPIC = "unmask.verdicts"


def clean(sequence: int = 0, **changes: Any) -> dict[str, Any]:
    return {**clean_verdict(SESSION, **changes), "sequence": sequence}


def degraded(sequence: int = 0) -> dict[str, Any]:
    return {**degraded_verdict(SESSION), "sequence": sequence}


def after(*records: dict[str, Any] | bytes | None, trust: Any = None) -> Any:
    succession = Succession(SESSION, TOPIC, trust)
    for record in records:
        succession.append(encode("verdict", record) if isinstance(record, dict) else record)
    return succession.entry()


def test_the_newest_by_number_stands() -> None:
    entry = after(clean(1), degraded(2))
    assert isinstance(entry, Recorded)
    assert entry.verdict["verdict"] == "DEGRADED_SUCCESS"


def test_an_older_record_that_is_replayed_after_a_newer_one_displaces_nothing_and_admits_nobody() -> None:
    """Case V10."""
    entry = after(clean(1), degraded(2), clean(1))
    assert isinstance(entry, Displaced)
    assert "no newer" in entry.flaw
    assert entry.earlier is not None
    assert entry.earlier["verdict"] == "DEGRADED_SUCCESS"
    admission = decide(entry)
    assert (admission.answer, admission.verdict) == (AdmissionAnswer.UNVERIFIABLE, None)
    assert admission.earlier is not None
    assert admission.earlier.kind == "DEGRADED_SUCCESS"
    assert admission.as_dict()["earlier"]["sequence"] == 2


@pytest.mark.parametrize("bad", [b"", b"nonsense", {**clean(9), "operations": 7}, {**clean(9), "contract": 2}])
def test_what_cannot_be_verified_displaces_nothing_and_admits_nobody(bad: Any) -> None:
    entry = after(clean(1), bad)
    assert isinstance(entry, Displaced)
    admission = decide(entry)
    assert admission.answer is AdmissionAnswer.UNVERIFIABLE
    # Not even the earlier one, which was clean: something is wrong with this session's records.
    assert not admission.admitted
    assert admission.obligation is None


def test_a_withdrawn_verdict_does_not_come_back_by_being_written_again() -> None:
    entry = after(clean(1), None, clean(1))
    assert isinstance(entry, Displaced)
    assert entry.earlier is None
    assert not decide(entry).admitted


def test_after_a_withdrawal_a_new_verdict_stands() -> None:
    assert isinstance(after(clean(1), None), Tombstone)
    assert isinstance(after(clean(1), None, clean(2)), Recorded)


def test_once_a_good_record_follows_the_bad_one_is_history() -> None:
    assert isinstance(after(clean(1), b"nonsense", degraded(2)), Recorded)


def test_the_newest_record_once_more_changes_nothing() -> None:
    assert isinstance(after(clean(1), degraded(2), degraded(2)), Recorded)


def test_records_that_nobody_numbered_follow_one_another_and_never_a_numbered_one() -> None:
    entry = after(clean(0), degraded(0))
    assert isinstance(entry, Recorded)
    assert entry.verdict["verdict"] == "DEGRADED_SUCCESS"
    assert isinstance(after(degraded(3), clean(0)), Displaced)


@pytest.fixture
def key(tmp_path: Path) -> PrivateKey:
    return generate_key(tmp_path / "key.pem")


def test_with_trusted_keys_neither_a_stranger_s_verdict_nor_one_from_elsewhere_displaces_anything(
    key: PrivateKey, tmp_path: Path
) -> None:
    """Case V10: another principal writes CLEAN_SUCCESS."""
    stood = sign_verdict(degraded(5), TOPIC, key)
    stranger = generate_key(tmp_path / "stranger.pem")
    for forged in (clean(6), sign_verdict(clean(6), TOPIC, stranger), sign_verdict(clean(6), "other.verdicts", key)):
        entry = after(stood, forged, trust=key.trust())
        assert isinstance(entry, Displaced)
        assert entry.earlier is not None
        assert entry.earlier["verdict"] == "DEGRADED_SUCCESS"
    assert isinstance(after(stood, sign_verdict(clean(6), TOPIC, key), trust=key.trust()), Recorded)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=40))
def test_however_many_records_there_are_what_stands_is_the_highest_or_nothing(numbers: list[int]) -> None:
    """The history is not kept whole, and must not lose what it needs."""
    entry = after(*(clean(number) for number in numbers))
    if numbers[-1] == max(numbers):
        assert isinstance(entry, Recorded)
        assert entry.verdict["sequence"] == max(numbers)
    else:
        assert isinstance(entry, Displaced)
