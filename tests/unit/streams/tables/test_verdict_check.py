"""What the tables believe of verdicts and admissions."""

from pathlib import Path
from typing import Any

import pytest

from unmask.schemas.codec import encode
from unmask.schemas.signing import KeyUse, sign_admission
from unmask.schemas.signing_keys import generate_key, load_trusted_keys
from unmask.schemas.testing import sample
from unmask.streams.tables.verdict_check import RecordCheck, Unsound

TOPIC = "unmask.admissions"


def admission(**changes: Any) -> dict[str, Any]:
    return sample("admission", session_id="s1", step="RECONCILED", signature=None, **changes)


def test_an_admission_is_believed_where_no_keys_are_trusted() -> None:
    check = RecordCheck("unmask.verdicts", TOPIC)
    assert check.admission("s1", encode("admission", admission()))["step"] == "RECONCILED"


@pytest.mark.parametrize("value", [None, b"", b"nonsense"])
def test_bytes_that_are_no_admission_are_named_by_a_code(value: bytes | None) -> None:
    with pytest.raises(Unsound) as raised:
        RecordCheck("unmask.verdicts", TOPIC).admission("s1", value)
    assert raised.value.cause == "undecodable"


def test_with_trusted_keys_a_directive_is_discharged_only_by_what_one_of_them_signed(tmp_path: Path) -> None:
    gate, worker = generate_key(tmp_path / "gate", [KeyUse.ADMISSIONS]), generate_key(tmp_path / "w", [KeyUse.VERDICTS])
    (tmp_path / "keys").mkdir()
    for name in ("gate", "w"):
        (tmp_path / f"{name}.pub").rename(tmp_path / "keys" / f"{name}.pub")
    check = RecordCheck("unmask.verdicts", TOPIC, load_trusted_keys(tmp_path / "keys"))
    forged = (
        admission(),
        sign_admission(admission(), TOPIC, worker),
        sign_admission(admission(), "staging.admissions", gate),
        {**sign_admission(admission(), TOPIC, gate), "verdict_digest": "1" * 64},
    )
    for record in forged:
        with pytest.raises(Unsound):
            check.admission("s1", encode("admission", record))
    good = encode("admission", sign_admission(admission(), TOPIC, gate))
    assert check.admission("s1", good)["step"] == "RECONCILED"
    with pytest.raises(Unsound, match="another session"):
        check.admission("s2", good)
