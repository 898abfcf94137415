"""A host of the soak: records as fast as it is told, behind a journal, until it is killed or told to end.

`python -m tests.chaos.soak.host`. SIGTERM ends it in order. Its clock may be skewed, and the file `cut-off` beside its
journals cuts it off from the brokers for as long as it is there: it goes on, and its outbox keeps what it records.
"""

import argparse
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.chaos.soak.journal import Journal, Kind
from tests.chaos.soak.processes import end_with_parent
from tests.chaos.soak.words import CAPABILITIES, ENTRY_POINTS, FAILURES, UPSTREAM

from unmask.producers import Emitter, EmitterSettings, Session
from unmask.producers.transport import KafkaTransport

__all__ = ["main"]

_TURN_S = 0.02
_FALLBACK_SHARE = 0.03
_OPERATION_EVERY = 8  # turns
_OPERATIONS = (4, 30)
_DEGRADED_SHARE = 0.12
_CLEAN_SHARE = 0.35  # of the sessions: nothing goes wrong in them
_FAILURE_SHARE = 0.1
_STANDSTILL_S = 240.0
_LONGEST_S = 600.0
_CLOSE_S = 120.0


class Clock:
    """The host's clock, with its skew. The recording thread may hold it at the instant that its journal has."""

    def __init__(self, skew_s: float) -> None:
        self._skew = round(skew_s * 1e9)
        self._held: int | None = None
        self._thread = threading.get_ident()

    def hold(self) -> int:
        """Hold it; the instant, in microseconds."""
        micros = (time.time_ns() + self._skew) // 1000
        self._held = micros * 1000
        return micros

    def release(self) -> None:
        """Let it run."""
        self._held = None

    def __call__(self) -> int:
        if self._held is not None and threading.get_ident() == self._thread:
            return self._held
        return time.time_ns() + self._skew


class CutOff(KafkaTransport):
    """A way to the brokers that is closed while the file is there."""

    barrier: Path

    def ready(self, seconds: float) -> bool:
        """Whether the partition is known and the way is open."""
        if self.barrier.exists():
            self.problem = "_TRANSPORT"
            time.sleep(min(seconds, 0.05))
            return False
        return super().ready(seconds)


class Reach(Emitter):
    """An emitter whose way to the brokers can be closed."""

    barrier: Path = Path()

    def _connect(self, *given: Any, **named: Any) -> KafkaTransport:
        transport = super()._connect(*given, **named)
        transport.__class__ = CutOff
        transport.barrier = self.barrier  # type: ignore[attr-defined]
        return transport


