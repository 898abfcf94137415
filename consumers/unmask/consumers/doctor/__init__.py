"""The doctor: looks at everything that Unmask needs, and names the fix of whatever is wrong."""

from collections.abc import Iterator

from unmask.consumers.doctor.broker import check_broker
from unmask.consumers.doctor.clock import check_clock
from unmask.consumers.doctor.finding import Finding, Status
from unmask.consumers.doctor.ledger_group import check_ledger_group
from unmask.consumers.doctor.topics import check_topics
from unmask.consumers.doctor.versions import check_versions
from unmask.consumers.doctor.worker import check_worker

__all__ = ["Finding", "Status", "examine"]


def examine(
    bootstrap: str,
    namespace: str,
    *,
    worker: str | None = None,
    max_lag: int = 10_000,
    clock: bool = True,
    timeout: float = 10.0,
) -> Iterator[Finding]:
    """Every finding, as it is made. `timeout` in seconds, for each question; `max_lag` in records.

    Where no broker answers, what needs one is not asked for.
    """
    yield from check_versions()
    reachable = True
    for finding in check_broker(bootstrap, timeout):
        reachable = reachable and finding.status is not Status.FAILED
        yield finding
    if reachable:
        yield from check_topics(bootstrap, namespace, timeout)
        yield from check_ledger_group(bootstrap, namespace, timeout, max_lag=max_lag)
        if clock:
            yield from check_clock(bootstrap, namespace, timeout)
    if worker is not None:
        yield from check_worker(worker, timeout)
