"""The gate: asked before a successor sends traffic, answered from the verdicts as they stand at that moment."""

import asyncio
import secrets
import threading
import time
from dataclasses import replace
from types import TracebackType
from typing import Self

from unmask.consumers.gate.admission import Admission
from unmask.consumers.gate.decide import decide
from unmask.consumers.gate.entry import Entry, Unread
from unmask.consumers.gate.guard import Guard
from unmask.consumers.gate.obligation import Probe
from unmask.consumers.gate.recorder import AdmissionRecorder, admission_record
from unmask.consumers.gate.verdict_facts import VerdictFacts
from unmask.consumers.gate.view import VerdictNotReady, VerdictView
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import TopicForbidden, TopicUnreadable, TopicWrongPolicy
from unmask.schemas.partitioner import partition_for
from unmask.schemas.tokens import opaque_id
from unmask.schemas.topics import Topics, namespace_from_environment

__all__ = ["DEFAULT_TIMEOUT", "Gate"]

_RETRY_SECONDS = 0.1
DEFAULT_TIMEOUT = 5.0
"""Seconds that a question may take in all."""


class Gate:
    """Answers whether a successor of a session may act. Safe for use by several threads.

    With `live` (the default) the partitions that were asked for stay in memory and are followed, for many questions;
    without, each question reads its session's partition once. Both are read to the end offset taken at the question.
    `bootstrap` and `namespace` come from KAFKA_BOOTSTRAP_SERVERS and UNMASK_NAMESPACE where they are left out.
    Raises NoBroker where no broker is named at all.
    """

    def __init__(
        self,
        bootstrap: str | None = None,
        namespace: str | None = None,
        *,
        live: bool = True,
        record_timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        topics = Topics(namespace or namespace_from_environment())
        self._source = TopicSource(topics.verdicts.name, bootstrap)
        self._recorder = AdmissionRecorder(topics, bootstrap, give_up_after=record_timeout)
        self._record_timeout = record_timeout
        self._live = live
        self._lock = threading.Lock()
        self._views: dict[int, VerdictView] = {}
        self._closed = False

    def admit(
        self,
        session_id: str,
        *,
        mutating: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
        successor: str | None = None,
    ) -> Admission:
        """The answer for a successor of `session_id`, within `timeout` seconds; any failure is a refusal, NOT_READY.

        `mutating=False` asks for reads only. `successor` is the session that wants to begin, for the records.
        """
        answer = decide(self._look_up(session_id, timeout), mutating=mutating)
        admission = replace(
            answer,
            admission_id=secrets.token_hex(16),
            successor_session_id=None if successor is None else opaque_id(successor),
            desk=self,
        )
        self._recorder.post(admission_record(admission, _now(), about=admission.verdict))
        return admission

    async def aadmit(
        self,
        session_id: str,
        *,
        mutating: bool = True,
        timeout: float = DEFAULT_TIMEOUT,  # noqa: ASYNC109  # bounds the reading itself, which a cancelled task would leave running
        successor: str | None = None,
    ) -> Admission:
        """Like admit, without blocking the event loop."""
        return await asyncio.to_thread(self.admit, session_id, mutating=mutating, timeout=timeout, successor=successor)

    def guard(
        self,
        session_id: str,
        *,
        mutating: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
        successor: str | None = None,
        probe: Probe | None = None,
    ) -> Guard:
        """A context manager and decorator, plain or async, that lets its body run only when admitted.

        With `probe`, a directive is carried out first. Refusals raise their own subclass of AdmissionRefused.
        """
        return Guard(lambda: self.admit(session_id, mutating=mutating, timeout=timeout, successor=successor), probe)

    def look_again(self, admission: Admission) -> Admission:
        """The answer to an admission's question now, unrecorded."""
        answer = decide(self._look_up(admission.session_id, DEFAULT_TIMEOUT), mutating=admission.mutating)
        return replace(
            answer,
            admission_id=admission.admission_id,
            successor_session_id=admission.successor_session_id,
            desk=self,
        )

    def keep(
        self,
        admission: Admission,
        *,
        about: VerdictFacts | None,
        by: str | None = None,
        reason_code: str | None = None,
    ) -> str | None:
        """Record an admission's step and await its delivery; else the cause, as a sentence."""
        return self._recorder.deliver(admission_record(admission, _now(), about=about, by=by, reason_code=reason_code))

    def close(self, timeout: float | None = None) -> None:
        """Let go of everything; records still on their way get `timeout` seconds, by default 2 at most."""
        with self._lock:
            self._closed = True
            views = list(self._views.values())
            self._views.clear()
        for view in views:
            view.close()
        self._recorder.close(min(2.0, self._record_timeout) if timeout is None else timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _look_up(self, session_id: str, timeout: float) -> Entry:
        """What the topic holds for a session at this moment, or why that is not known in time."""
        key = opaque_id(session_id)
        deadline = time.monotonic() + timeout
        while True:
            try:
                return self._look(key, deadline)
            except (TopicWrongPolicy, TopicForbidden, VerdictNotReady) as cause:
                return Unread(key, str(cause))
            except TopicUnreadable as cause:
                # A topic may be about to appear, and a leader about to be chosen.
                if deadline - time.monotonic() < _RETRY_SECONDS:
                    return Unread(key, str(cause))
                time.sleep(_RETRY_SECONDS)
            except Exception as error:
                # A gate that fails must refuse, whatever failed.
                return Unread(key, f"The verdicts could not be read ({type(error).__name__}).")

    def _look(self, key: str, deadline: float) -> Entry:
        if self._closed:
            raise VerdictNotReady("This gate is closed; make a new one.")
        partition = partition_for(key, self._source.shape(deadline - time.monotonic()).partitions)
        if self._live:
            return self._fresh(self._view(partition), partition, key, deadline)
        with VerdictView(self._source, partitions=[partition], only=key) as view:
            # It takes its own end offset, after the question came.
            view.wait_ready(deadline - time.monotonic())
            return view.entry(key)

    def _fresh(self, view: VerdictView, partition: int, key: str, deadline: float) -> Entry:
        read = view.position(partition)
        end = self._source.end_offsets([partition], deadline - time.monotonic())[partition]
        # Taken in this order: what was read before cannot lie behind the end now, unless the topic is another one.
        if read > end:
            view.read_anew()
        view.wait_for(partition, end, deadline - time.monotonic())
        return view.entry(key)

    def _view(self, partition: int) -> VerdictView:
        with self._lock:
            if self._closed:
                raise VerdictNotReady("This gate is closed; make a new one.")
            view = self._views.get(partition)
            if view is None:
                view = self._views[partition] = VerdictView(self._source, partitions=[partition]).start()
            return view


def _now() -> int:
    # The only clock here; it dates records and decides nothing.
    return time.time_ns() // 1_000
