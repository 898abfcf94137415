"""One call on its way through the primary path and its substitutes: the memory of what failed and who answered."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from unmask.producers.classify import UNATTRIBUTED, classify_upstream
from unmask.producers.masking import Concluding
from unmask.producers.options import Asked
from unmask.producers.payloads import Sight
from unmask.producers.place import Place
from unmask.producers.ways import FailedHop, Substitute

__all__ = ["Route"]

P = ParamSpec("P")


def _quietly(step: Callable[Concatenate["Route", P], None]) -> Callable[Concatenate["Route", P], None]:
    """The caller gets its answer or its error, whatever is wrong with the labels beside it."""

    @wraps(step)
    def guarded(route: "Route", /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            step(route, *args, **kwargs)
        except Exception:
            route.note_fault()

    return guarded


class Route:
    """What is known of one call so far. Its steps never raise an Exception, `open` and what it opens aside."""

    __slots__ = ("_asked", "_concluding", "_handed", "_hops", "_masked_by", "_sight")

    def __init__(self, concluding: Concluding, asked: Asked) -> None:
        self._concluding = concluding
        self._asked = asked
        self._hops: list[FailedHop] = []
        self._handed = 0
        self._masked_by: tuple[Substitute, int, object] | None = None
        """The last substitute that handed out items, how many hops failed before it, and its last item."""
        self._sight: Sight | None = None

    def note_fault(self) -> None:
        """Something inside the SDK failed and was kept from the host."""
        self._concluding.recorder.note_fault()

    @_quietly
    def not_attempted(self) -> None:
        """There is no primary to call: a breaker is open, and no error code is invented."""
        self._hops.append(FailedHop(self._asked.upstream, "NOT_ATTEMPTED"))

    @_quietly
    def failed(self, place: Place, way: Substitute, error: Exception) -> None:
        """The way that was tried at `place` raised."""
        if self._sight is not None:
            self._sight.shape_anew()
        self._hops.append(FailedHop(way.target, classify_upstream(error, handling=place.handling)))

    @_quietly
    def refused(self, place: Place, way: Substitute) -> None:
        """Its answer is none; what was swallowed on this try may say why."""
        trace = self._concluding.claims.trace
        signature = UNATTRIBUTED if trace is None or place.hop is None else trace.of_hop(place.hop)
        self._hops.append(FailedHop(way.target, signature))

    @_quietly
    def answered(self, way: Substitute, answer: object) -> None:
        """The way led to an answer."""
        if self._hops or self._asked.compare:
            self._see(answer)
            self._conclude(way, answer, self._hops)

    # -- streams

    def open(self, way: Substitute) -> Any:
        """Begin the stream of a way: behind what was handed out already, if it can do that. Raises what it raises."""
        return way.call(self._handed) if way.resumes else way.call()

    @_quietly
    def handed(self, way: Substitute, item: object) -> None:
        """The stream handed out its next item."""
        self._handed += 1
        if self._hops:
            self._masked_by = way, len(self._hops), item
        self._see(item)

    @_quietly
    def completed(self, way: Substitute) -> None:
        """The stream came to its own end."""
        item = None if self._masked_by is None else self._masked_by[2]
        self._conclude(way, item, self._hops)
        self._masked_by = None

    @_quietly
    def broke_off(self) -> None:
        """No way is left. Where the stream had begun and others could not go on with it, the objective is missed."""
        if self._handed and len(self._hops) > 1:
            self._concluding.claims.failed = True

    @_quietly
    def ended(self) -> None:
        """Nobody asks for more. Items of a substitute have hidden the faults before it, complete or not."""
        if self._masked_by is not None:
            way, hidden, item = self._masked_by
            self._sight = None
            self._conclude(way, item, self._hops[:hidden])
            self._masked_by = None

    def _see(self, answer: object) -> None:
        if not self._asked.compare:
            return
        if self._sight is None:
            self._sight = Sight(self._asked)
        self._sight.add(answer)

    def _conclude(self, way: Substitute, answer: object, hops: list[FailedHop]) -> None:
        self._concluding.answered(self._asked, hops, way, answer, self._sight)
