"""Ordinary client code of an upstream, as any host has it: the standard library, a timeout, whatever is raised."""

import json
import urllib.request
from typing import Any
from urllib.error import HTTPError, URLError

__all__ = ["TIMEOUT_S", "ask", "outcome_of"]

TIMEOUT_S = 0.6

# The upstream is on this machine; a proxy of the environment must not stand between.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(base: str, capability: str, timeout: float = TIMEOUT_S) -> dict[str, Any]:
    """The upstream's answer. Raises whatever the client raises: HTTPError, URLError, TimeoutError, ConnectionError."""
    with _opener.open(f"{base}/{capability}", timeout=timeout) as response:
        answer: dict[str, Any] = json.load(response)
    return answer


def outcome_of(error: Exception) -> str:
    """What a failed call looked like to the host, for its journal; in the host's words, not in Unmask's."""
    if isinstance(error, HTTPError):
        return f"status {error.code}"
    cause = error.reason if isinstance(error, URLError) else error
    if isinstance(cause, TimeoutError):
        return "timed out"
    if isinstance(cause, ConnectionRefusedError):
        return "refused"
    if isinstance(cause, ConnectionError):
        return "reset"
    return f"unforeseen {type(cause).__name__}"
