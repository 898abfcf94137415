"""What the disk outbox costs beside the record calls: a start, a batch on the disk, and the adoption of a dead emitter.

    python benchmarks/outbox.py [--batches N] [--folder PLACE]

No broker is needed: batches are acknowledged by hand. The folder decides which disk is measured; the default is the
system's place for temporary files.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from unmask.producers import Emitter, EmitterSettings
from unmask.producers.life import EmitterLife
from unmask.producers.outbox.adopter import Adopter
from unmask.producers.outbox.opening import begin
from unmask.producers.outbox.store import Limits, OutboxStore
from unmask.producers.store import StoredBatch
from unmask.producers.transport import Receiver
from unmask.schemas.codec import encode

NOBODY = "127.0.0.1:1"
LIMITS = Limits(10**12, 10**15)


class Acknowledging:
    """A client that delivers at once."""

    def partition_of(self, emitter_id: str, seconds: float) -> int | None:
        """Always the first."""
        return 0

    def send_for(self, receiver: Receiver, batch: StoredBatch, partition: int) -> bool:
        """Delivered."""
        receiver.delivered(batch.batch_seq)
        return True


def milliseconds(call: Callable[[], object], times: int) -> str:
    """Median and slowest of so many calls."""
    taken = []
    for _ in range(times):
        before = time.perf_counter()
        call()
        taken.append((time.perf_counter() - before) * 1000)
    return f"{statistics.median(taken):8.2f} ms median, {max(taken):8.2f} ms slowest of {times}"


def starts(folder: Path) -> None:
    """Making an emitter, with and without an outbox."""
    for title, box in (("without an outbox", None), ("with one", folder / "starts")):
        made: list[Emitter] = []
        settings = EmitterSettings(bootstrap_servers=NOBODY, outbox_dir=box)
        print(f"{'making an emitter, ' + title:<44}", milliseconds(lambda: made.append(Emitter(settings)), 20))  # noqa: B023
        for emitter in made:
            emitter.close(0)


def batches_on_the_disk(folder: Path, batches: int) -> EmitterLife:
    """Cuts of one fallback and of ten thousand attempts, each with its commit."""
    settings = EmitterSettings(outbox_dir=folder, buffer_limit=10**6)
    life = EmitterLife(settings, time.time_ns, lambda owner: begin(owner, folder / "lives", LIMITS))
    life.open()
    life.partition = 0

    def cut(family: int, times: int, *event: object) -> None:
        lane = life.buffer.lanes[family]
        for _ in range(times):
            try:
                lane.count()
            except ValueError:
                lane.count_on()
            lane.events.append((time.time_ns(), *event))
        life.cut()
        life.keep()

    def cut_one() -> None:
        cut(1, 1, "answer", "timeout", None, "run-1", None, None, None, None)

    def cut_many() -> None:
        cut(0, 10_000, "answer", "api", None)

    def size() -> int:
        health = life.outbox_health()
        assert health is not None
        return health.bytes_kept

    print(f"{'a batch of one fallback, cut and kept':<44}", milliseconds(cut_one, batches))
    small = size()
    print(f"{'a batch of 10,000 attempts, cut and kept':<44}", milliseconds(cut_many, 20))
    attempt = (size() - small) / 200_000
    print(f"{'bytes: such a batch, an attempt in a large one':<44} {small // batches:8}, {attempt:8.1f}")
    return life


def adoption(folder: Path, life: EmitterLife) -> None:
    """A later process takes all of it to its end."""
    kept = life.unacknowledged()
    store = life._store
    assert isinstance(store, OutboxStore)
    # As if its process had died: nobody has the file open, and nobody holds the lock.
    assert store._file is not None
    store._file.close()
    store._folder.leave()
    adopter = Adopter(folder / "lives", LIMITS, time.time_ns, encode, "own")
    before = time.perf_counter()
    now = 0.0
    while not adopter.finished:
        adopter.turn(Acknowledging(), now)
        now += 0.01
    taken = time.perf_counter() - before
    print(f"{'an adoption of ' + format(kept, ',') + ' batches':<44} {taken:8.2f} s, {kept / taken:,.0f} batches/s")


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=5_000)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="unmask-bench-", dir=arguments.folder) as name:
        folder = Path(name)
        starts(folder)
        life = batches_on_the_disk(folder, arguments.batches)
        adoption(folder, life)


if __name__ == "__main__":
    main()
