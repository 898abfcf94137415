"""The gate: asked before a successor sends traffic, answered from the verdicts as they stand at that moment."""

import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from unmask.consumers.gate.admission import Admission
from unmask.consumers.gate.ancestry import left_out
from unmask.consumers.gate.decide import decide, discharged, last_word
from unmask.consumers.gate.discharge import Discharge
from unmask.consumers.gate.entry import Entry, Unread
from unmask.consumers.gate.followed import NotRead
from unmask.consumers.gate.guard import Guard
from unmask.consumers.gate.obligation import Probe
from unmask.consumers.gate.off_loop import off_loop
from unmask.consumers.gate.outdated import outdated
from unmask.consumers.gate.reading import Reading
from unmask.consumers.gate.recorder import AdmissionRecorder, admission_record
from unmask.consumers.gate.verdict_facts import VerdictFacts
from unmask.consumers.unreadable import TopicForbidden, TopicUnreadable, TopicWrongPolicy
from unmask.schemas.codes import AdmissionAnswer
from unmask.schemas.signing import KeyUse
from unmask.schemas.signing_setup import require_own_trust, signing_from_environment
from unmask.schemas.tokens import opaque_id
from unmask.schemas.topics import Topics, namespace_from_environment

__all__ = ["DEFAULT_TIMEOUT", "Gate"]

_logger = logging.getLogger(__name__)
_RETRY_SECONDS = 0.1
DEFAULT_TIMEOUT = 5.0
"""Seconds that a question may take in all."""

OnProgress = Callable[[float], None]


class Gate:
    """Answers whether a successor of a session may act. Safe for use by several threads.

    With `live` (the default) the partitions that were asked for stay in memory and are followed, for many questions;
    without, each question reads its session's partition once. Both are read to the end offset taken at the question.
    `bootstrap` and `namespace` come from KAFKA_BOOTSTRAP_SERVERS and UNMASK_NAMESPACE where they are left out,
    `signing_key` and `trusted_keys` from UNMASK_SIGNING_KEY and UNMASK_TRUSTED_KEYS. With trusted keys, what none of
    them signed admits nobody; with a signing key, what this gate records is signed.
    Raises NoBroker where no broker is named at all; KeyFileUnusable, OwnRecordsUntrusted, SigningUnavailable.
    """

    def __init__(
        self,
        bootstrap: str | None = None,
        namespace: str | None = None,
        *,
        live: bool = True,
        record_timeout: float = DEFAULT_TIMEOUT,
        signing_key: Path | None = None,
        trusted_keys: Path | None = None,
        on_progress: OnProgress | None = None,
    ) -> None:
        topics = Topics(namespace or namespace_from_environment())
        signer, self._trust = signing_from_environment(signing_key, trusted_keys)
        # Without a key of its own it may still ask; what it records then counts for this answer and no later one.
        if signer is not None:
            require_own_trust(signer, self._trust, KeyUse.ADMISSIONS)
        self._topic = topics.verdicts.name
        self._reading = Reading(topics, bootstrap, live=live, trust=self._trust, on_progress=on_progress)
        self._recorder = AdmissionRecorder(topics, bootstrap, give_up_after=record_timeout, signer=signer)
        self._record_timeout = record_timeout

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
        admission = replace(
            self._ask(session_id, mutating, timeout),
            admission_id=secrets.token_hex(16),
            successor_session_id=None if successor is None else opaque_id(successor),
            desk=self,
        )
        if admission.answer is AdmissionAnswer.UNVERIFIABLE:
            _logger.warning("refused: %s", admission.reason)
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
        """Like admit, without blocking the event loop. Time spent waiting for a free thread is part of `timeout`."""
        deadline = time.monotonic() + timeout

        def ask() -> Admission:
            left = max(0.0, deadline - time.monotonic())
            return self.admit(session_id, mutating=mutating, timeout=left, successor=successor)

        return await off_loop(ask)

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
        return replace(
            self._ask(admission.session_id, admission.mutating, DEFAULT_TIMEOUT, anew=True),
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
        self._reading.close()
        self._recorder.close(min(2.0, self._record_timeout) if timeout is None else timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, session_id: str, mutating: bool, timeout: float, *, anew: bool = False) -> Admission:
        """The answer now. `anew` wants it from a verdict that is up to date also where it refuses."""
        key = opaque_id(session_id)
        deadline = time.monotonic() + timeout
        while True:
            answer = self._lifted(
                decide(self._look_up(key, deadline), mutating=mutating, topic=self._topic, trust=self._trust), deadline
            )
            if answer.verdict is None or not (answer.admitted or anew):
                return answer
            told = self._last_word(answer, anew, deadline)
            # The verdict that takes in what is missing is mostly a moment away.
            if told.answer is not AdmissionAnswer.NOT_READY or deadline - time.monotonic() < _RETRY_SECONDS:
                return told
            time.sleep(_RETRY_SECONDS)

    def _lifted(self, answer: Admission, deadline: float) -> Admission:
        # What admits needs no further reason, and what rests on no verdict cannot have been discharged.
        if answer.answer is AdmissionAnswer.ADMITTED or answer.verdict is None:
            return answer
        try:
            return discharged(answer, self._discharge(answer, deadline))
        except (NotRead, TopicUnreadable) as error:
            cause = str(error)
        except Exception as error:
            cause = f"Reading failed ({type(error).__name__})."
        # It is a refusal with or without that, and the same one.
        return replace(answer, reason=f"{answer.reason} Whether that was done already is not known. {cause}")

    def _last_word(self, answer: Admission, anew: bool, deadline: float) -> Admission:
        assert answer.verdict is not None  # whoever calls has seen to it
        try:
            missing = outdated(answer.verdict, self._reading.snapshots(answer.session_id, deadline))
            if missing is None:
                known = self._reading.ancestors(deadline)
                missing = left_out(answer.verdict, known, topic=self._topic, trust=self._trust)
        except (NotRead, TopicUnreadable) as error:
            cause = str(error)
        except Exception as error:
            cause = f"Reading failed ({type(error).__name__})."
        else:
            return last_word(answer, missing, anew=anew)
        reason = f"Whether the session's verdict is the last word is not known. {cause}"
        return Admission(AdmissionAnswer.NOT_READY, answer.session_id, reason, answer.mutating)

    def _discharge(self, answer: Admission, deadline: float) -> Discharge | None:
        assert answer.verdict is not None  # whoever calls has seen to it
        return self._reading.discharge(
            answer.session_id, answer.verdict.digest, mutating=answer.mutating, deadline=deadline
        )

    def _look_up(self, key: str, deadline: float) -> Entry:
        """What the topic holds for a session at this moment, or why that is not known in time."""
        while True:
            try:
                return self._reading.entry(key, deadline)
            except (TopicWrongPolicy, TopicForbidden, NotRead) as cause:
                return Unread(key, str(cause))
            except TopicUnreadable as cause:
                # A topic may be about to appear, and a leader about to be chosen.
                if deadline - time.monotonic() < _RETRY_SECONDS:
                    return Unread(key, str(cause))
                time.sleep(_RETRY_SECONDS)
            except Exception as error:
                # A gate that fails must refuse, whatever failed.
                return Unread(key, f"The verdicts could not be read ({type(error).__name__}).")


def _now() -> int:
    # The only clock here; it dates records and decides nothing.
    return time.time_ns() // 1_000
