"""Key files: made once, readable by their owner, rotated by adding and removing, and never quoted in an error."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from unmask.schemas.signing import KeyUse
from unmask.schemas.signing_keys import (
    KeyFileUnusable,
    generate_key,
    load_signing_key,
    load_trusted_keys,
)

STATEMENT = b"what is signed"


def signature(path: Path) -> dict[str, str]:
    key = load_signing_key(path)
    return {"key_id": key.key_id, "algorithm": "ed25519", "value": key.sign(STATEMENT).hex()}


def test_a_key_is_made_once_and_its_private_half_is_its_owner_s_alone(tmp_path: Path) -> None:
    made = generate_key(tmp_path / "key.pem")
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    assert load_signing_key(tmp_path / "key.pem").key_id == made.key_id
    assert load_trusted_keys(tmp_path / "key.pem.pub").key_ids == (made.key_id,)
    with pytest.raises(KeyFileUnusable, match="does not exist yet"):
        generate_key(tmp_path / "key.pem")
    assert load_signing_key(tmp_path / "key.pem").key_id == made.key_id


def test_keys_are_rotated_by_trusting_the_new_one_before_and_the_old_one_as_long_as_needed(tmp_path: Path) -> None:
    trusted = tmp_path / "trusted"
    trusted.mkdir()
    for name in ("old", "new"):
        generate_key(tmp_path / f"{name}.pem")
    (tmp_path / "old.pem.pub").rename(trusted / "old.pub")
    old, new = signature(tmp_path / "old.pem"), signature(tmp_path / "new.pem")
    assert load_trusted_keys(trusted).flaw(STATEMENT, old, KeyUse.VERDICTS) is None
    assert load_trusted_keys(trusted).flaw(STATEMENT, new, KeyUse.VERDICTS)
    (tmp_path / "new.pem.pub").rename(trusted / "new.pub")
    both = load_trusted_keys(trusted)
    assert both.flaw(STATEMENT, old, KeyUse.VERDICTS) is None
    assert both.flaw(STATEMENT, new, KeyUse.VERDICTS) is None
    (trusted / "old.pub").unlink()
    assert load_trusted_keys(trusted).flaw(STATEMENT, old, KeyUse.VERDICTS)


def test_one_file_may_hold_several_keys(tmp_path: Path) -> None:
    made = [generate_key(tmp_path / name, [KeyUse.VERDICTS]) for name in ("a", "b")]
    together = tmp_path / "all"
    together.write_bytes((tmp_path / "a.pub").read_bytes() + (tmp_path / "b.pub").read_bytes())
    assert load_trusted_keys(together).key_ids == tuple(sorted(key.key_id for key in made))


def test_a_key_without_a_use_line_may_sign_both(tmp_path: Path) -> None:
    generate_key(tmp_path / "key.pem")
    lines = (tmp_path / "key.pem.pub").read_text().splitlines(keepends=True)
    (tmp_path / "key.pem.pub").write_text("".join(line for line in lines if "unmask-use" not in line))
    trust = load_trusted_keys(tmp_path / "key.pem.pub")
    for use in KeyUse:
        assert trust.flaw(STATEMENT, signature(tmp_path / "key.pem"), use) is None


SECRET = "not-a-key-but-somebody-s-secret"


@pytest.mark.parametrize(
    "content", [b"", SECRET.encode(), b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_a_file_that_holds_no_key_is_named_and_never_quoted(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file.pub"
    file.write_bytes(content)
    for load in (load_signing_key, load_trusted_keys):
        with pytest.raises(KeyFileUnusable, match=r"file\.pub") as raised:
            load(file)
        assert SECRET not in str(raised.value)
        assert raised.value.__cause__ is None


def test_a_missing_file_an_empty_folder_and_an_unknown_use_are_named(tmp_path: Path) -> None:
    with pytest.raises(KeyFileUnusable, match="cannot be read"):
        load_signing_key(tmp_path / "missing.pem")
    with pytest.raises(KeyFileUnusable, match=r"no \*\.pub"):
        load_trusted_keys(tmp_path)
    generate_key(tmp_path / "key.pem")
    public = tmp_path / "key.pem.pub"
    public.write_text(public.read_text().replace("admissions", "everything"))
    with pytest.raises(KeyFileUnusable, match="uses are: verdicts, admissions"):
        load_trusted_keys(public)


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "ec.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    (tmp_path / "ec.pub").write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    with pytest.raises(KeyFileUnusable, match="Ed25519"):
        load_signing_key(tmp_path / "ec.pem")
    with pytest.raises(KeyFileUnusable, match="Ed25519"):
        load_trusted_keys(tmp_path / "ec.pub")


def test_without_the_library_nothing_is_imported_until_a_key_is_used_and_then_the_extra_is_named(
    tmp_path: Path,
) -> None:
    generate_key(tmp_path / "key.pem")
    script = f"""
import sys
sys.modules["cryptography"] = None
import unmask.consumers.gate, unmask.schemas.signing_keys as keys
from pathlib import Path
try:
    keys.load_signing_key(Path({str(tmp_path / "key.pem")!r}))
except keys.SigningUnavailable as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert "pip install 'unmask[signing]'" in done.stdout
