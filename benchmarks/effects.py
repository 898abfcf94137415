"""How long a host waits for the effects ledger: for the answer to a claim, and to a commit.

    python benchmarks/effects.py [--broker HOST:PORT] [--effects N] [--hosts N] [--only effects] [--quick]

A worker process of its own decides. One host claims and commits --effects effects, one after the other; then --hosts
hosts do so at the same time, each in a process of its own. The time is the caller's: from the call to its return. The
first WARM_UP effects of each host, in which it connects, are not counted; nothing else is discarded. The broker is
--broker, KAFKA_BOOTSTRAP_SERVERS, or a development broker that is found. With --only effects the worker does nothing
else; without, it runs the event ledger and the tables beside it, as `unmask stream` does.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence

from unmask.consumers.devbroker import resolve_broker
from unmask.consumers.devbroker.ports import free_ports
from unmask.producers.effects import EffectsClient
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

WARM_UP = 30
PARTITIONS = 6
BUDGETS = 20
TARGET_MS = 50


def host(bootstrap: str, namespace: str, effects: int, name: str) -> dict[str, list[float]]:
    """Seconds of each claim and each commit of one host, without the warm-up."""
    claims, commits = [], []
    with EffectsClient(bootstrap, namespace=namespace) as client:
        for number in range(WARM_UP + effects):
            began = time.perf_counter()
            claim = client.claim(
                tenant="acme", failure=f"{name}-{number}", strategy="refund", strategy_version="v1",
                budget_key=f"budget-{number % BUDGETS}", fingerprint=f"content-{number}", lease=60, timeout=60,
            )  # fmt: skip
            claimed = time.perf_counter()
            if not claim.granted or not client.commit(claim, f"receipt-{number}", timeout=60):
                raise SystemExit(f"{claim.answer} {claim.reason}: nothing of this is an answer in time")
            committed = time.perf_counter()
            if number >= WARM_UP:
                claims.append(claimed - began)
                commits.append(committed - claimed)
    return {"claim": claims, "commit": commits}


def tell(name: str, seconds: Sequence[float]) -> float:
    """One line of percentiles; p99 in milliseconds."""
    values = sorted(seconds)
    cells = [values[min(len(values) - 1, int(len(values) * share / 100))] * 1e3 for share in (50, 90, 99)]
    texts = "".join(f"{f'p{share}':>7} {cell:7.1f}" for share, cell in zip((50, 90, 99), cells, strict=True))
    print(f"{name:<32}{texts}   max {values[-1] * 1e3:7.1f} ms of {len(values):,}   (p99 ≤ {TARGET_MS} ms)", flush=True)
    return cells[-1]


def start_worker(bootstrap: str, namespace: str, only: str | None) -> "subprocess.Popen[bytes]":
    """`unmask stream` in a process of its own."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "unmask.consumers.cli.main", "stream", "--port", str(port)]
    told = {"KAFKA_BOOTSTRAP_SERVERS": bootstrap, "UNMASK_NAMESPACE": namespace, "UNMASK_LOG_LEVEL": "WARNING"}
    return subprocess.Popen([*command, *(["--only", only] if only else [])], env={**os.environ, **told})


def await_decision(bootstrap: str, namespace: str) -> None:
    """Waits until the worker decides."""
    with EffectsClient(bootstrap, namespace=namespace) as client:
        claim = client.claim(
            tenant="acme", failure="first", strategy="refund", strategy_version="v1", budget_key="budget-0",
            fingerprint="content", lease=1, timeout=60,
        )  # fmt: skip
        if not claim.granted:
            raise SystemExit(f"the worker did not decide within 60 s: {claim.reason}")


def side_by_side(bootstrap: str, namespace: str, effects: int, hosts: int) -> dict[str, list[float]]:
    """As `host`, of several hosts at the same time."""
    command = [sys.executable, "-m", "benchmarks.effects", "--broker", bootstrap, "--effects", str(effects)]
    processes = [
        subprocess.Popen([*command, "--as-host", f"{namespace}:host{n}"], stdout=subprocess.PIPE) for n in range(hosts)
    ]
    found: dict[str, list[float]] = {"claim": [], "commit": []}
    for process in processes:
        out, _ = process.communicate()
        if process.returncode:
            raise SystemExit("a host failed")
        for kind, seconds in json.loads(out).items():
            found[kind] += seconds
    return found


def main() -> int:
    """Run it; 1 where the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--broker", help="bootstrap servers")
    parser.add_argument("--effects", type=int, default=1_000)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--only", choices=["effects"], help="leave the worker's other parts out")
    parser.add_argument("--quick", action="store_true", help="a tenth of the effects")
    parser.add_argument("--as-host", help=argparse.SUPPRESS)
    given = parser.parse_args()
    effects = given.effects // 10 if given.quick else given.effects
    bootstrap = given.broker or resolve_broker(tethered=True).bootstrap
    if given.as_host:
        namespace, name = given.as_host.split(":")
        print(json.dumps(host(bootstrap, namespace, effects, name)))
        return 0
    namespace = f"bench-{secrets.token_hex(4)}"
    create_topics(bootstrap, Topics(namespace, events_partitions=PARTITIONS, table_partitions=PARTITIONS))
    worker = start_worker(bootstrap, namespace, given.only)
    try:
        await_decision(bootstrap, namespace)
        print(f"{os.cpu_count()} cores; one worker ({given.only or 'all parts'}), {PARTITIONS} partitions", flush=True)
        alone = host(bootstrap, namespace, effects, "alone")
        worst = max(tell(f"{kind}, one host", seconds) for kind, seconds in alone.items())
        together = side_by_side(bootstrap, namespace, effects // given.hosts, given.hosts)
        for kind, seconds in together.items():
            tell(f"{kind}, {given.hosts} hosts at once", seconds)
    finally:
        worker.terminate()
        worker.wait(30)
    return int(worst > TARGET_MS)


if __name__ == "__main__":
    sys.exit(main())
