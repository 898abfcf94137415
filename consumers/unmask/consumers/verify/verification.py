"""`verify`: recounts the log from its beginning, reads what stands on the output topics, and compares."""

import time

from unmask.consumers.unreadable import BrokerSilent, TopicRewound
from unmask.consumers.verify.outcome import Outcome
from unmask.consumers.verify.passes import Passes
from unmask.consumers.verify.readers import Progress, Readers
from unmask.consumers.verify.request import Request
from unmask.schemas.topic_admin import verify_topics
from unmask.schemas.topic_problems import ProblemKind

__all__ = ["LogNotStamped", "verify"]

_PAUSE_SECONDS = 1.0
_ATTEMPTS = 3


class LogNotStamped(Exception):
    """The log's records do not carry the broker's time, without which nothing can be proven; the text has the fix."""


def _silently(_topic: str, _left: int) -> None:
    """Nobody wants to know."""


def verify(request: Request, progress: Progress = _silently) -> Outcome:
    """Recounts the range and compares.

    Raises a TopicUnreadable that names the cause, LogNotStamped, RangeError, NoBroker, BrokerUnreachable, DecodeError
    where a mark cannot be read, RegistryUnavailable, RegistryClientMissing.
    """
    names = (request.topics.events.name, request.topics.ledger.name)
    for problem in verify_topics(request.bootstrap, request.topics, timeout=request.timeout):
        if problem.topic in names and problem.kind is ProblemKind.TIMESTAMP_TYPE:
            raise LogNotStamped(f"{problem.topic}: {problem.what}. Fix: {problem.fix}")
    for _ in range(_ATTEMPTS - 1):
        try:
            with Readers(request.bootstrap, request.timeout, progress) as readers:
                return Passes(request, readers).run()
        except (TopicRewound, BrokerSilent):
            # The log's oldest segment went while it was read, or a partition got another leader.
            time.sleep(_PAUSE_SECONDS)
    with Readers(request.bootstrap, request.timeout, progress) as readers:
        return Passes(request, readers).run()
