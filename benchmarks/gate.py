"""What the gate costs, and how soon after a teardown it can answer.

    python benchmarks/gate.py [teardown] [look-up] [view] [--broker HOST:PORT] [--rate N] [--seconds N] [--verdicts N]

`teardown`: sessions end at --rate a second on one host; from the moment the teardown is recorded to the moment the
verdict is in a live view, through a worker process of its own. `look-up`: questions to a live view, without and with
the freshness check, from one thread, over a topic of --verdicts. `view`: a view over --verdicts from nothing to ready.
Without names, all three. The broker is --broker, KAFKA_BOOTSTRAP_SERVERS, or a development broker that is found.
Percentiles are of single events; nothing is discarded but a warm-up that is named.
"""

import argparse
import os
import random
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from confluent_kafka import Producer

from unmask.consumers.devbroker import resolve_broker
from unmask.consumers.devbroker.ports import free_ports
from unmask.consumers.gate import AdmissionAnswer, Gate, Recorded, VerdictView, decide, verdict_source
from unmask.consumers.testing import clean_verdict, degraded_verdict
from unmask.consumers.topic_reader import Row
from unmask.producers import Emitter, EmitterSettings
from unmask.schemas.codec import encode
from unmask.schemas.kafka import producer_config
from unmask.schemas.signing import sign_verdict
from unmask.schemas.signing_keys import generate_key
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

WARM_UP = 200
"""Sessions and questions that come before those that are measured."""
ASKED = 2_000
PARTITIONS = 6


def tell(name: str, seconds: Sequence[float], unit: str, scale: float, target: str) -> None:
    """One line of percentiles."""
    values = sorted(seconds)
    shares = (50, 90, 99, 99.9)
    cells = [values[min(len(values) - 1, int(len(values) * share / 100))] * scale for share in shares]
    texts = "".join(f"{f'p{share}':>8} {cell:8.1f}" for share, cell in zip(shares, cells, strict=True))
    print(f"{name:<46}{texts}   max {values[-1] * scale:8.1f} {unit} of {len(values):,}   ({target})", flush=True)


class StampedView(VerdictView):
    """A live view that notes when each session first had a verdict."""

    def __init__(self, bootstrap: str, namespace: str) -> None:
        self.seen: dict[bytes, float] = {}
        super().__init__(verdict_source(bootstrap, namespace))

    def _keep(self, row: Row) -> None:
        super()._keep(row)
        if row.key is not None:
            self.seen.setdefault(row.key, time.perf_counter())


def teardown(bootstrap: str, rate: int, seconds: float) -> None:
    """From a teardown to the verdict in a live view."""
    namespace = f"bench-{secrets.token_hex(4)}"
    create_topics(bootstrap, Topics(namespace, events_partitions=PARTITIONS, table_partitions=PARTITIONS))
    worker, port = start_worker(bootstrap, namespace)
    try:
        await_ready(worker, port)
        emitter = Emitter(EmitterSettings(bootstrap_servers=bootstrap, namespace=namespace, release_line="bench"))
        ended: dict[bytes, float] = {}
        with StampedView(bootstrap, namespace) as view:
            view.wait_ready(30)
            count = WARM_UP + int(rate * seconds)
            begin = time.perf_counter()
            for number in range(count):
                due = begin + number / rate
                while (wait := due - time.perf_counter()) > 0:
                    time.sleep(wait)
                name = f"session-{number}"
                with emitter.session(name) as session:
                    session.call("prices", lambda: 1, capability="retrieval")
                    ended[name.encode()] = time.perf_counter()
            took = time.perf_counter() - begin
            deadline = time.monotonic() + 30
            while len(view.seen) < count and time.monotonic() < deadline:
                time.sleep(0.05)
        report = emitter.close()
        missing = ended.keys() - view.seen.keys()
        print(f"teardown: {count:,} sessions in {took:.1f} s ({count / took:.0f}/s), delivered: {report.complete}")
        if missing:
            raise SystemExit(f"{len(missing)} sessions have no verdict after 30 s")
        measured = list(ended)[WARM_UP:]
        late = [view.seen[name] - ended[name] for name in measured]
        tell(f"teardown to verdict in a view, {rate}/s", late, "ms", 1e3, "p99 ≤ 500 ms")
    finally:
        worker.terminate()
        worker.wait(30)


def start_worker(bootstrap: str, namespace: str) -> tuple["subprocess.Popen[bytes]", int]:
    """`unmask stream` in a process of its own."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "unmask.consumers.cli.main", "stream", "--port", str(port)]
    told = {"KAFKA_BOOTSTRAP_SERVERS": bootstrap, "UNMASK_NAMESPACE": namespace, "UNMASK_LOG_LEVEL": "WARNING"}
    environment = {**os.environ, **told}
    return subprocess.Popen(command, env=environment), port


def await_ready(worker: "subprocess.Popen[bytes]", port: int) -> None:
    """Wait until the worker says that it is ready."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and worker.poll() is None:
        with suppress(OSError):
            if opener.open(f"http://127.0.0.1:{port}/readyz", timeout=2).status == 200:
                return
        time.sleep(0.2)
    raise SystemExit("the worker did not become ready")


