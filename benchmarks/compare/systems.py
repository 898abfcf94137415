"""The systems that are compared, each in the form in which its own users would write it."""

from dataclasses import dataclass

__all__ = ["SYSTEMS", "Kind", "System", "named"]

Kind = str
"""`worker`: ours. `python`: a job in our environment. `peer`: one in the peers'. `java`: a project built by Maven."""

WORKER, PYTHON, PEER, JAVA = "worker", "python", "peer", "java"


@dataclass(frozen=True, slots=True)
class System:
    """One row of the comparison."""

    name: str
    title: str
    kind: Kind
    events: int
    """In a full run."""
    quick: int
    """In a quick one; 0: it is left out there."""
    fill: int = 0
    """Events per record; 0: one-event records, each an Avro record of its own."""
    job: str = ""
    """File in `peers/` that runs, or its Maven project."""
    arguments: tuple[str, ...] = ()
    workers: int = 1
    fallback_every: int = 0
    closing: bool = False
    """Emits a window only when later events arrive, which the harness sends once all are counted."""
    compression: str = "lz4"
    """Of its log; `none` for a client that lacks the library."""
    durable: str = ""
    """What survives a kill of the process at the moment that counts as the end."""


_M = 1_000_000
_OURS = "state, counts and offsets in one transaction; no event lost or twice"
_NOTHING = "nothing"


def _worker(fill: int, events: int, quick: int, workers: int = 1, fallback_every: int = 0) -> System:
    name = f"worker-{fill}" + (f"-x{workers}" if workers > 1 else "") + ("-fallbacks" if fallback_every else "")
    title = f"our worker, fill {fill}"
    if workers > 1:
        title += f", {workers} processes"
    if fallback_every:
        title += f", one event in {fallback_every} a fallback"
    return System(
        name, title, WORKER, events, quick, fill=fill, workers=workers, fallback_every=fallback_every, durable=_OURS
    )


def _plain(fill: int, events: int, quick: int) -> System:
    if not fill:
        title, name = "plain loop, one-event records", "plain"
    else:
        title, name = f"plain loop over our batches, fill {fill}", f"plain-{fill}"
    return System(name, title, PYTHON, events, quick, fill=fill, job="plain_loop.py", durable=_NOTHING)


SYSTEMS: tuple[System, ...] = (
    _plain(0, _M, _M // 5),
    _worker(1, _M, _M // 5),
    _worker(10, 2 * _M, _M // 2),
    _worker(100, 4 * _M, 2 * _M),
    _worker(500, 8 * _M, 4 * _M),
    _worker(10, 4 * _M, _M, workers=2),
    _worker(100, 12 * _M, 0, workers=2),
    _worker(100, 2 * _M, _M // 2, fallback_every=100),
    _plain(1, _M, 0),
    _plain(10, 2 * _M, 0),
    _plain(100, 4 * _M, 2 * _M),
    _plain(500, 8 * _M, 0),
    System(
        "faust", "Faust, windowed table (idiomatic)", PYTHON, 60_000, 10_000, job="faust_job.py",
        arguments=("worker", "-l", "info", "--without-web"), compression="none", durable="changelog, at least once",
    ),
    System(
        "quix", "Quix Streams", PEER, 200_000, 50_000, job="quix_job.py", closing=True,
        durable="RocksDB and changelog, at least once",
    ),
    System(
        "bytewax", "Bytewax", PEER, _M, _M // 5, job="bytewax_job.py", durable="recovery store, at least once",
    ),
    System(
        "kafka-streams", "Kafka Streams", JAVA, 4 * _M, _M, job="kafka_streams",
        durable="RocksDB and changelog, at least once",
    ),
    System(
        "flink-heap", "Flink, heap state", JAVA, 4 * _M, _M, job="flink", arguments=("hashmap",),
        durable="checkpoint every 10 s",
    ),
    System(
        "flink-rocksdb", "Flink, RocksDB state", JAVA, 4 * _M, 0, job="flink", arguments=("rocksdb",),
        durable="checkpoint every 10 s",
    ),
    System(
        "kafka-streams-100", "Kafka Streams over our batches, fill 100", JAVA, 4 * _M, _M, fill=100,
        job="kafka_streams", durable="RocksDB and changelog, at least once",
    ),
    System(
        "flink-heap-100", "Flink over our batches, heap state, fill 100", JAVA, 4 * _M, _M, fill=100, job="flink",
        arguments=("hashmap",), durable="checkpoint every 10 s",
    ),
)  # fmt: skip


def named(name: str) -> System:
    """The system of that name. Raises KeyError."""
    return {system.name: system for system in SYSTEMS}[name]
