"""Bounded tokens: the only strings that may stand in a record.

A token is 1 to 64 characters of letters, digits, `_`, `-` and `.`, starting with a letter, a digit or `_`. Whatever
else a caller hands in (a URL, an e-mail address, a sentence) and whatever looks like a credential never leaves the
host as it is: identifiers become a digest, so that both sides of a hand-over still name the same thing, and labels
become a fixed word.
"""

import hashlib
import re
from collections.abc import Iterable

__all__ = ["INVALID_LABEL", "TOKEN_PATTERN", "all_tokens", "is_token", "label", "opaque_id"]

TOKEN_PATTERN = r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,63}"
INVALID_LABEL = "invalid_label"

_TOKENS = re.compile(rf"{TOKEN_PATTERN}(?:\n{TOKEN_PATTERN})*")
# Shapes of well-known credentials. They are legal tokens, so the pattern alone would let them through.
_SECRET = (
    r"(?:sk|pk|rk)[-_](?:live|test|proj|ant|or)?[-_]?[A-Za-z0-9_\-]{12,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w\-]{16,}|xox[abeoprs]-[\w\-]{10,}"
    r"|A(?:KIA|SIA)[A-Z0-9]{12,}|AIza[\w\-]{20,}|ya29\.[\w.\-]{10,}|eyJ[\w\-]{8,}\.[\w.\-]+|hf_[A-Za-z0-9]{20,}"
)
# One pattern for both, because a gate asks it of every text of a verdict.
_SAFE_TOKEN = re.compile(rf"(?!{_SECRET}){TOKEN_PATTERN}")


def is_token(text: str) -> bool:
    """Whether `text` is a bounded token and does not look like a credential."""
    return _SAFE_TOKEN.fullmatch(text) is not None


def all_tokens(texts: Iterable[str]) -> bool:
    """Whether all of `texts` are bounded tokens, checked in one pass. Credentials are not looked for here."""
    parts = texts if isinstance(texts, list | tuple) else list(texts)
    if not parts:
        return True
    joined = "\n".join(parts)
    # A text with a line break of its own would pass for two tokens.
    return joined.count("\n") == len(parts) - 1 and _TOKENS.fullmatch(joined) is not None


def opaque_id(raw: object) -> str:
    """An identifier as it may be published: a token unchanged, anything else as `sha256-` and 32 hex digits.

    The digest is stable, so that a host and a successor that were handed the same raw identifier agree on it.
    """
    text = raw if isinstance(raw, str) else str(raw)
    if is_token(text):
        return text
    return "sha256-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def label(raw: object) -> str:
    """A label (capability, entry point, upstream, release line) as it may be published; else `invalid_label`."""
    text = raw if isinstance(raw, str) else str(raw)
    return text if is_token(text) else INVALID_LABEL
