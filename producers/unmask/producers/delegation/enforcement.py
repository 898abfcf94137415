"""Refusals of a delegation's work, appeals against them, and that what was refused turned out to be right."""

from typing import Any

from unmask.producers.delegation.recording import Recording
from unmask.producers.published import optional_identifier
from unmask.schemas.codes import EffectStep, Enforcer
from unmask.schemas.tokens import label

__all__ = ["Enforcement"]


class Enforcement(Recording):
    """What enforcers say no to, on record: with who and why, so that enforcement can be measured itself."""

    _refusal: dict[str, Any] | None = None
    """The newest one."""

    def refused(
        self,
        by: Enforcer | str,
        answer: str,
        *,
        reason_code: str | None = None,
        effect_key: str | None = None,
        turn: int | None = None,
    ) -> None:
        """An enforcer (gate, breaker or effects ledger) said no, and the host follows it. `answer` is the code it gave.

        A call that was therefore not made is told by call(outcome="refused") as well.
        """
        self._say(EffectStep.REFUSED, by, answer=answer, reason_code=reason_code, effect_key=effect_key, turn=turn)

    def appeal(
        self,
        by: str,
        reason_code: str,
        *,
        enforcer: Enforcer | str | None = None,
        answer: str | None = None,
        effect_key: str | None = None,
        turn: int | None = None,
    ) -> None:
        """Somebody holds a refusal to be wrong: who, and why as a code. By default it is the newest refusal here."""
        self._say(
            EffectStep.APPEALED, enforcer, answer=answer, by=by, reason_code=reason_code, effect_key=effect_key,
            turn=turn,
        )  # fmt: skip

    def vindicated(
        self,
        by: str,
        reason_code: str | None = None,
        *,
        enforcer: Enforcer | str | None = None,
        answer: str | None = None,
        effect_key: str | None = None,
        turn: int | None = None,
    ) -> None:
        """What was refused was shown to have been right. By default it is the newest refusal here."""
        self._say(
            EffectStep.VINDICATED, enforcer, answer=answer, by=by, reason_code=reason_code, effect_key=effect_key,
            turn=turn,
        )  # fmt: skip

    def remember_refusal(self, enforcer: Enforcer | str | None, answer: str | None, effect_key: str | None) -> None:
        """What an appeal is against by default."""
        self._refusal = {"enforcer": enforcer, "answer": answer, "effect_key": effect_key}

    def _say(self, step: EffectStep, enforcer: Enforcer | str | None, **said: Any) -> None:
        try:
            turn = said.pop("turn")
            said["enforcer"] = enforcer
            if step is EffectStep.REFUSED:
                self.remember_refusal(enforcer, said["answer"], said["effect_key"])
            elif enforcer is None and self._refusal is not None:
                said |= {name: was for name, was in self._refusal.items() if said[name] is None}
            self.record_effect(
                step,
                turn,
                enforcer=_enforcer(said["enforcer"]),
                answer=None if said["answer"] is None else label(said["answer"]),
                effect_key=optional_identifier(said["effect_key"]),
                by=optional_identifier(said.get("by")),
                reason_code=None if said["reason_code"] is None else label(said["reason_code"]),
            )
        except Exception:
            self.note_fault()


def _enforcer(enforcer: object) -> str | None:
    """Its code; an enforcer that nobody knows is none."""
    return enforcer if isinstance(enforcer, str) and enforcer in list(Enforcer) else None
