"""A soak in small, made by hand: a journal, the log of its host, and what would have to stand for both."""

from collections import Counter
from pathlib import Path
from typing import Any

from tests.chaos.soak.checks import Checks
from tests.chaos.soak.journal import Journal, Kind, LifeJournal, read_journals
from tests.chaos.soak.lives import Life, read_lives
from tests.chaos.soak.log import Chain, Log
from tests.chaos.soak.sampler import Claim
from tests.chaos.soak.truth import Truth

from unmask.schemas.codes import Evidence, Family
from unmask.schemas.windowing import MICROS

__all__ = ["SIZES", "T", "a_batch", "a_claim", "a_journal", "a_log", "killed", "standing_for"]

T = 1_800_000_000 * MICROS
SIZES = (5, 0)


def a_batch(seq: int, cut: int, attempts: list[int], recorded: int, *, dropped: int = 0, closing: bool = False) -> Any:
    """A batch as it is decoded, of attempts alone."""
    causes = [{"cause": "host_died", "count": dropped}] if dropped else []
    return {
        "emitter": {"emitter_id": "e1", "started_at": T, "scope": {"release_line": "main"}},
        "batch_seq": seq, "sent_at": cut, "closing": closing,
        "accounts": [{"family": "route_attempt", "recorded": recorded, "dropped": causes}],
        "route_attempts": [{"capability": "retrieval", "entry_point": "http", "occurred_at": attempts}],
        "kernel_fallbacks": [], "masked_errors": [], "session_openings": [], "session_teardowns": [],
    }  # fmt: skip


def a_journal(folder: Path, instants: list[int], *, closed: bool = False) -> LifeJournal:
    """The journal of a host that recorded attempts at these instants."""
    written = Journal(folder / "h-1.journal")
    written.describe(host="h", emitter_id="e1", release_line="main", skew_s=0.0)
    for instant in instants:
        written.write(Kind.ATTEMPT, 0, 0, 0, 0, instant)
    if closed:
        written.write(Kind.CLOSING, 0, 0, 0, 0, instants[-1])
    (read,) = read_journals(folder)
    return read


def a_log(*batches: Any) -> Log:
    """The log with these batches of the host."""
    log = Log(chains={"e1": Chain("e1", "main", 0, T, T)})
    for offset, batch in enumerate(batches):
        assert log.chains["e1"].take(offset, batch["sent_at"], batch)
    return log


def killed(folder: Path) -> tuple[Checks, list[Life], Log]:
    """Three attempts: two arrived, one died with the host, in the window after."""
    journal = a_journal(folder, [T + 1, T + 2, T + 6 * MICROS])
    log = a_log(
        a_batch(1, T, [], 0),
        a_batch(2, T + 4 * MICROS, [T + 1, T + 2], 2),
        a_batch(3, T + 7 * MICROS, [], 3, dropped=1, closing=True),
    )
    checks = Checks()
    return checks, read_lives(checks, [journal], log), log


def a_claim(events: int, published: int, start: int = T) -> Claim:
    """A record that called so many attempts of the window complete."""
    return Claim(start, 5, "main", None, Family.ROUTE_ATTEMPT, events, published, published)


def standing_for(truth: Truth) -> list[dict[str, Any]]:
    """What would have to stand."""
    records = []
    for size, start in sorted({(size, start) for size, start, _ in {*truth.counts, *truth.witnessed}}):
        counts: Counter[str] = Counter()
        for (_, _, code), n in truth.counts.get((size, start, "main"), Counter()).items():
            counts[code] += n
        flawed = truth.flawed.get((size, start, "main"), set())
        for scope, capability in ((None, None), ("main", None), ("main", "retrieval")):
            if capability and not counts:
                continue
            states = {f: Evidence.LOSSY if f in flawed else Evidence.COMPLETE for f in Family if size}
            records.append({
                "window_start": start, "window_seconds": size, "capability": capability,
                "scope": None if scope is None else {"release_line": scope},
                "attempts": counts.total(), "attempts_by_entry_point": dict(counts), "fallbacks_total": 0,
                "fallbacks_by_reason": {}, "masked_errors": 0, "masked_errors_by_class": {},
                "teardowns_by_outcome": {}, "duplicates": 0, "quarantined": 0,
                "evidence": [{"family": f, "state": states.get(f, Evidence.PENDING)} for f in Family],
            })  # fmt: skip
    return records
