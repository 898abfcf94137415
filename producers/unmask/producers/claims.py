"""What a host itself counts for one of its sessions; the teardown claims it, and the stream checks it."""

from collections.abc import Iterable
from typing import Any

from unmask.producers.seen import Seen
from unmask.producers.tick import Tick
from unmask.producers.trace import Trace
from unmask.schemas.codes import Family, SessionOutcome

__all__ = ["SessionClaims"]

_MOST_UPSTREAMS = 256
# A fresh float stands for an operation that went through a fallback before anything else was heard of it, a plain
# object for any other: neither is the garbage collector's to look at.
_ZERO = 0.0


class SessionClaims:
    """Counts operations, not hops and not retries. Record calls of any thread count here, so nothing locks."""

    def __init__(self, session_id: str, primary_paths: frozenset[tuple[str, str]]) -> None:
        self.session_id = session_id
        self.primary_paths = primary_paths
        """(upstream, substitute) pairs whose use is the documented primary path, not a fallback."""
        self.failed = False
        self.ended = False
        self.trace: Trace | None = None
        """Errors that were swallowed in this session; None where nobody listens."""
        self.bystanders: frozenset[str] = frozenset()
        """Packages and loggers whose errors are never an upstream's."""
        self.upstreams: set[str] = set()
        """Upstreams that were tried or named so far, as far as they are remembered."""
        self.holders = Tick()
        self.released = Tick()
        self._attempts = Tick()
        self._fallbacks = Tick()
        self._begun_by_fallback = Tick()
        """Fallbacks that were the first that was heard of an operation: each is a degraded operation too."""
        self._masked = Tick()
        self._operations = Tick()
        self._degraded = Tick()
        self._known = Seen()
        self._known_degraded = Seen()
        """Those of the known ones that were not degraded at first."""
        self._known_attempts = Seen()

    def listen(self, bystanders: Iterable[str]) -> None:
        """Keep a trace from now on; layers that join add their bystanders."""
        self.bystanders |= frozenset(bystanders)
        if self.trace is None:
            self.trace = Trace()

    def operation(self, operation_id: str) -> None:
        """An operation began; the same id again is the same operation."""
        if self._known.first(operation_id):
            self._operations.add()

    def first_attempt(self, operation_id: str, capability: str) -> bool:
        """Whether `capability` is entered for the first time in this operation: a retry is no second attempt."""
        # What is no text is no label either; it is counted as it comes.
        if type(capability) is str and not self._known_attempts.first((operation_id, capability)):
            return False
        self._attempts.add()
        return True

    def meet(self, upstream: object) -> None:
        """An upstream was tried or named."""
        if isinstance(upstream, str) and len(self.upstreams) < _MOST_UPSTREAMS:
            self.upstreams.add(upstream)

    def swallowed(self, upstream: str, operation_id: str | None, *, since: int = 0) -> str:
        """The signature of what made `upstream` fail, as far as the trace proves it; else `UNATTRIBUTED`."""
        if self.trace is None:
            return "UNATTRIBUTED"
        others = self.upstreams - {upstream}
        return self.trace.of_mark(upstream, operation_id, since=since, others=others)

    def fallback(self, operation_id: str | None) -> None:
        """A fallback of this session; without an operation's id it is an operation of its own."""
        if operation_id is None:
            self._begun_by_fallback.add()
            return
        mark = _ZERO + _ZERO
        found = self._known.claim(operation_id, mark)
        if found is mark:
            self._begun_by_fallback.add()
            return
        self._fallbacks.add()
        if type(found) is not float and self._known_degraded.first(operation_id):
            self._degraded.add()

    def masked(self, operation_id: str) -> None:
        """A masked error of this session."""
        self._masked.add()
        mark = object()
        found = self._known.claim(operation_id, mark)
        if found is mark:
            self._operations.add()
        if type(found) is not float and self._known_degraded.first(operation_id):
            self._degraded.add()

    @property
    def operations(self) -> int:
        """Operations so far."""
        return self._operations.value + self._begun_by_fallback.value

    @property
    def degraded_operations(self) -> int:
        """Those of them that went through a fallback."""
        return self._degraded.value + self._begun_by_fallback.value

    def teardown(self) -> dict[str, Any]:
        """The wire's teardown, without its instant. Nothing is traced any more."""
        self.ended = True
        trace, self.trace = self.trace, None
        if trace is not None:
            trace.clear()
        counts = {
            Family.ROUTE_ATTEMPT: self._attempts.value,
            Family.KERNEL_FALLBACK: self._fallbacks.value + self._begun_by_fallback.value,
            Family.MASKED_ERROR: self._masked.value,
        }
        degraded = self.degraded_operations
        return {
            "session_id": self.session_id,
            "outcome": str(SessionOutcome.FAILURE if self.failed else SessionOutcome.SUCCESS),
            "operations": max(self.operations, degraded),
            "degraded_operations": degraded,
            "claims": [{"family": str(family), "count": count} for family, count in counts.items()],
        }
