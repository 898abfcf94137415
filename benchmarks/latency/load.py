"""What a host does while latencies are measured: attempts at a rate, with outages and ended sessions among them."""

import time
from dataclasses import dataclass, field

from unmask.producers import Emitter, EmitterSettings

__all__ = ["CAPABILITY", "Told", "host"]

CAPABILITY = "answer"
"""Of the attempts; sessions use another one."""
_TICK_S = 0.01
_SESSIONS_EACH_S = 20
_OUTAGES_EACH_S = 2


@dataclass(slots=True)
class Told:
    """When what was recorded, in seconds of the monotonic clock."""

    attempts: list[tuple[int, float]] = field(default_factory=list)
    """How many attempts there were when, after each tick."""
    outages: dict[str, float] = field(default_factory=dict)
    """Per upstream, when the second session met it."""
    teardowns: dict[bytes, float] = field(default_factory=dict)


def host(bootstrap: str, namespace: str, rate: int, seconds: float) -> Told:
    """Records `rate` attempts a second, in ticks of 10 ms, with sessions and outages among them. Returns at the end."""
    settings = EmitterSettings(bootstrap_servers=bootstrap, namespace=namespace, release_line="bench")
    emitter = Emitter(settings)
    told = Told()
    begin = time.monotonic()
    recorded = tick = sessions = outages = 0
    while (elapsed := time.monotonic() - begin) < seconds:
        for _ in range(int(rate * elapsed) - recorded):
            emitter.record_route_attempt(CAPABILITY, "chat")
            recorded += 1
        told.attempts.append((recorded, time.monotonic()))
        if sessions < elapsed * _SESSIONS_EACH_S:
            sessions += 1
            name = f"ended-{sessions}"
            with emitter.session(name) as session:
                session.call("prices", lambda: 1, capability="retrieval")
                told.teardowns[name.encode()] = time.monotonic()
        if outages < elapsed * _OUTAGES_EACH_S:
            outages += 1
            told.outages[f"upstream-{outages}"] = _outage(emitter, outages)
        tick += 1
        wait = begin + tick * _TICK_S - time.monotonic()
        if wait > 0:
            time.sleep(wait)
    report = emitter.close()
    if not report.complete:
        raise RuntimeError("the host could not deliver everything, so that its latencies say nothing")
    return told


def _outage(emitter: Emitter, number: int) -> float:
    """Two sessions meet an upstream that does not answer, and fall back; when the second one did."""
    at = 0.0
    for which in ("a", "b"):
        session, operation = f"fell-{number}-{which}", f"operation-{number}-{which}"
        at = time.monotonic()
        emitter.record_masked_error(session, operation, f"upstream-{number}", 503, receipt=f"receipt-{number}-{which}")
        emitter.record_fallback("retrieval", 503, session_id=session, operation_id=operation)
    return at
