"""The client of the effects ledger: claim before a non-idempotent effect, commit or release after it.

Broker trouble is never an exception here: whatever goes wrong, the answer is ABSTAIN with its reason, and no effect is
made on it. A question that is not answered is asked again under the same request id, so that it never becomes two.
"""

import asyncio
import secrets
import time
from collections.abc import Mapping
from datetime import timedelta
from os import getpid
from typing import Any, Self

from unmask.producers import fork
from unmask.producers.effects.answers import Claim, NotGranted, Settlement
from unmask.producers.effects.channel import Channel
from unmask.producers.effects.key import EffectKey, fingerprint_token
from unmask.producers.effects.questions import Decision, Questions
from unmask.producers.effects.reading import claim_of, settlement_of
from unmask.producers.effects.scoped import Effect
from unmask.schemas.bounds import MOST
from unmask.schemas.codes import EffectReason, EffectRequestKind
from unmask.schemas.framing import framing_from_environment
from unmask.schemas.tokens import opaque_id
from unmask.schemas.topics import namespace_from_environment

__all__ = ["EffectsClient", "Seconds"]

Seconds = float | timedelta
DEFAULT_TIMEOUT = 10.0
_LONGEST_LEASE_MS = 86_400_000
_CLOSE_S = 5.0
_SETTLED_S = 0.3


