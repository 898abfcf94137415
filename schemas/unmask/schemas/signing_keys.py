"""Key files: PEM, one private key for a signer, any number of public keys for whoever trusts.

A public file may begin with a line `unmask-use: verdicts` or `unmask-use: admissions`; without one its keys may vouch
for both. To rotate, add the new public key wherever keys are trusted, then give the new private key to the signer, and
remove the old public key once nothing that it signed is needed any more. Needs the extra `signing`.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.schemas.errors import ContractError
from unmask.schemas.signing import ALGORITHM, KeyUse

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = [
    "KeyFileUnusable",
    "PrivateKey",
    "SigningUnavailable",
    "TrustedKeys",
    "generate_key",
    "load_signing_key",
    "load_trusted_keys",
]

_USE = re.compile(r"^unmask-use:\s*([a-z, ]+?)\s*$", re.MULTILINE)
_BLOCK = re.compile(r"-----BEGIN PUBLIC KEY-----.+?-----END PUBLIC KEY-----", re.DOTALL)
_EVERY_USE = frozenset(KeyUse)


class SigningUnavailable(ContractError):
    """Signatures are asked for, and the library that makes and checks them is not installed."""

    def __init__(self) -> None:
        super().__init__("signatures need the package cryptography: pip install 'unmask[signing]', or set no keys")


class KeyFileUnusable(ContractError):
    """A key file cannot be read, or holds no key of the right kind. Its content is never quoted."""

    def __init__(self, path: Path, what: str, fix: str) -> None:
        super().__init__(f"{path}: {what}; {fix}")


class PrivateKey:
    """An Ed25519 private key, as a Signer."""

    def __init__(self, key: "Ed25519PrivateKey") -> None:
        self._key = key
        self.key_id = _key_id(key.public_key())

    def sign(self, statement: bytes) -> bytes:
        """The signature over a statement."""
        return self._key.sign(statement)

    def trust(self) -> "TrustedKeys":
        """Trust in this very key, and no other."""
        return TrustedKeys({self.key_id: (self._key.public_key(), _EVERY_USE)})


class TrustedKeys:
    """Public keys by their ids, each with its uses, as a Trust."""

    def __init__(self, keys: Mapping[str, tuple["Ed25519PublicKey", frozenset[KeyUse]]]) -> None:
        self._keys = dict(keys)

    @property
    def key_ids(self) -> tuple[str, ...]:
        """The ids of all keys, sorted."""
        return tuple(sorted(self._keys))

    def believes(self, key_id: str, use: KeyUse) -> bool:
        """Whether a key may vouch for this use."""
        return key_id in self._keys and use in self._keys[key_id][1]

    def flaw(self, statement: bytes, signature: Mapping[str, Any] | None, use: KeyUse) -> str | None:
        """See Trust."""
        if signature is None:
            return "it is not signed"
        if signature.get("algorithm") != ALGORITHM:
            return f"its signature is not of the algorithm {ALGORITHM}"
        known = self._keys.get(str(signature.get("key_id")))
        if known is None:
            return "it is signed by a key that is not trusted here"
        key, uses = known
        if use not in uses:
            return f"it is signed by a key that may not sign {use}"
        return None if _verifies(key, signature.get("value"), statement) else "its signature does not fit what it says"


def generate_key(path: Path, uses: Iterable[KeyUse] = KeyUse) -> PrivateKey:
    """Make a key: `path` with the private half, readable by its owner alone, and `path`.pub with the public one.

    Existing files are never overwritten. Raises KeyFileUnusable, SigningUnavailable.
    """
    from_library = _library()
    from cryptography.hazmat.primitives import serialization

    key = from_library.Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    allowed = ", ".join(sorted(uses))
    _write_new(path, private, 0o600)
    _write_new(path.with_name(path.name + ".pub"), f"unmask-use: {allowed}\n".encode() + public, 0o644)
    return PrivateKey(key)


def load_signing_key(path: Path) -> PrivateKey:
    """The private key in a PEM file. Raises KeyFileUnusable, SigningUnavailable."""
    from_library = _library()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    raw = _read(path)
    fix = "make one with: unmask verdicts keygen"
    try:
        key = load_pem_private_key(raw, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # Without its cause, which might tell of the key.
        raise KeyFileUnusable(path, "no unencrypted private key in PEM", fix) from None
    if not isinstance(key, from_library.Ed25519PrivateKey):
        raise KeyFileUnusable(path, "its key is not an Ed25519 key", fix)
    return PrivateKey(key)


def load_trusted_keys(path: Path) -> TrustedKeys:
    """The public keys of a file, or of all `*.pub` files of a folder. Raises KeyFileUnusable, SigningUnavailable."""
    _library()
    files = sorted(path.glob("*.pub")) if path.is_dir() else [path]
    if not files:
        raise KeyFileUnusable(path, "no *.pub file in this folder", "trust at least one key, or set no trusted keys")
    keys: dict[str, tuple[Ed25519PublicKey, frozenset[KeyUse]]] = {}
    for file in files:
        for key, uses in _public_keys(file):
            name = _key_id(key)
            keys[name] = (key, keys[name][1] | uses if name in keys else uses)
    return TrustedKeys(keys)


def _public_keys(file: Path) -> list[tuple["Ed25519PublicKey", frozenset[KeyUse]]]:
    from_library = _library()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    fix = "give it PEM public keys of Ed25519, as `unmask verdicts keygen` writes them into *.pub"
    try:
        text = _read(file).decode("ascii")
        keys = [load_pem_public_key(block.encode()) for block in _BLOCK.findall(text)]
    except (ValueError, UnsupportedAlgorithm):
        raise KeyFileUnusable(file, "it cannot be read as PEM", fix) from None
    if not keys:
        raise KeyFileUnusable(file, "no public key in it", fix)
    uses = _uses(file, text)
    found: list[tuple[Ed25519PublicKey, frozenset[KeyUse]]] = []
    for key in keys:
        if not isinstance(key, from_library.Ed25519PublicKey):
            raise KeyFileUnusable(file, "it holds a key that is not an Ed25519 key", fix)
        found.append((key, uses))
    return found


def _uses(file: Path, text: str) -> frozenset[KeyUse]:
    said = _USE.findall(text)
    if not said:
        return _EVERY_USE
    try:
        return frozenset(KeyUse(word.strip()) for line in said for word in line.split(","))
    except ValueError:
        known = ", ".join(KeyUse)
        raise KeyFileUnusable(
            file, "its unmask-use line names a use that does not exist", f"uses are: {known}"
        ) from None


def _verifies(key: "Ed25519PublicKey", value: object, statement: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(bytes.fromhex(str(value)), statement)
    except (InvalidSignature, ValueError):
        return False
    return True


def _key_id(key: "Ed25519PublicKey") -> str:
    return f"{ALGORITHM}-{hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]}"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise KeyFileUnusable(
            path, f"it cannot be read ({type(error).__name__})", "check the path and rights"
        ) from None


def _write_new(path: Path, content: bytes, mode: int) -> None:
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
    except OSError as error:
        fix = "name a file that does not exist yet, in a folder that does"
        raise KeyFileUnusable(path, f"it cannot be made ({type(error).__name__})", fix) from None


def _library() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ModuleNotFoundError:
        raise SigningUnavailable from None
    return ed25519
