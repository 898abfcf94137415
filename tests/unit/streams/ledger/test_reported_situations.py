"""Situations that people reported of other systems, replayed on the fold."""

from tests.unit.streams.ledger.emitting import SECOND, T0, Life
from tests.unit.streams.ledger.folding import Folded

_DAY = 86_400 * SECOND


def test_one_event_from_the_future_makes_no_honest_one_late() -> None:
    """C07: the event a day ahead counts where it arrived and as skewed; the ten honest ones count in their windows."""
    folded = Folded()
    ahead = Life("ahead", started_at=T0)
    folded.batch(ahead.cut(T0), arrival=T0)
    ahead.attempt(T0 + _DAY)
    folded.batch(ahead.cut(T0 + 2 * SECOND), arrival=T0 + 2 * SECOND)
    honest = Life("honest", started_at=T0)
    for n in range(10):
        honest.attempt(T0 + (n + 3) * SECOND)
        folded.batch(honest.cut(T0 + (n + 3) * SECOND + 1), arrival=T0 + (n + 3) * SECOND + 1)
    counts = {
        (measure, start): cell.count
        for (start, seconds, _, measure, _, _), cell in folded.state.cells.items()
        if seconds == 60 and measure in ("route_attempt", "skewed", "late")
    }
    assert counts == {("route_attempt", T0): 11, ("skewed", T0): 1}
    assert folded.flawed() == set()
