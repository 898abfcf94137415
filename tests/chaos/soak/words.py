"""What the soak's hosts do, and what each of it must become: capabilities, failures, and the codes of the contract.

Written down here and not asked of the classifiers, so that the checks do not share their faults.
"""

from collections.abc import Callable
from typing import NamedTuple

from unmask.schemas.codes import Directive, ReasonCode, UpstreamClass

__all__ = ["CAPABILITIES", "ENTRY_POINTS", "FAILURES", "UPSTREAM", "Failure"]

CAPABILITIES = ("retrieval", "answer", "tool_call", "summarize")
ENTRY_POINTS = ("http", "agent", "batch")
UPSTREAM = "primary-model"
"""The upstream of all sessions."""


class Failure(NamedTuple):
    """A failure as a host meets it, and what must come of it."""

    make: Callable[[], object]
    """What the record calls are handed."""
    reason: ReasonCode
    upstream_class: UpstreamClass
    directive: Directive


_PROBE = Directive.PROBE_UPSTREAM_BEFORE_ACTION
FAILURES = (
    Failure(TimeoutError, ReasonCode.TIMEOUT, UpstreamClass.TIMEOUT, _PROBE),
    Failure(lambda: 429, ReasonCode.RATE_LIMITED, UpstreamClass.RATE_LIMITED, _PROBE),
    Failure(ConnectionRefusedError, ReasonCode.UPSTREAM_UNREACHABLE, UpstreamClass.CONNECTION, _PROBE),
    Failure(lambda: 503, ReasonCode.UPSTREAM_ERROR, UpstreamClass.SERVER_ERROR, _PROBE),
    Failure(lambda: 400, ReasonCode.INVALID_REQUEST, UpstreamClass.CLIENT_ERROR, Directive.RE_FETCH_FROM_PRIMARY),
)