class EffectsClient:
    """Asks the effects ledger. One per process is enough; threads may share it, and a forked child has its own life.

    Nothing is connected before the first question. Raises NoBroker, UnsafeClientOption and RegistryClientMissing when
    it is made; afterwards only ValueError, for what cannot be a question, and NotGranted.
    """

    def __init__(
        self,
        bootstrap_servers: str | None = None,
        *,
        namespace: str | None = None,
        client_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._bootstrap = bootstrap_servers
        self._namespace = namespace or namespace_from_environment()
        self._options = dict(client_options or {})
        self._closed = False
        self._begin_life()
        fork.watch(self)

    def _begin_life(self) -> None:
        self._process = getpid()
        self._holder = f"c-{secrets.token_hex(8)}"
        self._questions = Questions(self._give_back)
        self._channel = Channel(
            self._bootstrap, self._namespace, self._options, framing_from_environment(), self._holder, self._questions
        )

    # -- questions

    def claim(
        self,
        *,
        tenant: str,
        failure: str,
        strategy: str,
        strategy_version: str,
        budget_key: str,
        fingerprint: str | bytes,
        lease: Seconds,
        budget_limit: int | None = None,
        timeout: Seconds = DEFAULT_TIMEOUT,
    ) -> Claim:
        """May the effect be made? Waits for the answer, `timeout` at most.

        Parts that are no tokens are published as digests. `fingerprint` is a digest of what the effect would do, or
        the bytes of it; `lease` is for how long it may take, between a millisecond and a day; of all limits that are
        stated for a budget, the smallest holds. Raises ValueError where one of these is out of range.
        """
        effect = EffectKey.of(tenant, failure, strategy, strategy_version, budget_key)
        if budget_limit is not None and (type(budget_limit) is not int or budget_limit < 1):
            raise ValueError("budget_limit is a whole number from 1 on; leave it out for no limit")
        lease_ms = _lease_ms(lease)
        details = {
            "fingerprint": fingerprint_token(fingerprint),
            "lease_ms": lease_ms,
            # A limit that nobody reaches is as good as the largest number that a record may hold.
            "budget_limit": None if budget_limit is None else min(budget_limit, MOST),
        }
        return claim_of(effect, lease_ms, self._holder, *self._ask(effect, "claim", details, timeout))

    def commit(self, claim: Claim, receipt: str, *, timeout: Seconds = DEFAULT_TIMEOUT) -> Settlement:
        """The effect was made, and this is its receipt. Raises NotGranted, and ValueError for an empty receipt.

        May be said again with the same receipt, for example after a timeout. FENCED: the lease was over, somebody
        else may hold the next one; what was made stands without a grant, and must be looked after.
        """
        if not receipt:
            raise ValueError("a receipt names what the effect left behind; it is empty")
        return self._settle(claim, "commit", {"receipt": opaque_id(receipt)}, timeout)

    def release(self, claim: Claim, *, timeout: Seconds = DEFAULT_TIMEOUT) -> Settlement:
        """The effect was not made, and will not be under this claim. Raises NotGranted."""
        return self._settle(claim, "release", {}, timeout)

    def renew(self, claim: Claim, lease: Seconds | None = None, *, timeout: Seconds = DEFAULT_TIMEOUT) -> Settlement:
        """More time, counted from now (by default as much as was asked for first): go on with the `claim` that comes
        back. Raises NotGranted, and ValueError for a lease out of range."""
        lease_ms = claim.lease_ms if lease is None else _lease_ms(lease)
        return self._settle(claim, "renew", {"lease_ms": lease_ms}, timeout)

    def effect(self, **claim: Any) -> Effect:
        """A claim as a context manager, with the arguments of claim(); see Effect."""
        return Effect(self, claim)

    # -- the same for coroutines

    async def aclaim(self, **claim: Any) -> Claim:
        """As claim(), without blocking the loop."""
        return await asyncio.to_thread(self.claim, **claim)

    async def acommit(self, claim: Claim, receipt: str, **options: Any) -> Settlement:
        """As commit(), without blocking the loop."""
        return await asyncio.to_thread(self.commit, claim, receipt, **options)

    async def arelease(self, claim: Claim, **options: Any) -> Settlement:
        """As release(), without blocking the loop."""
        return await asyncio.to_thread(self.release, claim, **options)

    async def arenew(self, claim: Claim, lease: Seconds | None = None, **options: Any) -> Settlement:
        """As renew(), without blocking the loop."""
        return await asyncio.to_thread(self.renew, claim, lease, **options)

    # -- its end

    def close(self) -> None:
        """Ends the connections. What is asked afterwards is answered ABSTAIN; leases held end by their time."""
        self._closed = True
        fork.forget(self)
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- what a fork, or the end of the process, does to it

    def before_fork(self) -> None:
        """Wait for a client that makes its connections at this moment, for a third of a second at most."""
        self._channel.settled(_SETTLED_S)

    def after_fork(self) -> None:
        """This is the parent: nothing."""

    def begin_anew(self) -> None:
        """The process is a forked child: a new life, which connects with its first question."""
        if self._process != getpid():
            self._channel.keep_for_ever()
            self._begin_life()

    def begin_closing(self) -> float:
        """The end of the process."""
        return time.monotonic() + _CLOSE_S

    def finish_closing(self, deadline: float) -> None:
        """See begin_closing."""
        self.close()

    # -- asking

    def _settle(self, claim: Claim, kind: str, details: dict[str, Any], timeout: Seconds) -> Settlement:
        if not claim.granted:
            raise NotGranted(claim.answer)
        details = {"fencing_token": claim.fencing_token, **details}
        return settlement_of(claim, *self._ask(claim.effect, kind, details, timeout)[1:])

    def _ask(
        self, effect: EffectKey, kind: str, details: dict[str, Any], timeout: Seconds
    ) -> tuple[str, Decision | None, EffectReason | None, float]:
        """Request id, decision or the reason for none, and until when a lease holds by the lease clock."""
        deadline = time.monotonic() + _seconds(timeout)
        if self._process != getpid():
            # A forked child in which somebody asks before this client was told of the fork.
            self.begin_anew()
        request = self._request(effect, kind, details)
        if self._closed:
            return request["request_id"], None, EffectReason.CLOSED, 0.0
        questions, channel = self._questions, self._channel
        question = questions.open(request)
        try:
            reason = channel.ask(question, effect.route, deadline)
        finally:
            decision = questions.close(question)
        if decision is None:
            return request["request_id"], None, reason or EffectReason.TIMEOUT, 0.0
        return request["request_id"], decision, None, question.lease_deadline(decision)

    def _request(self, effect: EffectKey, kind: str, details: dict[str, Any]) -> dict[str, Any]:
        return {
            "request_id": f"q-{secrets.token_hex(8)}",
            "kind": EffectRequestKind(kind).value,
            **effect.parts(),
            "holder": self._holder,
            "asked_at": time.time_ns() // 1000,
            "fingerprint": None,
            "lease_ms": None,
            "budget_limit": None,
            "fencing_token": None,
            "receipt": None,
            **details,
        }

    def _give_back(self, decision: Decision) -> None:
        """A lease came for nobody: its claim had been given up, or answered otherwise, before it was decided again."""
        effect = EffectKey(**{name: decision[name] for name in EffectKey.__slots__})
        request = self._request(effect, "release", {"fencing_token": decision["fencing_token"]})
        self._channel.send_once(request, decision["partition"], effect.route)


def _seconds(value: Seconds) -> float:
    return value.total_seconds() if isinstance(value, timedelta) else float(value)


def _lease_ms(lease: Seconds) -> int:
    milliseconds = _seconds(lease) * 1000
    # Not rounded before: what is no number has no whole one.
    if not 0.5 < milliseconds <= _LONGEST_LEASE_MS:
        raise ValueError("a lease is between a millisecond and a day; renew it where an effect takes longer")
    return round(milliseconds)
