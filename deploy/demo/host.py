"""A host: serves requests by an upstream, falls back where that fails, and tells Unmask through the SDK.

What it does is in its journal before it tells Unmask. It knows nothing of the plan's faults: they meet it as
exceptions of its client.
"""

import argparse
import itertools
import sys
import time
from pathlib import Path
from typing import Any

from demo.client import ask, outcome_of
from demo.journal import Journal, Kind
from demo.plan import PLANS, HostPlan, Plan, SessionPlan
from unmask.producers import Emitter, EmitterSettings, Session, Substitute

__all__ = ["UPSTREAM", "Host", "main"]

UPSTREAM = "local-http"
"""What all hosts call their upstream."""
_PAUSE_S = 0.08
_PATIENCE = 3  # failures in a row after which a session without a substitute gives up


class GaveUp(Exception):
    """The session's objective was not reached."""


class Host:
    """One host's work, from its emitter's opening to its close."""

    def __init__(self, plan: HostPlan, stop_at: float, start: float, base: str, journal: Journal, emitter: Emitter):
        self._plan = plan
        self._stop_at = stop_at
        self._start = start
        self._base = base
        self._journal = journal
        self._emitter = emitter

    def run(self) -> None:
        """All sessions of the plan, and requests of no session between them."""
        self._wait_until(0.0)
        for session in self._plan.sessions:
            self._serve(session.begin)
            self._session(session)
        self._serve(self._stop_at)

    def _serve(self, until: float) -> None:
        """Requests that belong to no session, through the record calls themselves."""
        capability = self._plan.capability
        while self._elapsed() < until:
            with self._journal.about(Kind.ATTEMPT, capability=capability, entry_point="http"):
                self._emitter.record_route_attempt(capability, "http")
            try:
                ask(self._base, capability)
            except Exception as error:
                with self._journal.about(Kind.FALLBACK, capability=capability, outcome=outcome_of(error)):
                    self._emitter.record_fallback(capability, error, entry_point="http")
            time.sleep(_PAUSE_S)

    def _session(self, plan: SessionPlan) -> None:
        journal = self._journal
        step = journal.begin(Kind.SESSION_OPEN, session=plan.session_id)
        try:
            with self._emitter.session(plan.session_id) as session:
                journal.done(step)
                try:
                    self._work(session, plan)
                except GaveUp:
                    step = journal.begin(Kind.SESSION_CLOSE, session=plan.session_id, outcome="failure")
                    raise
                step = journal.begin(Kind.SESSION_CLOSE, session=plan.session_id, outcome="success")
        except GaveUp:
            # The host lives on; the session has failed.
            return
        finally:
            journal.done(step)

    def _work(self, session: Session, plan: SessionPlan) -> None:
        failures = 0
        for number in itertools.count(1):
            if self._elapsed() >= plan.end:
                return
            try:
                self._operate(session, plan, f"{plan.session_id}-{number}")
                failures = 0
            except Exception as error:
                failures += 1
                if failures == _PATIENCE:
                    raise GaveUp from error
            time.sleep(_PAUSE_S)

    def _operate(self, session: Session, plan: SessionPlan, operation: str) -> None:
        """One operation. Raises what the upstream's client raised where nothing stands in for it."""
        journal, capability = self._journal, plan.capability
        about = {"session": plan.session_id, "operation": operation, "capability": capability}
        attempt = journal.begin(Kind.ATTEMPT, entry_point="agent", **about)
        failed: list[Exception] = []
        fallback: list[int] = []

        def primary() -> dict[str, Any]:
            journal.done(attempt)
            try:
                return ask(self._base, capability)
            except Exception as error:
                failed.append(error)
                raise

        def from_cache() -> dict[str, Any]:
            fallback.append(journal.begin(Kind.FALLBACK, outcome=outcome_of(failed[-1]), **about))
            return {"answer": "an older one"}

        substitutes = (Substitute("cache", from_cache, receipt="cache-1"),) if plan.substitute else ()
        session.call(
            UPSTREAM, primary, *substitutes, capability=capability, entry_point="agent", operation_id=operation
        )
        for step in fallback:
            journal.done(step)

    def _elapsed(self) -> float:
        return time.time() - self._start

    def _wait_until(self, elapsed: float) -> None:
        while (left := elapsed - self._elapsed()) > 0:
            time.sleep(left)


def main(arguments: list[str] | None = None) -> None:
    """Be one of the plan's hosts until its work is done."""
    parser = argparse.ArgumentParser(prog="demo.host")
    parser.add_argument("--name", required=True)
    parser.add_argument("--plan", choices=sorted(PLANS), required=True)
    parser.add_argument("--start", type=float, required=True, help="start of the plan, seconds since the epoch")
    parser.add_argument("--upstream", required=True, help="address of the upstream")
    parser.add_argument("--journal", type=Path, required=True)
    given = parser.parse_args(arguments)
    plan: Plan = PLANS[given.plan]
    journal = Journal(given.journal)
    settings = EmitterSettings.from_environment(heartbeat_ms=1000, release_line="demo")
    with journal.about(Kind.EMITTER_OPEN):
        emitter = Emitter(settings)
    Host(plan.host(given.name), plan.hosts_stop, given.start, given.upstream, journal, emitter).run()
    with journal.about(Kind.EMITTER_CLOSE):
        report = emitter.close()
    if not report.complete:
        sys.exit(f"not everything was delivered: {report}")


if __name__ == "__main__":
    main()
