"""What a thread of a host does: claims an effect, and then one of all the things that hosts do with a lease.

Before each step that matters it may die: SIGKILL, by its own hand, so that no point between two steps is left out.
"""

import os
import random
import signal
import threading
import time
from dataclasses import dataclass
from typing import Any

from tests.chaos.effects.journal import Journal, World, now_us

from unmask.producers.effects import Claim, EffectsClient, Settlement
from unmask.schemas.codes import EffectAnswer

__all__ = ["Choice", "Doer", "Wanted"]

TENANTS = ("blue", "green", "red")
"""Their keys have the same names."""
_GENERATION_S = 4
_FAILURES, _STRATEGIES, _BUDGETS = 8, 2, 3
_BUDGET_GENERATIONS = 5
_LIMIT = 10
_OLDER_SHARE, _OTHER_CONTENT_SHARE, _DEATH_SHARE = 0.15, 0.02, 0.0012
_PAUSE_S = (0.02, 0.35)
_WORK_S = (0.0, 0.08)
_TIMEOUT_S = 5.0
_TRIES = 6

WAYS = {
    "commit": 55, "renew": 8, "release": 9, "leave": 6, "forget": 6, "late": 8, "reckless": 4, "twice": 4,
}  # fmt: skip
"""How often each way is gone, of 100."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """An effect that somebody wants."""

    tenant: str
    failure: str
    strategy: str
    budget: str
    fingerprint: str
    lease_s: float
    limit: int | None

    @property
    def key(self) -> list[str]:
        """Its five parts."""
        return [self.tenant, self.failure, self.strategy, "1", self.budget]

    def arguments(self) -> dict[str, Any]:
        """As claim() takes them."""
        return {
            "tenant": self.tenant, "failure": self.failure, "strategy": self.strategy, "strategy_version": "1",
            "budget_key": self.budget, "fingerprint": self.fingerprint, "lease": self.lease_s,
            "budget_limit": self.limit,
        }  # fmt: skip


class Choice:
    """Which effects there are at a time: the same for all hosts, so that they want the same ones."""

    def __init__(self, draw: random.Random, epoch: int, leases: tuple[float, float]) -> None:
        self.draw = draw
        self._epoch = epoch
        self._leases = leases

    def next(self) -> Wanted:
        """The next one to be wanted."""
        draw = self.draw
        generation = max(0, (now_us() - self._epoch) // 1_000_000 // _GENERATION_S)
        if draw.random() < _OLDER_SHARE:
            generation = max(0, generation - draw.randint(1, 40))
        number = draw.randrange(_FAILURES)
        kind = number % _BUDGETS
        failure = f"f{generation}-{number}"
        return Wanted(
            tenant=draw.choice(TENANTS),
            failure=failure,
            strategy=f"s{draw.randrange(_STRATEGIES)}",
            budget=f"b{generation // _BUDGET_GENERATIONS}-{kind}",
            fingerprint="another" if draw.random() < _OTHER_CONTENT_SHARE else failure,
            lease_s=draw.uniform(*self._leases),
            # One kind of budget runs out; one has a limit that is far away; one has none.
            limit=(draw.choice((_LIMIT, _LIMIT, _LIMIT + 3)), 1_000, None)[kind],
        )

    def way(self) -> str:
        """What becomes of a lease."""
        return self.draw.choices(list(WAYS), list(WAYS.values()))[0]


class Doer:
    """One thread's deeds, behind the journal of its life."""

    def __init__(
        self, client: EffectsClient, journal: Journal, world: World, choice: Choice, name: str, told: threading.Event
    ) -> None:
        self._client = client
        self._journal = journal
        self._world = world
        self._choice = choice
        self._draw = choice.draw
        self._name = name
        self._told = told
        self._number = 0

    def run(self) -> None:
        """Until told to end."""
        while not self._told.is_set():
            self._deed(self._choice.next())
            self._told.wait(self._draw.uniform(*_PAUSE_S))

    def claim(self, wanted: Wanted) -> Claim:
        """Asks, between two lines of the journal."""
        asked = now_us()
        self._journal.add({"e": "ask", "k": wanted.key, "at": asked})
        before = time.monotonic()
        claim = self._client.claim(**wanted.arguments(), timeout=_TIMEOUT_S)
        took = time.monotonic() - before
        self._die("before the answer is written down")
        self._journal.add(
            {
                "e": "told", "what": "claim", "k": wanted.key, "q": claim.request_id, "answer": claim.answer.value,
                "reason": None if claim.reason is None else claim.reason.value, "token": claim.fencing_token,
                "receipt": claim.receipt, "unsettled": claim.unsettled, "asked": asked, "at": now_us(), "took": took,
            }
        )  # fmt: skip
        return claim

    def _deed(self, wanted: Wanted) -> None:
        claim = self.claim(wanted)
        if not claim.granted:
            return
        self._die("after the grant")
        way = self._choice.way()
        if way == "release":
            self._settle(wanted, "release", self._client.release(claim, timeout=_TIMEOUT_S), claim)
            return
        if way == "leave":
            return
        if way == "late":
            # It was too long at something else, and does not look at its lease: the reckless ones exist.
            self._told.wait(claim.remaining() + self._draw.uniform(0.0, 1.5))
        else:
            time.sleep(self._draw.uniform(*_WORK_S))
        if way == "renew":
            renewed = self._client.renew(claim, self._draw.uniform(1.0, 4.0), timeout=_TIMEOUT_S)
            self._settle(wanted, "renew", renewed, claim)
            claim = renewed.claim
        receipt = self._make(wanted, claim, reckless=way in ("late", "reckless"))
        if receipt is None or way == "forget":
            return
        self._die("after the effect")
        self._commit(wanted, claim, receipt)
        if way == "twice":
            self._commit(wanted, claim, receipt)
            self._settle(wanted, "release", self._client.release(claim, timeout=_TIMEOUT_S), claim)

    def _make(self, wanted: Wanted, claim: Claim, *, reckless: bool) -> str | None:
        """Makes the effect, and says what it left behind; None where it must not be made any more."""
        assert claim.fencing_token is not None
        if claim.unsettled and not reckless and (made := self._world.find(wanted.key)) is not None:
            # The holder before made it and could not say so. It is not made again.
            return made
        # In this order: the lease held for certain at a time after `at`.
        at = now_us()
        trusted = claim.remaining() > 0
        if not trusted and not reckless:
            return None
        self._number += 1
        receipt = f"r-{self._name}-{self._number}"
        self._world.make(wanted.key, claim.fencing_token, receipt, self._name, trusted, at)
        self._die("after the effect, before it is written down")
        line = {"e": "made", "k": wanted.key, "token": claim.fencing_token, "receipt": receipt, "at": at}
        self._journal.add(line, durable=True)
        return receipt

    def _commit(self, wanted: Wanted, claim: Claim, receipt: str) -> None:
        for _ in range(_TRIES):
            settled = self._client.commit(claim, receipt, timeout=_TIMEOUT_S)
            self._die("after the commit")
            self._settle(wanted, "commit", settled, claim, receipt)
            if settled.answer is not EffectAnswer.ABSTAIN or self._told.is_set():
                return

    def _settle(self, wanted: Wanted, what: str, settled: Settlement, claim: Claim, receipt: str | None = None) -> None:
        self._journal.add(
            {
                "e": "told", "what": what, "k": wanted.key, "answer": settled.answer.value,
                "reason": None if settled.reason is None else settled.reason.value, "token": claim.fencing_token,
                "receipt": settled.receipt, "sent": receipt, "at": now_us(),
            }
        )  # fmt: skip

    def _die(self, point: str) -> None:
        if self._draw.random() < _DEATH_SHARE:
            self._journal.add({"e": "dies", "point": point, "at": now_us()})
            os.kill(os.getpid(), signal.SIGKILL)
