"""An automatic choice while the walk over a session goes on: when it was meant to end, and how it stands."""

from unmask.schemas.codes import Finding, RecoveryState, SelectionScope
from unmask.schemas.recovery.recovered import Recovery
from unmask.schemas.recovery.selection import Selection

__all__ = ["Choice"]

_LASTING = frozenset({SelectionScope.SESSION.value, SelectionScope.WINDOW.value})
_ORDER = tuple(Finding)
_SLACK_US = 1_000_000
"""Who looks at the clock, decides and records is a moment later than what was looked at."""


class Choice:
    """Mutable; a `Recovery` is made of it at the end. It knows no other choice and no session."""

    __slots__ = (
        "by_user",
        "cleared_by",
        "drifted",
        "emergency",
        "ended_at",
        "ended_turn",
        "findings",
        "first",
        "gone",
        "passed",
        "persisted_at",
        "scope",
        "state",
        "turn",
        "until",
    )

    def __init__(self, first: Selection) -> None:
        self.first = first
        self.scope = first.scope
        self.until = _stated_end(first)
        """When it ends by itself, in microseconds; None where its turn or nothing ends it."""
        self.turn = first.turn
        """The newest turn that had a fault of its own, or the first one."""
        self.emergency = first.emergency
        self.persisted_at: int | None = None
        self.drifted = False
        """Whether it is proven to have outlived what it was meant for: it does not end by itself, then."""
        self.passed = False
        """Whether a later turn ran while it stood on the persisted timeline."""
        self.gone: Selection | None = None
        """What showed that it was in force no longer, as long as no record says why."""
        self.state = RecoveryState.OPEN
        self.ended_at: int | None = None
        self.ended_turn: int | None = None
        self.cleared_by: str | None = None
        self.by_user = False
        self.findings: set[Finding] = set()

    @property
    def profile(self) -> str:
        """Which profile was chosen."""
        return self.first.profile

    @property
    def open(self) -> bool:
        """Whether nothing has ended it so far."""
        return self.state is RecoveryState.OPEN

    @property
    def closed(self) -> bool:
        """Whether somebody ended it for good, so that whatever comes later is another choice."""
        return self.state is RecoveryState.CLEARED or (self.state is RecoveryState.SUPERSEDED and self.by_user)

    @property
    def ends_with_turn(self) -> bool:
        """Whether it was meant for one turn."""
        return self.scope == SelectionScope.TURN

    @property
    def lasting(self) -> bool:
        """Whether it was meant to last, without an instant at which it ends."""
        return self.scope in _LASTING and self.until is None

    def within(self, at: int) -> bool:
        """Whether the instant lies within a window that was stated, or so short after it that a record call took it."""
        return self.until is not None and at <= self.until + _SLACK_US

    def renew(self, selection: Selection) -> None:
        """A fault of its own made it necessary again, in this or a later turn."""
        self.turn = max(self.turn, selection.turn)
        self.passed = False
        self.gone = None
        # What was meant for longer is not meant for less because one turn of it had a fault.
        if self.persisted_at is None and (self.ends_with_turn or selection.scope != SelectionScope.TURN):
            self._meant_as(selection)

    def write(self, selection: Selection) -> None:
        """It was written down."""
        if self.persisted_at is None:
            self.persisted_at = selection.occurred_at
        self._meant_as(selection)

    def drift(self) -> None:
        """It outlived its turn or window."""
        self.drifted = True
        self.findings.add(Finding.PREFERENCE_DRIFT)

    def reopen(self) -> None:
        """It is in force after all."""
        self.state = RecoveryState.OPEN
        self.ended_at = self.ended_turn = self.gone = None
        self.by_user = False

    def expire(self) -> None:
        """It ended by itself: at the instant that was stated, or with its turn."""
        self.state = RecoveryState.EXPIRED
        self.ended_at = self.until
        self.ended_turn = self.turn if self.until is None else None

    def end(self, state: RecoveryState, by: Selection, *, user: bool = False) -> None:
        """A record ended it."""
        self.state = state
        self.ended_at, self.ended_turn = by.occurred_at, by.turn
        self.by_user = user
        self.gone = None

    def clear(self, by: Selection) -> None:
        """It was taken back."""
        self.end(RecoveryState.CLEARED, by)
        self.cleared_by = by.cleared_by

    def finished(self) -> Recovery:
        """What is to be said of it."""
        return Recovery(
            profile=self.first.profile,
            source=self.first.source,
            scope=self.scope,
            emergency=self.emergency,
            began_at=self.first.occurred_at,
            turn=self.first.turn,
            reason_code=self.first.reason_code,
            persisted_at=self.persisted_at,
            state=self.state.value,
            ended_at=self.ended_at,
            ended_turn=self.ended_turn,
            cleared_by=self.cleared_by,
            findings=tuple(sorted(self.findings, key=_ORDER.index)),
        )

    def _meant_as(self, selection: Selection) -> None:
        until = _stated_end(selection)
        both = selection.scope == self.scope and until is not None and self.until is not None
        self.scope, self.until = selection.scope, max(until or 0, self.until or 0) if both else until


def _stated_end(selection: Selection) -> int | None:
    return None if selection.scope == SelectionScope.TURN else selection.expires_at
