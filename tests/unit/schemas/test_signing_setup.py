"""Which keys a process signs with and believes."""

from pathlib import Path

import pytest

from unmask.schemas.signing import KeyUse
from unmask.schemas.signing_keys import generate_key, load_trusted_keys
from unmask.schemas.signing_setup import OwnRecordsUntrusted, require_own_trust, signing_from_environment


def test_whoever_signs_and_trusts_nobody_by_name_trusts_itself_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UNMASK_SIGNING_KEY", raising=False)
    monkeypatch.delenv("UNMASK_TRUSTED_KEYS", raising=False)
    assert signing_from_environment() == (None, None)
    generate_key(tmp_path / "key.pem")
    generate_key(tmp_path / "other.pem")
    monkeypatch.setenv("UNMASK_SIGNING_KEY", str(tmp_path / "key.pem"))
    signer, trust = signing_from_environment()
    assert signer is not None
    assert trust is not None
    assert trust.key_ids == (signer.key_id,)
    monkeypatch.setenv("UNMASK_TRUSTED_KEYS", str(tmp_path / "other.pem.pub"))
    signer, trust = signing_from_environment()
    assert trust is not None
    assert signer is not None
    assert trust.key_ids != (signer.key_id,)


def test_a_writer_that_would_not_believe_its_own_records_is_told_what_to_do(tmp_path: Path) -> None:
    worker, other = generate_key(tmp_path / "worker", [KeyUse.VERDICTS]), generate_key(tmp_path / "other")
    trust = load_trusted_keys(tmp_path / "worker.pub")
    require_own_trust(worker, trust, KeyUse.VERDICTS)
    require_own_trust(None, None, KeyUse.VERDICTS)
    with pytest.raises(OwnRecordsUntrusted, match=r"add its \*\.pub"):
        require_own_trust(other, trust, KeyUse.VERDICTS)
    with pytest.raises(OwnRecordsUntrusted, match="not among the trusted keys for admissions"):
        require_own_trust(worker, trust, KeyUse.ADMISSIONS)
    with pytest.raises(OwnRecordsUntrusted, match="give it a signing key"):
        require_own_trust(None, trust, KeyUse.VERDICTS)
