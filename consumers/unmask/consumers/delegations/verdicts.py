"""What verdicts that can be believed find of delegations, by session."""

import time
from collections.abc import Collection

from unmask.consumers.delegations.gather import Judged
from unmask.consumers.gate.decide import decide
from unmask.consumers.gate.entry import Recorded, Unread
from unmask.consumers.gate.view import VerdictNotReady, VerdictView, verdict_source
from unmask.schemas.partitioner import partition_for
from unmask.schemas.signing import Trust
from unmask.schemas.topics import Topics

__all__ = ["judged_delegations"]


def judged_delegations(
    topics: Topics,
    bootstrap: str,
    sessions: Collection[str],
    timeout: float,
    trust: Trust | None,
    *,
    only: str | None = None,
) -> tuple[dict[str, Judged], list[str]]:
    """By session, for those named and every other whose verdict finds something; and what is not believed, in words.

    `only` reads the verdict of one session. Raises TopicUnreadable, VerdictNotReady.
    """
    source = verdict_source(bootstrap, topics.namespace)
    deadline = time.monotonic() + timeout
    partitions = None if only is None else [partition_for(only, source.shape(timeout).partitions)]
    judged: dict[str, Judged] = {}
    unbelieved = 0
    with VerdictView(source, partitions=partitions, only=only, trust=trust) as view:
        view.wait_ready(max(0.1, deadline - time.monotonic()))
        names = set(sessions) | ({only} if only is not None else set(view.grown()))
        for name in names:
            entry = view.entry(name)
            if isinstance(entry, Unread):
                raise VerdictNotReady(entry.cause)
            if not isinstance(entry, Recorded):
                continue
            if decide(entry, topic=source.topic, trust=trust).verdict is None:
                unbelieved += 1
            else:
                judged[name] = Judged.of(entry.verdict)
    words = [f"The verdicts of {unbelieved:,} sessions cannot be believed; nothing of them is shown."]
    return judged, words if unbelieved else []
