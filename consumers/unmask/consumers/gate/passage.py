"""One successor's way past the gate: consumed before anything is dispatched, and believed for a while."""

import threading
import time
from collections.abc import Callable
from typing import Protocol

from unmask.consumers.gate.admission import Admission
from unmask.consumers.gate.obligation import Probe
from unmask.consumers.gate.off_loop import off_loop
from unmask.consumers.gate.refusals import AdmissionRefused
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
    several threads and tasks: those that wait at the same time share one question that was asked after they came, so
    that none waits for longer than two of them take.
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
        self._asked = {True: 0, False: 0}
        """How many questions of each kind have begun."""
        self._refused: dict[bool, tuple[int, Admission]] = {}
        """The number of the newest question of each kind that was refused, and its answer."""

    def check(self, *, mutating: bool = True) -> Admission:
        """The admission that lets a request pass. Raises the refusal's own subclass of AdmissionRefused."""
        held = self._held(mutating)
        return self._await(mutating, self._asked[mutating]) if held is None else held

    async def acheck(self, *, mutating: bool = True) -> Admission:
        """Like check, without blocking the event loop."""
        held = self._held(mutating)
        # The number is taken now, and not when there is a thread for it: what is asked until then is asked for it too.
        return await off_loop(self._await, mutating, self._asked[mutating]) if held is None else held

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

    def _await(self, mutating: bool, before: int) -> Admission:
        """The answer to a question that began after `before` had."""
        with self._lock:
            held = self._held(mutating)
            if held is not None:
                return held
            number, refusal = self._refused.get(mutating, (0, None))
            if refusal is not None and number > before:
                return refusal.raise_for_refusal()
            return self._ask(mutating)

    def _ask(self, mutating: bool) -> Admission:
        self._asked[mutating] += 1
        asked_at = self._clock()
        admission = self._gate.admit(
            self._session_id, mutating=mutating, timeout=self._timeout, successor=self._successor
        )
        if self._probe is not None and admission.answer is AdmissionAnswer.RECONCILE_FIRST:
            admission = admission.reconcile(self._probe)
        try:
            admission.raise_for_refusal()
        except AdmissionRefused:
            self._refused[mutating] = (self._asked[mutating], admission)
            raise
        self._admitted[mutating] = (asked_at + self._recheck, admission)
        return admission
