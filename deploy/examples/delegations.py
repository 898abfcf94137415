"""A repair over four invocations on two hosts: each effect once, a standstill that trips, an appeal that was right.

It needs a broker and a worker; docs/delegations.md tells the story. Names: repair-42, night-1, night-2, or those given.
"""

import sys
import tempfile
import time

from unmask.producers import Budget, Delegation, EffectsClient, Emitter, EmitterSettings, Session
from unmask.producers.effects import Effect

BUDGET = Budget(calls=40, tokens=50_000, attempts=3)
FAILING = ["test_a", "test_b", "test_c", "test_d", "test_e"]


class Host:
    """One of two: an emitter, a client of the effects ledger, and the session in which its agent works."""

    def __init__(self, name: str, outbox: str) -> None:
        self.name = name
        self.emitter = Emitter(EmitterSettings.from_environment(release_line="repair-7", outbox_dir=outbox))
        self.client = EffectsClient()

    def invocation(self, repair: str, session: Session) -> Delegation:
        """The delegation, begun or resumed."""
        return self.emitter.delegation(repair, budget=BUDGET, scope="fix-build", signal="failing", session=session)

    def call(self, repair: Delegation, failing: list[str]) -> None:
        """A call of the agent; its outcome is the tests that still fail."""
        repair.turn += 1
        advice = repair.call(tokens=900, state=failing, measure=len(failing))
        doubt = f" {advice.doubt}" if advice.doubt else ""
        print(f"{self.name}: {len(failing)} failing, {advice.answer}{doubt}, {repair.remaining.calls} calls are left")

    def claim(self, repair: Delegation, strategy: str, lease: float = 30.0) -> Effect:
        """May an effect be made?"""
        return repair.effect(
            self.client, tenant="acme", failure="broken-build", strategy=strategy, strategy_version="1",
            fingerprint={"repairs": "broken-build"}, lease=lease,
        )  # fmt: skip

    def close(self) -> None:
        """The host ends."""
        self.client.close()
        print(f"{self.name}: delivered:", self.emitter.close().complete)


def play(one: Host, two: Host, repair: str, first: Session, second: Session) -> None:
    """The story, with what the agents would do left out."""
    print("-- from five failures to two, and the change request that both hosts want to open")
    with one.invocation(repair, first) as mine, two.invocation(repair, second) as yours:
        for fixed in (0, 1, 3):
            one.call(mine, FAILING[fixed:])
        with one.claim(mine, "open-change") as ours:
            print("one:", ours.claim.answer)
            with two.claim(yours, "open-change") as theirs:
                print("two:", theirs.claim.answer)
            print("one:", ours.commit("change-118").answer)
        with two.claim(yours, "open-change") as theirs:
            print("two:", theirs.claim.answer, theirs.claim.receipt)

    print("-- host one is paused for longer than its lease, and its commit comes too late")
    with one.invocation(repair, first) as mine, two.invocation(repair, second) as yours:
        with one.claim(mine, "tell-owner", lease=1.0) as ours:
            time.sleep(1.5)
            with two.claim(yours, "tell-owner") as theirs:
                claim = theirs.claim
                print("two:", claim.answer, "after", claim.unsettled, "lease that ended without a word")
                print("two:", theirs.commit("mail-7").answer)
            late = ours.commit("mail-6")
            print("one:", late.answer, late.reason)
        # Host two works on, and comes to a standstill: every call succeeds, and nothing changes.
        two.call(yours, FAILING[3:])
        two.call(yours, FAILING[4:])
        while yours.allowed():
            two.call(yours, FAILING[4:])
        answer = yours.allowed().answer
        yours.refused("breaker", answer)
        yours.call(outcome="refused")
        print("two: stops,", answer)
        # Somebody is alerted, holds that to be wrong, and lets it have one more call.
        two.emitter.flush()
        time.sleep(2)
        yours.appeal(by="maria", reason_code="slow_suite")
        two.call(yours, [])
        yours.vindicated(by="maria", reason_code="fixed")


if __name__ == "__main__":
    repair, night_one, night_two = sys.argv[1:] or ("repair-42", "night-1", "night-2")
    with tempfile.TemporaryDirectory() as outbox:
        one, two = Host("one", outbox), Host("two", outbox)
        with one.emitter.session(night_one) as first, two.emitter.session(night_two) as second:
            play(one, two, repair, first, second)
        one.close()
        two.close()
