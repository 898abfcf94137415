"""A host that tells only of the first four families, by any version of the SDK.

    python plain_host.py BOOTSTRAP NAMESPACE RELEASE_LINE PREFIX

It prints the folder that its SDK was loaded from, and ends when all is delivered.
"""

import sys

import unmask.producers
from unmask.producers import Emitter, EmitterSettings

ATTEMPTS, FALLBACKS, MASKED, TEARDOWNS = 20, 3, 2, 2
"""What `work` records, beside the two sessions' own attempts."""


def emitter_of(bootstrap: str, namespace: str, release_line: str) -> Emitter:
    """An emitter that cuts its batches soon."""
    return Emitter(
        EmitterSettings(
            bootstrap_servers=bootstrap, namespace=namespace, release_line=release_line, flush_interval_ms=50,
            heartbeat_ms=500,
        )
    )  # fmt: skip


def work(emitter: Emitter, prefix: str) -> None:
    """Attempts and fallbacks outside of sessions, a session PREFIX-clean, and PREFIX-degraded with masked errors."""
    for number in range(ATTEMPTS):
        emitter.record_route_attempt("answer", "api", f"{prefix}-{number}")
    for number in range(FALLBACKS):
        emitter.record_fallback("answer", "timed out", run_id=f"{prefix}-{number}")
    with emitter.session(f"{prefix}-clean") as session:
        session.call("prices", lambda: 1, lambda: 2, receipt="cache")

    def down() -> int:
        raise TimeoutError

    with emitter.session(f"{prefix}-degraded") as session:
        for _ in range(MASKED):
            session.call("prices", down, lambda: 2, receipt="cache")


def main(bootstrap: str, namespace: str, release_line: str, prefix: str) -> None:
    """Works once and closes."""
    emitter = emitter_of(bootstrap, namespace, release_line)
    work(emitter, prefix)
    report = emitter.close(30)
    assert report.complete, report
    print(unmask.producers.__file__)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
