"""Which keys a process signs with and believes, from its options or its environment."""

import os
from pathlib import Path

from unmask.schemas.errors import ContractError
from unmask.schemas.signing import KeyUse
from unmask.schemas.signing_keys import PrivateKey, TrustedKeys, load_signing_key, load_trusted_keys

__all__ = ["SIGNING_KEY", "TRUSTED_KEYS", "OwnRecordsUntrusted", "require_own_trust", "signing_from_environment"]

SIGNING_KEY = "UNMASK_SIGNING_KEY"
"""Environment variable: the file of the private key."""
TRUSTED_KEYS = "UNMASK_TRUSTED_KEYS"
"""Environment variable: a file of public keys, or a folder of `*.pub` files."""


class OwnRecordsUntrusted(ContractError):
    """Whoever writes would not believe what it has written itself."""

    def __init__(self, use: KeyUse, key_id: str | None) -> None:
        if key_id is None:
            what, fix = "keys are trusted, and there is none to sign with", "give it a signing key, or no trusted keys"
        else:
            what, fix = f"the signing key {key_id} is not among the trusted keys for {use}", "add its *.pub to them"
        super().__init__(f"{what}, so that nobody would believe these {use}, not even their writer: {fix}")


def signing_from_environment(
    signing_key: Path | None = None, trusted_keys: Path | None = None
) -> tuple[PrivateKey | None, TrustedKeys | None]:
    """Signer and trust, from the given files or those that UNMASK_SIGNING_KEY and UNMASK_TRUSTED_KEYS name.

    Whoever signs and names no trusted keys trusts its own key alone. Raises KeyFileUnusable, SigningUnavailable.
    """
    private = signing_key or _path(SIGNING_KEY)
    public = trusted_keys or _path(TRUSTED_KEYS)
    signer = None if private is None else load_signing_key(private)
    if public is not None:
        return signer, load_trusted_keys(public)
    return signer, None if signer is None else signer.trust()


def require_own_trust(signer: PrivateKey | None, trust: TrustedKeys | None, use: KeyUse) -> None:
    """Refuse keys by which a writer would not believe its own records. Raises OwnRecordsUntrusted."""
    if trust is None:
        return
    if signer is None:
        raise OwnRecordsUntrusted(use, None)
    if not trust.believes(signer.key_id, use):
        raise OwnRecordsUntrusted(use, signer.key_id)


def _path(variable: str) -> Path | None:
    named = os.environ.get(variable, "").strip()
    return Path(named) if named else None