def fill(bootstrap: str, verdicts: int) -> str:
    """A namespace with so many verdicts, one in ten of a degraded session; its name."""
    namespace = f"bench-{secrets.token_hex(4)}"
    topics = Topics(namespace, events_partitions=PARTITIONS, table_partitions=PARTITIONS)
    create_topics(bootstrap, topics)
    producer = Producer(
        producer_config(bootstrap, linger_ms=20, batch_size=500_000, queue_buffering_max_messages=500_000)
    )
    began = time.perf_counter()
    size = 0
    for number in range(verdicts):
        name = f"session-{number}"
        record = degraded_verdict(name, degraded=2) if number % 10 == 0 else clean_verdict(name)
        value = encode("verdict", {**record, "writer": "worker-1", "sequence": number + 1})
        size += len(value)
        while True:
            try:
                producer.produce(topics.verdicts.name, key=name, value=value)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0
    print(f"wrote {verdicts:,} verdicts of {size / verdicts:.0f} bytes in {time.perf_counter() - began:.0f} s")
    return namespace


def view(bootstrap: str, namespace: str, verdicts: int) -> VerdictView:
    """From nothing to ready, with its progress."""
    began = time.perf_counter()
    made = VerdictView(verdict_source(bootstrap, namespace)).start()
    shown: list[str] = []

    def progress(share: float) -> None:
        shown.append(f"{share:.0%}")
        print(f"\rview: {share:4.0%} after {time.perf_counter() - began:4.1f} s", end="", flush=True)

    made.wait_ready(120, progress, every=0.5)
    took = time.perf_counter() - began
    assert made.size == verdicts
    print(f"\nview over {verdicts:,} verdicts ready in {took:.1f} s, {verdicts / took:,.0f}/s   (≤ 15 s)", flush=True)
    return made


def look_up(bootstrap: str, namespace: str, made: VerdictView, verdicts: int) -> None:
    """Questions to a live view: from memory, and with the freshness check."""
    picked = random.Random(1).sample(range(verdicts), min(verdicts, 20_000))
    # Of clean sessions; nobody was asked about before, so that nothing is remembered of any of them.
    names = [f"session-{number}" for number in picked if number % 10]
    times = [timed(lambda name=name: decide(made.entry(name))) for name in names]  # type: ignore[misc]
    tell("look-up in memory, first of its session", times[WARM_UP:], "µs", 1e6, "≤ 50 µs")
    degraded = [f"session-{number}" for number in picked if number % 10 == 0]
    times = [timed(lambda name=name: decide(made.entry(name))) for name in degraded]  # type: ignore[misc]
    tell("the same, degraded sessions", times[WARM_UP:], "µs", 1e6, "≤ 50 µs")
    made.close()
    signed(names[:ASKED])
    with Gate(bootstrap, namespace) as gate:
        answers = {gate.admit(name, timeout=120).answer for name in names[:WARM_UP]}
        assert answers == {AdmissionAnswer.ADMITTED}
        asked = names[WARM_UP : WARM_UP + ASKED]
        times = [timed(lambda name=name: gate.admit(name)) for name in asked]  # type: ignore[misc]
        tell("gate.admit, fresh, admitted", times, "ms", 1e3, "≤ 5 ms")
        assert gate.admit(degraded[0], timeout=120).answer is AdmissionAnswer.RECONCILE_FIRST
        for name in degraded[:WARM_UP]:
            gate.admit(name, timeout=120)
        times = [timed(lambda name=name: gate.admit(name)) for name in degraded[:ASKED]]  # type: ignore[misc]
        tell("gate.admit, fresh, refused", times, "ms", 1e3, "≤ 5 ms")


def signed(names: list[str]) -> None:
    """The decision alone, of a verdict that is signed."""
    topic = "unmask.verdicts"
    with tempfile.TemporaryDirectory() as folder:
        key = generate_key(Path(folder) / "key.pem")
    verdicts = [sign_verdict({**clean_verdict(name), "writer": "w", "sequence": 1}, topic, key) for name in names]
    trust = key.trust()
    entries = [Recorded(verdict["session_id"], verdict["session_id"], verdict) for verdict in verdicts]
    for what, trusted in (("unsigned", None), ("signed", trust)):
        times = [timed(lambda entry=entry: decide(entry, topic=topic, trust=trusted)) for entry in entries]  # type: ignore[misc]  # noqa: B023
        tell(f"decision alone, {what}", times, "µs", 1e6, "")


def timed(call: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    before = time.perf_counter()
    call()
    return time.perf_counter() - before


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], "teardown", "look-up", "view"])
    parser.add_argument("--broker", help="bootstrap servers")
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--verdicts", type=int, default=1_000_000)
    given = parser.parse_args()
    bootstrap = given.broker or resolve_broker(tethered=True).bootstrap
    parts = set(given.parts) or {"teardown", "look-up", "view"}
    print(f"{threading.active_count()} thread here, {os.cpu_count()} cores", flush=True)
    if "teardown" in parts:
        teardown(bootstrap, given.rate, given.seconds)
    if parts & {"look-up", "view"}:
        namespace = fill(bootstrap, given.verdicts)
        made = view(bootstrap, namespace, given.verdicts)
        if "look-up" in parts:
            look_up(bootstrap, namespace, made, given.verdicts)
        made.close()


if __name__ == "__main__":
    main()
