"""What the ledger costs without a broker: encoded batches -> intake -> fold -> records of a transaction.

    python -m benchmarks.ledger_fold [--events 400000] [--repeats 3]

CPU time of one process, per batch size: microseconds per event and per batch, and the share of each step. Every run's
lifetime count is checked against what was encoded.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass

from unmask.schemas.codec import encode
from unmask.schemas.scope import Scope
from unmask.schemas.topics import Topics
from unmask.streams.ledger.fold import fold_batch
from unmask.streams.ledger.fold_single import fold_single
from unmask.streams.ledger.intake import Intake
from unmask.streams.ledger.outputs import Outputs
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.state import PartitionState

__all__ = ["Cost", "main", "measure"]

SIZES = (1, 10, 100, 500)
EMITTERS = 50
CAPABILITIES = 8
BATCHES_PER_TRANSACTION = 200
"""As many batches as a busy partition folds in the 100 ms of one transaction."""
TRANSACTIONS_PER_MARK = 10
START = 1_760_000_000_000_000
_SCOPE = Scope("r1", "v1", "kafka", "strict", "s1")
_STEP_US = 1_000


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds of one run by step."""

    size: int
    events: int
    intake_s: float
    fold_s: float
    outputs_s: float

    @property
    def total_s(self) -> float:
        """All three steps."""
        return self.intake_s + self.fold_s + self.outputs_s


def batches(size: int, events: int) -> Iterator[tuple[bytes, bytes, int]]:
    """Key, value and broker time of batches of `size` attempts each, `events` in all."""
    recorded = [0] * EMITTERS
    for number in range(events // size):
        emitter, seq = number % EMITTERS, number // EMITTERS + 1
        name, now = f"{emitter:016x}", START + number * _STEP_US
        recorded[emitter] += size
        groups = min(size, 4)
        batch = {
            "emitter": {
                "emitter_id": name, "started_at": START - 1_000_000, "scope": _SCOPE._asdict(),
                "heartbeat_ms": 10_000, "sdk": "bench",
            },
            "batch_seq": seq,
            "sent_at": now,
            "closing": False,
            "accounts": [{"family": "route_attempt", "recorded": recorded[emitter], "dropped": []}],
            "route_attempts": [
                {
                    "capability": f"capability-{(number + group) % CAPABILITIES}",
                    "entry_point": "chat",
                    "occurred_at": [now - i for i in range(group, size, groups)],
                    "run_id": [f"{number:08x}{i:04x}" for i in range(group, size, groups)],
                }
                for group in range(groups)
            ],
            "kernel_fallbacks": [],
            "masked_errors": [],
            "session_openings": [],
            "session_teardowns": [],
        }  # fmt: skip
        yield name.encode(), encode("event_batch", batch), now


def measure(size: int, events: int) -> Cost:
    """One run. Raises AssertionError where the counts are wrong, since a cost of wrong counts says nothing."""
    log = list(batches(size, events))
    rules, intake, state = FoldRules(), Intake(), PartitionState(0)
    outputs = Outputs(Topics("bench"), rules, "bench")
    intake_s = fold_s = outputs_s = 0.0
    clock = time.process_time
    for number, first in enumerate(range(0, len(log), BATCHES_PER_TRANSACTION)):
        part = log[first : first + BATCHES_PER_TRANSACTION]
        began = clock()
        singles = intake.read_singles([key for key, _, _ in part], [value for _, value, _ in part])
        read = [single or intake.read(key, value) for single, (key, value, _) in zip(singles, part, strict=True)]
        decoded = clock()
        for offset, (batch, (key, value, arrival)) in enumerate(zip(read, part, strict=True), first):
            if isinstance(batch, dict):
                fold_batch(state, rules, offset, arrival, batch)
            elif not fold_single(state, rules, offset, arrival, batch):
                fold_batch(state, rules, offset, arrival, intake.read(key, value))
        folded = clock()
        mark = number % TRANSACTIONS_PER_MARK == 0
        for _record in outputs.records(state, state.take_touched(), mark=mark):
            pass
        intake_s += decoded - began
        fold_s += folded - decoded
        outputs_s += clock() - folded
    counted = sum(cell.count for key, cell in state.cells.items() if key[1] == 0 and key[3] == "route_attempt")
    assert counted == len(log) * size, f"{counted} counted of {len(log) * size}"
    return Cost(size, counted, intake_s, fold_s, outputs_s)


def main() -> None:
    """Prints one line per batch size: the best of the repeats."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=400_000)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    print("events/batch   µs/event   µs/batch   intake   fold   outputs")
    for size in SIZES:
        # Small batches cost more each; a fifth of the events tells the same.
        events = asked.events if size >= 10 else asked.events // 10
        cost = min((measure(size, events) for _ in range(asked.repeats)), key=lambda c: c.total_s)
        per_event = cost.total_s / cost.events * 1e6
        shares = (cost.intake_s, cost.fold_s, cost.outputs_s)
        print(
            f"{size:>12} {per_event:>10.2f} {per_event * size:>10.1f}"
            + "".join(f"{share / cost.total_s:>8.0%}" for share in shares)
        )


if __name__ == "__main__":
    main()
