"""How a breaker stands: a small frozen value, which goes into JSON and comes back as the same."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from unmask.schemas.breaker.answers import AbstainReason, Advice, BreakerAnswer
from unmask.schemas.breaker.memory import States
from unmask.schemas.breaker.signals import SignalTrack

__all__ = ["LIMIT", "MEMORY", "BreakerState", "BrokenBreakerState"]

LIMIT = 8
"""Successful calls, one after another, that change nothing, until the breaker trips."""
MEMORY = 64
"""States of a delegation that are remembered."""


class BrokenBreakerState(ValueError):
    """What was handed in is no state of a breaker; begin with `BreakerState()` instead."""


@dataclass(frozen=True, slots=True)
class BreakerState:
    """The breaker of one delegation, between two of its steps.

    A change is a state that was not seen before in this delegation, so that a replay which goes through old states
    again and again changes nothing. `memory` states are remembered, over all signals; the one that was not seen for
    longest is forgotten first. A replay through more states than that is therefore not recognised: each of them looks
    new when it comes round, and the breaker says CONTINUE.
    """

    limit: int = LIMIT
    memory: int = MEMORY
    calls: int = 0
    """Calls that were made."""
    longest_unchanged: int = 0
    """The most successful calls, one after another, that changed nothing."""
    tripped_by: str | None = None
    """The signal by which the breaker stands open; None where it is closed."""
    trips: int = 0
    false_trips: int = 0
    """Trips after which there was a change. The breaker closed again."""
    withdrawn: int = 0
    """Trips by a signal that was then found to prove nothing. The breaker closed again."""
    first_trip_call: int | None = None
    """The number of the call with which it first tripped."""
    doubts: tuple[tuple[AbstainReason, int], ...] = ()
    """Calls on which it abstained, by the reason."""
    answer: BreakerAnswer = BreakerAnswer.CONTINUE
    doubt: AbstainReason | None = None
    states: States = field(default_factory=States)
    tracks: tuple[SignalTrack, ...] = ()

    def __post_init__(self) -> None:
        if self.limit < 1 or self.memory < 1:
            raise ValueError("a breaker's limit and memory are 1 at least")

    @property
    def unchanged(self) -> int:
        """Successful calls since the last change; the most by any signal."""
        return max((track.unchanged for track in self.tracks), default=0)

    @property
    def tripped(self) -> bool:
        """Whether it stands open."""
        return self.tripped_by is not None

    @property
    def moved(self) -> tuple[str, ...]:
        """The signals that have been seen to move here, or were known to, and against which nothing speaks."""
        return tuple(track.name for track in self.tracks if track.moved and track.sound)

    @property
    def indistinct(self) -> tuple[str, ...]:
        """The signals that say the same of different outcomes."""
        return tuple(track.name for track in self.tracks if track.indistinct)

    @property
    def advice(self) -> Advice:
        """What it advises now."""
        return Advice(self.answer, self.doubt, self.unchanged, self.limit)

    def to_json(self) -> dict[str, Any]:
        """As JSON's values; what is as in a new breaker is left out."""
        fresh = _FRESH
        value: dict[str, Any] = {name: own for name in _PLAIN if (own := getattr(self, name)) != getattr(fresh, name)}
        if self.doubts:
            value["doubts"] = {doubt.value: count for doubt, count in self.doubts}
        if self.answer is not fresh.answer:
            value["answer"] = self.answer.value
        if self.doubt is not None:
            value["doubt"] = self.doubt.value
        if self.states.known:
            value["states"] = [[state] if measure is None else [state, measure] for state, measure in self.states.known]
        if self.tracks:
            value["tracks"] = [
                [track.name, _flags(track), track.unchanged, [list(reading) for reading in track.readings]]
                for track in self.tracks
            ]
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The state that to_json() wrote. Raises BrokenBreakerState."""
        try:
            return cls(
                **{name: value[name] for name in _PLAIN if name in value},
                doubts=tuple((AbstainReason(doubt), int(count)) for doubt, count in value.get("doubts", {}).items()),
                answer=BreakerAnswer(value.get("answer", BreakerAnswer.CONTINUE)),
                doubt=None if value.get("doubt") is None else AbstainReason(value["doubt"]),
                states=States(tuple((item[0], item[1] if len(item) > 1 else None) for item in value.get("states", ()))),
                tracks=tuple(_track(*item) for item in value.get("tracks", ())),
            )
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise BrokenBreakerState(f"no state of a breaker ({type(error).__name__})") from error


_PLAIN = (
    "limit", "memory", "calls", "longest_unchanged", "tripped_by", "trips", "false_trips", "withdrawn",
    "first_trip_call",
)  # fmt: skip
_FRESH = BreakerState()
_MOVED, _UNSTABLE, _INDISTINCT = 1, 2, 4


def _flags(track: SignalTrack) -> int:
    return _MOVED * track.moved | _UNSTABLE * track.unstable | _INDISTINCT * track.indistinct


def _track(name: str, flags: int, unchanged: int, readings: list[list[str]]) -> SignalTrack:
    return SignalTrack(
        name, bool(flags & _MOVED), bool(flags & _UNSTABLE), bool(flags & _INDISTINCT), unchanged,
        tuple((conditions, state) for conditions, state in readings),
    )  # fmt: skip
