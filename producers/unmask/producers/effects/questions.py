"""Questions under way, and those that were answered: which decision is for whom, and which came for nobody."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from unmask.schemas.codes import EffectAnswer

__all__ = ["Decision", "Question", "Questions"]

Decision = dict[str, Any]
"""A decoded effect_decision."""
_REMEMBERED = 10_000
_STAMP_US = 1_000
_GRANTED = EffectAnswer.GRANTED.value


class Question:
    """One request, which may be sent several times until it is answered."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.decision: Decision | None = None
        self.answered = threading.Event()
        self.sent_at: float | None = None
        """When it was first sent; seconds of the lease clock."""
        self._copies: dict[int, float] = {}

    def delivered(self, offset: int, sent_at: float) -> None:
        """A copy of it that was sent at `sent_at` stands at an offset of the log."""
        self._copies[offset] = sent_at

    @property
    def in_the_log(self) -> bool:
        """Whether the broker has taken a copy of it: then it is decided, sooner or later."""
        return bool(self._copies)

    def lease_deadline(self, decision: Decision) -> float:
        """When a lease is over at the latest, by the lease clock: the broker's time of a copy is after its sending."""
        sent_at = self._copies.get(decision["offset"], self.sent_at)
        if decision["lease_until"] is None or sent_at is None:
            return 0.0
        lease_us: int = decision["lease_until"] - decision["decided_at"]
        # The broker cuts its time off at whole milliseconds: it may have stamped the copy with one before its sending.
        return sent_at + (lease_us - _STAMP_US) / 1_000_000


class Questions:
    """All questions of one life. `on_stray` gets leases that were granted when nobody waited any more."""

    def __init__(self, on_stray: Callable[[Decision], None]) -> None:
        self._on_stray = on_stray
        self._lock = threading.Lock()
        self._open: dict[str, Question] = {}
        self._closed: OrderedDict[str, int | None] = OrderedDict()
        """Answered questions, with the token that was taken; None where no lease was."""

    def open(self, request: dict[str, Any]) -> Question:
        """Begins to wait for the decision about a request."""
        question = Question(request)
        with self._lock:
            self._open[request["request_id"]] = question
        return question

    def close(self, question: Question) -> Decision | None:
        """Waits no longer. The decision, where it has come by now."""
        with self._lock:
            request_id = question.request["request_id"]
            self._open.pop(request_id, None)
            self._closed[request_id] = _lease(question.decision)
            if len(self._closed) > _REMEMBERED:
                self._closed.popitem(last=False)
            return question.decision

    def take(self, decision: Decision) -> None:
        """A decision has come. One question may be decided as often as it was sent; the first decision counts."""
        request_id = decision["request_id"]
        with self._lock:
            question = self._open.get(request_id)
            if question is not None and question.decision is None:
                question.decision = decision
                question.answered.set()
                return
            if question is not None:
                taken = _lease(question.decision)
            elif request_id in self._closed:
                taken = self._closed[request_id]
            else:
                return
        lease = _lease(decision)
        if lease is not None and lease != taken:
            self._on_stray(decision)

    def fail(self) -> None:
        """Has all that wait look up: no answer will come."""
        with self._lock:
            for question in self._open.values():
                question.answered.set()


def _lease(decision: Decision | None) -> int | None:
    if decision is None or decision["answer"] != _GRANTED:
        return None
    token: int = decision["fencing_token"]
    return token
