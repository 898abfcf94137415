"""A delegation as a host uses it: what it may spend, what it spent, and whether it gets anywhere."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar, Unpack

from unmask.producers import foreign
from unmask.producers.delegation.account import Account, Entry
from unmask.producers.delegation.answers import Allowance
from unmask.producers.delegation.calibration import calibrated, probed
from unmask.producers.delegation.calling import Calling, outcome_of
from unmask.producers.delegation.effects import Effects
from unmask.producers.delegation.host import DelegationHost
from unmask.producers.delegation.invocation import Invocation
from unmask.producers.delegation.keeper import Keeper
from unmask.producers.delegation.recording import count_of
from unmask.producers.delegation.signal import Reading, Signal
from unmask.producers.delegation.wrapping import OfTheResult, wrapped
from unmask.producers.place import current_session
from unmask.producers.published import identifier, optional_identifier
from unmask.schemas.breaker import Advice, Budget, Spent, Step
from unmask.schemas.codes import CallOutcome

if TYPE_CHECKING:
    from unmask.producers.session import Session

__all__ = ["Delegation"]

P = ParamSpec("P")
R = TypeVar("R")


class Delegation(Effects):
    """Work that was handed to an agent, as a context: each `with` is one invocation of it.

    What it spends and what it changes is kept over all invocations of its id, in this process and, with an outbox, on
    this host. It advises; a host that wants to heed it asks. No method raises an Exception of its own.
    """

    def __init__(
        self,
        host: DelegationHost,
        keeper: Keeper,
        delegation_id: str,
        *,
        budget: Budget | None = None,
        scope: str | None = None,
        session: "Session | str | None" = None,
        signal: Signal | str | None = None,
        trip_after: int | None = None,
    ) -> None:
        """Raises TypeError where the budget is no Budget, and ValueError where `trip_after` is below 1."""
        if budget is not None and not isinstance(budget, Budget):
            raise TypeError("a delegation's budget is an unmask.producers.Budget")
        if trip_after is not None and trip_after < 1:
            raise ValueError("a delegation's trip_after is 1 at least")
        super().__init__(host, delegation_id, scope)
        self._keeper = keeper
        self._declared = Entry(budget=budget, limit=trip_after)
        self._signal = signal if isinstance(signal, Signal) else Signal() if signal is None else Signal(signal)
        self._given = session
        self._tries = 0
        self._entered: list[AbstractContextManager[Any] | None] = []
        self._session_id = self._named()

    # -- its life

    def __enter__(self) -> Self:
        if not self._entered:
            self._invocation = Invocation()
        self._keeper.enter(self._delegation_id)
        self._entered.append(self._session())
        account = self._keeper.post(self._delegation_id, self._declared)
        self._tries = account.tries
        self._quietly(probed, self, self._keeper, self._signal, account.budget)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._entered:
            return
        session = self._entered.pop()
        if session is not None:
            session.__exit__(kind, error, traceback)
        self._keeper.leave(self._delegation_id)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)

    # -- how it stands

    @property
    def spent(self) -> Spent:
        """What all invocations have spent."""
        return self._account().spent

    @property
    def budget(self) -> Budget:
        """What it may spend: of each part the smallest that was declared anywhere."""
        return self._account().budget

    @property
    def remaining(self) -> Budget:
        """What is left of each part that is limited; of the attempts, those that the thing at hand still has."""
        account = self._account()
        return account.spent.left(account.budget, attempt=self._tries)

    @property
    def problem(self) -> str | None:
        """What keeps its account from the disk: the system's name or SQLite's; None where nothing does."""
        return self._keeper.problem

    def allowed(self, tokens: int = 1, attempt: int | None = None) -> Allowance:
        """Whether anything speaks against one more call, of at least so many tokens. Nothing is charged by asking."""
        account = self._account()
        exceeds = account.spent.exhausted(account.budget, tokens=count_of(tokens), attempt=self._attempt(attempt))
        return Allowance.of(account, exceeds, self._tries)

    def advice(self) -> Advice:
        """What the progress breaker says."""
        return self._account().breaker.advice

    # -- calls

    def call(
        self,
        ok: bool = True,
        *,
        outcome: CallOutcome | str | None = None,
        tokens: int = 0,
        attempt: int | None = None,
        state: object = None,
        signal: str | None = None,
        conditions: object = None,
        subject: str | None = None,
        measure: int | None = None,
        turn: int | None = None,
    ) -> Advice:
        """A call ended; what the progress breaker says now.

        `state` is the content of the outcome and `conditions` that of everything else on which it depends (bytes,
        text, or what JSON has): both become digests here and are forgotten. `subject` names the delegation to which
        the signal belongs, where it is not this one. `outcome` says `refused` where the call was not made.
        """
        try:
            ended = CallOutcome(outcome) if outcome is not None else outcome_of(self, ok)
        except Exception:
            self.note_fault()
            ended = outcome_of(self, ok)
        return self.end_call(
            ended, charged=False, tokens=tokens, attempt=attempt, state=state, signal=signal, conditions=conditions,
            subject=subject, measure=measure, turn=turn,
        )  # fmt: skip

    def calling(
        self,
        *,
        attempt: int | None = None,
        turn: int | None = None,
        signal: str | None = None,
        subject: str | None = None,
    ) -> Calling:
        """A call as a context, which is charged when it begins, so that one that is killed is not for free."""
        return Calling(self, attempt, turn, signal, subject)

    def wrap(self, function: Callable[P, R], **reads: Unpack[OfTheResult]) -> Callable[P, R]:
        """`function`, every call of which is a call of this delegation; a coroutine function stays one.

        What is read of a call are functions of what it returned: `tokens`, `state`, `measure`, `conditions`, `ok`.
        """
        return wrapped(self, function, reads)

    def calibrate(self, signal: str, before: object, after: object) -> bool:
        """Show that a signal moves: contents that it read before and after something that must move it.

        Returns whether it moved. If so it may decide from now on, in every delegation of this host application.
        """
        return calibrated(self, self._keeper, identifier(signal), before, after)

    # -- for calls as contexts and wrapped functions

    def begin_call(self, attempt: int | None) -> tuple[Allowance, int]:
        """Charge a call that begins: what speaks against it, and which attempt it is. Never raises an Exception."""
        number = self._attempt(attempt)
        account = self._keeper.post(self._delegation_id, Entry(calls=1, attempt=number))
        with_it = Spent(account.spent.calls, account.spent.tokens + 1, number)
        return Allowance.of(account, with_it.exceeded(account.budget), number), number

    def end_call(
        self,
        outcome: CallOutcome,
        *,
        charged: bool,
        tokens: int,
        attempt: int | None,
        state: object,
        signal: str | None,
        conditions: object,
        subject: str | None,
        measure: int | None,
        turn: int | None,
    ) -> Advice:
        """Charge and record a call that ended. Never raises an Exception."""
        try:
            made = outcome is not CallOutcome.REFUSED
            number, spent = self._attempt(attempt), count_of(tokens)
            reading = Reading.of(state, conditions, measure)
            if state is None and made:
                reading = self._signal.reading() or reading
            elif state is not None and reading.state_digest is None:
                # What has no canonical form proves nothing, and the host should know that it hands in such things.
                self.note_fault()
            name = None if reading.state_digest is None else optional_identifier(signal) or self._signal.token
            about = optional_identifier(subject)
            step = Step(
                outcome.value, name, reading.state_digest, reading.conditions, about, reading.measure,
                self._delegation_id,
            )  # fmt: skip
            if made:
                self._tries = 0 if outcome is CallOutcome.SUCCEEDED else number
            entry = Entry(calls=int(made) - int(charged), tokens=spent, attempt=number if made else 0, step=step)
            declared = () if self._entered else (self._declared,)
            account = self._keeper.post(self._delegation_id, *declared, entry)
            self.record_call(
                outcome, attempt=number, tokens=spent, budget=account.budget, signal=name, reading=reading,
                subject=about, turn=turn,
            )  # fmt: skip
            return account.breaker.advice
        except Exception:
            self.note_fault()
            return self.advice()

    # --

    def _account(self) -> Account:
        return self._keeper.look(self._delegation_id)

    def _attempt(self, stated: int | None) -> int:
        return max(1, self._tries + 1 if stated is None else count_of(stated))

    def _named(self) -> str | None:
        """The session that the host names, or in which it runs; None where it has none."""
        given = self._given
        if given is None:
            given = current_session()
            if getattr(given, "_emitter", None) is not self._host:
                return None
        if isinstance(given, str):
            return identifier(given)
        named = foreign.read(given, "session_id")
        return identifier(given if named is None else named)

    def _session(self) -> AbstractContextManager[Any] | None:
        """A session of its own, opened; None where there is one already."""
        self._session_id = self._named()
        if self._session_id is not None:
            return None
        try:
            session = self._host.session(self._delegation_id)
            session.__enter__()
        except Exception:
            self.note_fault()
            return None
        return session

    def _quietly(self, step: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            step(*args, **kwargs)
        except Exception:
            self.note_fault()
