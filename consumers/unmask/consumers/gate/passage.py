"""One successor's way past the gate: consumed before anything is dispatched, and believed for a while."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Protocol

from unmask.consumers.gate.admission import Admission
from unmask.consumers.gate.obligation import Probe
from unmask.schemas.codes import AdmissionAnswer

__all__ = ["Passage"]

_SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))


class Asked(Protocol):
    """What a passage needs of a gate."""

    def admit(
        self, session_id: str, *, mutating: bool = True, timeout: float = ..., successor: str | None = None
    ) -> Admission:
        """The answer for a successor of `session_id`."""
        ...


class Passage:
    """Asks the gate before the first request, and again `recheck` seconds after it was last admitted.

    A refusal is never remembered: whoever is refused asks anew with the next request. What was admitted for reads only
    does not cover a request that changes anything. With `probe`, a directive is carried out first. Safe for use by
    several threads and tasks; they share one answer.
    """

    def __init__(
        self,
        gate: Asked,
        session_id: str,
        *,
        successor: str | None = None,
        timeout: float = 5.0,
        probe: Probe | None = None,
        recheck: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gate = gate
        self._session_id = session_id
        self._successor = successor
        self._timeout = timeout
        self._probe = probe
        self._recheck = recheck
        self._clock = clock
        self._lock = threading.Lock()
        self._admitted: dict[bool, tuple[float, Admission]] = {}

    def check(self, *, mutating: bool = True) -> Admission:
        """The admission that lets a request pass. Raises the refusal's own subclass of AdmissionRefused."""
        held = self._held(mutating)
        if held is not None:
            return held
        with self._lock:
            # Whoever waited here may find that another one has asked meanwhile.
            return self._held(mutating) or self._ask(mutating)

    async def acheck(self, *, mutating: bool = True) -> Admission:
        """Like check, without blocking the event loop."""
        held = self._held(mutating)
        return held if held is not None else await asyncio.to_thread(self.check, mutating=mutating)

    def check_method(self, method: str) -> Admission:
        """Like check, for a request by its HTTP method: all but safe methods change something."""
        return self.check(mutating=method.upper() not in _SAFE_METHODS)

    async def acheck_method(self, method: str) -> Admission:
        """Like check_method, without blocking the event loop."""
        return await self.acheck(mutating=method.upper() not in _SAFE_METHODS)

    def _held(self, mutating: bool) -> Admission | None:
        now = self._clock()
        # An admission for changes covers reads too.
        for wanted in (True,) if mutating else (True, False):
            found = self._admitted.get(wanted)
            if found is not None and now < found[0]:
                return found[1]
        return None

    def _ask(self, mutating: bool) -> Admission:
        asked_at = self._clock()
        admission = self._gate.admit(
            self._session_id, mutating=mutating, timeout=self._timeout, successor=self._successor
        )
        if self._probe is not None and admission.answer is AdmissionAnswer.RECONCILE_FIRST:
            admission = admission.reconcile(self._probe)
        admission.raise_for_refusal()
        self._admitted[mutating] = (asked_at + self._recheck, admission)
        return admission
