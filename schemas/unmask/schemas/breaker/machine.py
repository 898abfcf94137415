"""The steps of the breaker: pure, one state to the next. The error rate has no part in it."""

from collections.abc import Container
from dataclasses import replace

from unmask.schemas.breaker.answers import AbstainReason, Advice, BreakerAnswer
from unmask.schemas.breaker.signals import MOST_SIGNALS, SignalTrack, short
from unmask.schemas.breaker.state import BreakerState
from unmask.schemas.breaker.step import Step

__all__ = ["advance"]

_NOTHING: frozenset[str] = frozenset()


def advance(state: BreakerState, step: Step, seen_to_move: Container[str] = _NOTHING) -> tuple[BreakerState, Advice]:
    """The breaker after a step, and its advice. `seen_to_move` names signals that moved elsewhere.

    - A signal's first state is where it begins; each further one that was not seen before is a change. With a change
      the count of unchanged calls is 0 again, for every signal, and a breaker that stands open closes: a false trip.
    - A successful call after which the state was seen before counts as unchanged. A failed call and a refused one count
      neither way, so that errors in between neither hide a standstill nor make one.
    - With `limit` unchanged calls by a signal that may decide, the breaker trips, and stays so until there is a change
      or that signal proves inadequate. What proves nothing in the meantime leaves it open.
    """
    if step.done:
        state = replace(state, calls=state.calls + 1, tracks=tuple(track.after_doing() for track in state.tracks))
    doubt = _beside_the_point(step)
    if doubt is None:
        state, doubt = _read(state, step, seen_to_move)
    return _answered(state, step, doubt)


def _beside_the_point(step: Step) -> AbstainReason | None:
    """Why the step tells nothing of the delegation's state; None where it does."""
    if step.signal is None or step.state_digest is None:
        return AbstainReason.NO_SIGNAL
    if step.subject is not None and step.subject != step.delegation_id:
        return AbstainReason.FOREIGN_SIGNAL
    return None


def _read(state: BreakerState, step: Step, seen_to_move: Container[str]) -> tuple[BreakerState, AbstainReason | None]:
    """The breaker with a state that was read, and the doubt about the signal that remains."""
    assert step.signal is not None
    assert step.state_digest is not None
    known = next((track for track in state.tracks if track.name == step.signal), None)
    if known is None and len(state.tracks) >= MOST_SIGNALS:
        return state, AbstainReason.NEVER_SEEN_TO_MOVE
    track = known or SignalTrack(step.signal)
    seen = short(step.signal, step.state_digest)
    track = track.read(step, seen)
    if state.states.contradicts(seen, step.measure):
        track = replace(track, indistinct=True)
    if not track.sound:
        return _mistrust(state, replace(track, unchanged=0)), track.doubt
    new = seen not in state.states
    state = replace(state, states=state.states.seen(seen, step.measure, state.memory))
    if not track.moved and (step.signal in seen_to_move or (new and known is not None)):
        track = replace(track, moved=True)
    if not new and step.succeeded:
        track = replace(track, unchanged=track.unchanged + 1)
    state = _with(state, track)
    if new and known is not None:
        return _changed(state), track.doubt
    state = replace(state, longest_unchanged=max(state.longest_unchanged, state.unchanged))
    if track.doubt is None and track.unchanged >= state.limit and not state.tripped:
        first = state.calls if state.first_trip_call is None else state.first_trip_call
        state = replace(state, tripped_by=track.name, trips=state.trips + 1, first_trip_call=first)
    return state, track.doubt


def _changed(state: BreakerState) -> BreakerState:
    """There was a change: whatever was counted is over."""
    return replace(
        state,
        tracks=tuple(replace(track, unchanged=0) if track.unchanged else track for track in state.tracks),
        tripped_by=None,
        false_trips=state.false_trips + state.tripped,
    )


def _mistrust(state: BreakerState, track: SignalTrack) -> BreakerState:
    """A signal is not adequate: a trip by it is withdrawn."""
    state = _with(state, track)
    if state.tripped_by != track.name:
        return state
    return replace(state, tripped_by=None, withdrawn=state.withdrawn + 1)


def _with(state: BreakerState, track: SignalTrack) -> BreakerState:
    others = [track if one.name == track.name else one for one in state.tracks]
    return replace(state, tracks=tuple(others if track in others else [*others, track]))


def _answered(state: BreakerState, step: Step, doubt: AbstainReason | None) -> tuple[BreakerState, Advice]:
    nothing_read = step.signal is None or step.state_digest is None
    if nothing_read and not step.done:
        # A call that was not made, and after which nobody looked: there is nothing to judge.
        return state, state.advice
    if doubt is not None and not step.reading:
        counts = dict(state.doubts)
        counts[doubt] = counts.get(doubt, 0) + 1
        state = replace(state, doubts=tuple((one, counts[one]) for one in AbstainReason if one in counts))
    if state.tripped:
        answer, doubt = BreakerAnswer.TRIPPED, None
    else:
        answer = BreakerAnswer.CONTINUE if doubt is None else BreakerAnswer.ABSTAIN
    state = replace(state, answer=answer, doubt=doubt)
    return state, state.advice
