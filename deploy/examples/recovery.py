"""A session in which a recovery becomes a preference by mistake, and its successor, which starts from intent.

It needs a broker and a worker; docs/recovery.md tells the story. Names of sessions: chat-31, chat-32, or those given.
"""

import sys
import time
from typing import Any

from unmask.consumers.gate import Admission, Gate
from unmask.producers import Emitter, EmitterSettings, NotAPreference, Selections, Session, Turn
from unmask.schemas.codes import AdmissionAnswer

CANDIDATES, EMERGENCY = ("fast", "careful"), ("local",)
WITHOUT_QUOTA = {2}  # turns in which the account pays for nothing, so that `fast` and `careful` both fail


def ask(profile: str, turn: int) -> str:
    """A model behind a profile."""
    if turn in WITHOUT_QUOTA and profile not in EMERGENCY:
        raise RuntimeError("429: quota exceeded")
    return f"an answer of {profile}"


def answer(session: Session, turn: Turn) -> str:
    """One turn, as it is right: what stands in for what failed is asked of the guard, and holds for this turn."""
    with session.operation(capability="answer") as operation:
        profile: str | None = turn.profile
        while profile is not None:
            try:
                with operation.trying(profile):
                    text = ask(profile, turn.number)
                operation.answered(profile)
                return text
            except RuntimeError as error:
                profile = turn.recover(error)
        raise RuntimeError("no profile is left")


def host(name: str) -> None:
    """Four turns. An older module of this host remembers the profile that worked last, whoever chose it and why."""
    settings: dict[str, Any] = {"profile": None, "by": "user"}  # what the host keeps about this user
    emitter = Emitter(EmitterSettings.from_environment(release_line="chat-3"))
    with emitter.session(name) as session:
        selections = emitter.selections(
            session, candidates=CANDIDATES, emergency=EMERGENCY,
            persist=lambda profile: settings.update(profile=profile, by="user"),
        )  # fmt: skip
        selections.prefer(1, "careful")
        print("turn 1:", answer(session, selections.turn(1)))

        turn = selections.turn(2)
        print("turn 2:", answer(session, turn), "after", *turn.failed, "failed")
        try:
            selections.prefer(2, turn.profile, source="auto")
        except NotAPreference as refused:
            print("  the guard:", refused)
        # The mistake: the older module writes it down all the same, past the guard. It tells of it, at least.
        settings.update(profile=turn.profile, by="auto")
        emitter.record_selection(
            session, 2, turn.profile, source="auto", scope="turn", timeline="persisted", emergency=True
        )

        # And begins the next turn with it, though nothing fails any more. Nothing of the answer shows that.
        with session.operation(capability="answer"):
            emitter.record_selection(
                session, 3, settings["profile"], source="auto", scope="session", timeline="live", emergency=True
            )
            print("turn 3:", ask(settings["profile"], 3))

        # The watchdog looks at what is written down.
        kept = selections.found(4, settings["profile"], source=settings["by"])
        print("turn 4:", "goes on with it" if kept else "the watchdog took it away", end="; ")
        print(answer(session, selections.turn(4)))
    print("delivered:", emitter.close().complete)


def successor(name: str, predecessor: str) -> None:
    """Asks the gate, carries out what it demands, and begins with what the user chose."""
    with Gate() as gate:
        admission = admission_of(gate, predecessor, name)
        print(admission.answer, "with findings", *(admission.verdict.findings if admission.verdict else ()))
        admission = admission.reconcile(lambda owed: all(ask(profile, 5) for profile in owed.upstreams))
        print(admission.answer, "user_profile:", admission.user_profile)
    emitter = Emitter(EmitterSettings.from_environment(release_line="chat-3"))
    with emitter.session(name, predecessor=predecessor) as session:
        selections: Selections = emitter.selections(
            session, candidates=CANDIDATES, emergency=EMERGENCY, preference=admission.user_profile
        )
        print("turn 1:", answer(session, selections.turn(1)))
    emitter.close()


def admission_of(gate: Gate, session: str, successor: str) -> Admission:
    """The gate's answer, once there is a verdict: a second or two after the teardown, where a worker runs."""
    deadline = time.monotonic() + 60
    while True:
        admission = gate.admit(session, successor=successor)
        if admission.answer is not AdmissionAnswer.NO_VERDICT or time.monotonic() > deadline:
            return admission
        time.sleep(0.2)


if __name__ == "__main__":
    first, second = sys.argv[1:] or ("chat-31", "chat-32")
    host(first)
    successor(second, first)
