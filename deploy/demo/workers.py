"""The stream workers: two real `unmask stream` processes that share the partitions."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from typing import Any, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from demo.plan import WINDOW_S
from demo.processes import Cluster

__all__ = ["Total", "WorkersNotReady", "scrape_totals", "start_workers", "wait_until_ready"]

_READY_S = 45.0
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Total(NamedTuple):
    """A counter of a worker's metrics: a capability's fallbacks for one reason, or (None) its attempts."""

    capability: str
    reason: str | None


class WorkersNotReady(Exception):
    """A worker did not become ready in time; the message says which and why."""


def start_workers(cluster: Cluster, ports: dict[str, int], capabilities: Iterable[str]) -> None:
    """Starts a worker for each name, with its own port for health and metrics."""
    for name, port in ports.items():
        cluster.start(
            f"worker-{name}",
            [
                *("-m", "unmask.consumers.cli.main", "stream"),
                *("--instance", name, "--port", str(port)),
                *("--window-seconds", f"{WINDOW_S},3600", "--grace-seconds", "2"),
                *("--capabilities", ",".join(capabilities)),
            ],
        )


def wait_until_ready(cluster: Cluster, ports: dict[str, int]) -> None:
    """Waits until every worker says that it is. Raises WorkersNotReady, ProcessFailed."""
    deadline = time.monotonic() + _READY_S
    waiting = dict(ports)
    said: dict[str, Any] = {}
    while waiting:
        cluster.check()
        for name, port in list(waiting.items()):
            ready, said[name] = _ready(port)
            if ready:
                del waiting[name]
        if waiting and time.monotonic() > deadline:
            raise WorkersNotReady("; ".join(f"worker {name}: {said[name]}" for name in waiting))
        time.sleep(0.2)


def scrape_totals(port: int) -> dict[Total, int]:
    """What a worker's metrics say of each capability. Raises OSError."""
    with _opener.open(f"http://127.0.0.1:{port}/metrics", timeout=5.0) as answer:
        text = answer.read().decode()
    totals: dict[Total, int] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name in ("unmask_capability_fallbacks_total", "unmask_capability_attempts_total"):
                labels = sample.labels
                totals[Total(labels["capability"], labels.get("reason_code"))] = int(sample.value)
    return totals


def _ready(port: int) -> tuple[bool, Any]:
    try:
        with _opener.open(f"http://127.0.0.1:{port}/readyz", timeout=2.0) as answer:
            return True, json.load(answer)
    except urllib.error.HTTPError as error:
        return False, error.read().decode(errors="replace")[:500]
    except (OSError, ValueError) as error:
        return False, type(error).__name__