class Host:
    """One life."""

    def __init__(
        self, journal: Journal, emitter: Emitter, clock: Clock, rate: float, name: str, seed: int, told: threading.Event
    ) -> None:
        self._journal = journal
        self._emitter = emitter
        self._clock = clock
        self._rate = rate
        self._name = name
        self._random = random.Random(seed)
        self._session: Session | None = None
        self._number = 0
        self._left = self._operation = 0
        self._degraded = 0.0
        self._told = told

    @property
    def stopping(self) -> bool:
        """Whether to end after the session that is open."""
        return self._told.is_set()

    def run(self) -> None:
        """Record until stopped; what is due is caught up with after a pause."""
        before, owed, turn = time.monotonic(), 0.0, 0
        while not (self.stopping and self._session is None):
            now = time.monotonic()
            # After a long pause a host does not do all at once what it could not do before.
            owed = min(owed + (now - before) * self._rate, self._rate)
            before = now
            while owed >= 1:
                owed -= 1
                self._request()
            turn += 1
            if turn % _OPERATION_EVERY == 0:
                self._operate()
            time.sleep(_TURN_S)
        self._journal.write(Kind.CLOSING, 0, 0, 0, 0, self._clock.hold())
        self._clock.release()

    def _note(self, kind: Kind, capability: int, code: int, operation: int = 0, *, session: bool = False) -> None:
        self._journal.write(kind, capability, code, self._number if session else 0, operation, self._clock.hold())

    def _request(self) -> None:
        draw = self._random
        capability = draw.randrange(len(CAPABILITIES))
        if draw.random() < _FALLBACK_SHARE:
            code = draw.randrange(len(FAILURES))
            self._note(Kind.FALLBACK, capability, code)
            self._emitter.record_fallback(CAPABILITIES[capability], FAILURES[code].make())
        else:
            code = draw.randrange(len(ENTRY_POINTS))
            self._note(Kind.ATTEMPT, capability, code)
            self._emitter.record_route_attempt(CAPABILITIES[capability], ENTRY_POINTS[code])
        self._clock.release()

    def _operate(self) -> None:
        draw = self._random
        if self._session is None:
            self._number += 1
            self._left, self._operation = draw.randint(*_OPERATIONS), 0
            self._degraded = 0.0 if draw.random() < _CLEAN_SHARE else _DEGRADED_SHARE
            self._session = self._emitter.session(f"{self._name}-{self._number}")
            self._note(Kind.OPEN, 0, 0, session=True)
            self._session.__enter__()
        elif self._left == 0 or self.stopping:
            failed = draw.random() < _FAILURE_SHARE
            if failed:
                self._session.fail()
            self._note(Kind.CLOSE, 0, int(failed), session=True)
            self._session.__exit__(None, None, None)
            self._session = None
        else:
            self._left -= 1
            self._operation += 1
            self._work(self._session, self._operation)
        self._clock.release()

    def _work(self, session: Session, operation: int) -> None:
        draw, emitter = self._random, self._emitter
        capability, entry = draw.randrange(len(CAPABILITIES)), draw.randrange(len(ENTRY_POINTS))
        operation_id = f"{session.session_id}-{operation}"
        self._note(Kind.ATTEMPT, capability, entry, operation, session=True)
        session.operation(operation_id)
        emitter.record_route_attempt(CAPABILITIES[capability], ENTRY_POINTS[entry])
        if draw.random() >= self._degraded:
            return
        code = draw.randrange(len(FAILURES))
        self._note(Kind.MASKED, capability, code, operation, session=True)
        emitter.record_masked_error(session.session_id, operation_id, UPSTREAM, FAILURES[code].make(), "cache-1")
        self._note(Kind.FALLBACK, capability, code, operation, session=True)
        emitter.record_fallback(
            CAPABILITIES[capability], FAILURES[code].make(), session_id=session.session_id, operation_id=operation_id
        )


def _await_delivery(settings: EmitterSettings, emitter: Emitter) -> None:
    """Until all that it recorded, and all that its predecessors on this host left, is delivered.

    It may take long where machine or brokers are slow; it is over only once nothing has moved for minutes.
    """
    above, now = settings.outbox, time.monotonic()
    assert above is not None
    end, moved, before, flushed = now + _LONGEST_S, now, None, False
    while now < min(end, moved + _STANDSTILL_S):
        flushed = flushed or emitter.flush(1.0)
        left = sorted(path.name for path in above.iterdir() if path.name != emitter.emitter_id)
        if flushed and not left:
            return
        state = (sum(count.pending for count in emitter.counts().families.values()), left)
        now = time.monotonic()
        if state != before:
            moved, before = now, state
        time.sleep(0.1)


def main() -> None:
    """Live once."""
    parser = argparse.ArgumentParser(prog="soak.host")
    parser.add_argument("--name", required=True, help="of the host, for people")
    parser.add_argument("--life", required=True, help="of this life: of its journal and its sessions")
    parser.add_argument("--folder", type=Path, required=True, help="of the journals")
    parser.add_argument("--outbox", type=Path, required=True)
    parser.add_argument("--release-line", required=True)
    parser.add_argument("--rate", type=float, required=True, help="events per second")
    parser.add_argument("--skew", type=float, required=True, help="seconds that its clock is ahead")
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    end_with_parent()
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: told.set())
    clock = Clock(given.skew)
    settings = EmitterSettings.from_environment(
        release_line=given.release_line, heartbeat_ms=2_000, urgent_spacing_ms=250, outbox_dir=given.outbox,
        delivery_timeout_ms=10_000,
    )  # fmt: skip
    Reach.barrier = given.folder / f"{given.name}.cut-off"
    journal = Journal(given.folder / f"{given.life}.journal")
    emitter = Reach(settings, clock=clock)
    journal.describe(
        host=given.name, emitter_id=emitter.emitter_id, release_line=given.release_line, skew_s=given.skew
    )  # fmt: skip
    Host(journal, emitter, clock, given.rate, given.life, given.seed, told).run()
    _await_delivery(settings, emitter)
    report = emitter.close(_CLOSE_S)
    if not report.complete or emitter.health().internal_errors:
        sys.exit(f"not everything was delivered: {report} {emitter.health()}")


if __name__ == "__main__":
    main()
