"""Whether a stream worker says that it is ready."""

import urllib.error
import urllib.request
from collections.abc import Iterator

from unmask.consumers.doctor.finding import Finding, Status

__all__ = ["check_worker"]

_SHOWN = 300
_FIX = "look at the worker's log; it is ready once its partitions are restored and it reads without a stall"


def check_worker(url: str, timeout: float) -> Iterator[Finding]:
    """What the worker's /readyz answers. `url` is the worker's address, with or without that path."""
    if not url.startswith(("http://", "https://")):
        url = f"http://{url}"
    address = url.rstrip("/").removesuffix("/readyz") + "/readyz"
    try:
        with urllib.request.urlopen(address, timeout=timeout) as answer:
            text = answer.read(_SHOWN).decode("utf-8", "replace").strip()
            yield Finding("worker", Status.OK, f"{address}: {text}")
    except urllib.error.HTTPError as error:
        text = error.read(_SHOWN).decode("utf-8", "replace").strip()
        yield Finding("worker", Status.FAILED, f"{address} answers {error.code}: {text}", _FIX)
    except (OSError, ValueError) as error:
        fix = "check the address given with --worker, and that the worker runs: unmask stream"
        yield Finding("worker", Status.FAILED, f"{address} does not answer ({type(error).__name__})", fix)
