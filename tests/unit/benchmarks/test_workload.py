"""The benchmarks' workload: the same events whatever they are encoded as, and counts that notice what is wrong."""

import io
from collections import Counter
from typing import Any

import pytest
from benchmarks.compare.encoding import ONE_EVENT_SCHEMA, batches, one_event_records
from benchmarks.compare.outcome import difference
from benchmarks.compare.workload import Counts, Workload
from fastavro import schemaless_reader
from fastavro.schema import load_schema

from unmask.schemas.codec import decode

END_S = 1_790_000_000


def counted(batch: dict[str, Any]) -> Counts:
    """What a batch counts."""
    counts: Counter[tuple[int, str, str, str]] = Counter()
    line = batch["emitter"]["scope"]["release_line"]
    for group in batch["route_attempts"]:
        for at in group["occurred_at"]:
            counts[at // 60_000_000 * 60, line, group["capability"], group["entry_point"]] += 1
    return dict(counts)


@pytest.mark.parametrize("fill", [1, 7, 100])
def test_batches_of_any_fill_hold_the_events_that_are_counted(fill: int) -> None:
    load = Workload(3_000, END_S)
    found: Counter[tuple[int, str, str, str]] = Counter()
    cut: dict[str, int] = {}
    for record in batches(load, fill):
        batch = decode("event_batch", record.value)
        name = batch["emitter"]["emitter_id"]
        times = [at for group in batch["route_attempts"] for at in group["occurred_at"]]
        assert cut.get(name, 0) < min(times) <= max(times) == batch["sent_at"]
        cut[name] = batch["sent_at"]
        found.update(counted(batch))
    assert difference(dict(found), load.attempts()) == ""


def test_one_event_records_hold_the_same_events() -> None:
    load = Workload(2_000, END_S)
    schema: Any = load_schema(str(ONE_EVENT_SCHEMA))
    found: Counter[tuple[int, str, str, str]] = Counter()
    for record in one_event_records(load):
        event: Any = schemaless_reader(io.BytesIO(record.value[10:]), schema, None)
        window = event["occurred_at"] // 60_000_000 * 60
        found[window, event["release_line"], event["capability"], event["entry_point"]] += 1
    assert difference(dict(found), load.attempts()) == ""


def test_a_share_of_fallbacks_is_counted_apart() -> None:
    load = Workload(1_000, END_S, fallback_every=10)
    told = [decode("event_batch", record.value) for record in batches(load, 50)]
    assert sum(len(batch["kernel_fallbacks"]) for batch in told) == 100 == sum(load.fallbacks().values())
    assert sum(load.attempts().values()) == 900


def test_emitters_are_spread_evenly_over_partitions() -> None:
    hosts = Workload(10, END_S, emitters=40, partitions=4).hosts
    assert Counter(host.partition for host in hosts) == dict.fromkeys(range(4), 10)


def test_a_count_that_is_off_by_one_is_noticed() -> None:
    wanted = Workload(500, END_S).attempts()
    key = next(iter(wanted))
    assert difference(wanted | {key: wanted[key] + 1}, wanted)
    assert difference({name: n for name, n in wanted.items() if name != key}, wanted)
    assert difference(wanted | {(0, "r", "c", "e"): 1}, wanted)
