"""The events as Kafka records: one record per event, as a user would send them, or our batches of a given fill."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.compare.workload import REASONS, Workload
from fastavro import schemaless_writer
from fastavro.schema import load_schema

from unmask.schemas.codec import encode

__all__ = ["ONE_EVENT_SCHEMA", "Encoded", "batches", "one_event_records"]

ONE_EVENT_SCHEMA = Path(__file__).parent.parent / "peers" / "one_event.avsc"
_HEADER = b"\xc3\x01" + bytes.fromhex("6f6e655f65766e74")


class Encoded(NamedTuple):
    """One record to produce."""

    partition: int
    key: bytes
    value: bytes
    timestamp_ms: int


def one_event_records(load: Workload) -> Iterator[Encoded]:
    """One record per event, in the order of time. Carries what our batches carry of an event, and no more."""
    schema: Any = load_schema(str(ONE_EVENT_SCHEMA))
    hosts = load.hosts
    common = [
        {
            "emitter_id": host.emitter_id,
            **host.scope._asdict(),
            "entry_point": host.entry_point,
            "event_type": "route_attempt.v1",
            "reason_code": None,
        }
        for host in hosts
    ]
    seqs = [0] * len(hosts)
    keys = [host.emitter_id.encode() for host in hosts]
    events = zip(load.emitter_of.tolist(), load.capability_of.tolist(), load.occurred_at.tolist(), strict=True)
    for number, (emitter, capability, at) in enumerate(events):
        seqs[emitter] += 1
        record = common[emitter] | {
            "occurred_at": at,
            "seq": seqs[emitter],
            "capability": load.capabilities[capability],
            "run_id": f"{number:016x}",
        }
        out = io.BytesIO()
        out.write(_HEADER)
        schemaless_writer(out, schema, record)
        yield Encoded(hosts[emitter].partition, keys[emitter], out.getvalue(), at // 1000)


def batches(load: Workload, fill: int, *, closing: bool = True, heartbeat_ms: int = 10_000) -> Iterator[Encoded]:
    """Batches of `fill` events of one emitter each, in the order in which they are cut; the last one may hold less.

    With `closing` the last batch of each emitter closes it; without, all of them stay alive.
    """
    order = np.argsort(load.emitter_of, kind="stable")
    sizes = np.bincount(load.emitter_of, minlength=load.emitters)
    firsts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    # Per batch: emitter, first and last position in `order`, and the moment of its last event, when it is cut.
    cuts: list[tuple[int, int, int, int]] = []
    for emitter, (first, size) in enumerate(zip(firsts.tolist(), sizes.tolist(), strict=True)):
        for start in range(first, first + size, fill):
            stop = min(start + fill, first + size)
            cuts.append((int(load.occurred_at[order[stop - 1]]), emitter, start, stop))
    cuts.sort()
    ends = (firsts + sizes).tolist()
    batch_seq, recorded = [0] * load.emitters, [0] * load.emitters
    fallbacks = [0] * load.emitters
    began = (load.end_s - load.span_s) * 1_000_000 - 1
    for cut, emitter, start, stop in cuts:
        batch_seq[emitter] += 1
        events = order[start:stop]
        batch = _batch(load, emitter, events, began, cut)
        batch["batch_seq"] = batch_seq[emitter]
        batch["emitter"]["heartbeat_ms"] = heartbeat_ms
        batch["closing"] = closing and stop == ends[emitter]
        told = len(batch["kernel_fallbacks"])
        recorded[emitter] += stop - start - told
        fallbacks[emitter] += told
        batch["accounts"] = [{"family": "route_attempt", "recorded": recorded[emitter], "dropped": []}]
        if fallbacks[emitter]:
            batch["accounts"].append({"family": "kernel_fallback", "recorded": fallbacks[emitter], "dropped": []})
        host = load.hosts[emitter]
        yield Encoded(host.partition, host.emitter_id.encode(), encode("event_batch", batch), cut // 1000)


def _batch(load: Workload, emitter: int, events: Any, began: int, cut: int) -> dict[str, Any]:
    host = load.hosts[emitter]
    groups: dict[int, tuple[list[int], list[str]]] = {}
    fallbacks: list[dict[str, Any]] = []
    columns = (load.capability_of[events], load.occurred_at[events], load.is_fallback[events], events)
    for capability, at, fell_back, number in zip(*(column.tolist() for column in columns), strict=True):
        run_id = f"{number:016x}"
        if fell_back:
            fallbacks.append(_fallback(load.capabilities[capability], emitter, at, host.entry_point, run_id))
            continue
        times, runs = groups.setdefault(capability, ([], []))
        times.append(at)
        runs.append(run_id)
    return {
        "emitter": {
            "emitter_id": host.emitter_id,
            "started_at": began,
            "scope": host.scope._asdict(),
            "sdk": "bench-1",
        },
        "sent_at": cut,
        "route_attempts": [
            {
                "capability": load.capabilities[capability],
                "entry_point": host.entry_point,
                "occurred_at": times,
                "run_id": runs,
            }
            for capability, (times, runs) in groups.items()
        ],
        "kernel_fallbacks": fallbacks,
        "masked_errors": [],
        "session_openings": [],
        "session_teardowns": [],
    }


def _fallback(capability: str, emitter: int, at: int, entry_point: str, run_id: str) -> dict[str, Any]:
    return {
        "event_type": "kernel_fallback.v1",
        "occurred_at": at,
        "capability": capability,
        "reason_code": REASONS[emitter % len(REASONS)],
        "route_expected": "kernel",
        "runtime_route": "legacy",
        "entry_point": entry_point,
        "run_id": run_id,
        "tenant_id": None,
        "conversation_id": None,
        "session_id": None,
        "operation_id": None,
    }
