"""Numbers and instants that a record may hold: hosts send no others, so that no batch is refused for one of them."""

__all__ = ["LAST_INSTANT", "MOST"]

LAST_INSTANT = 7_258_118_400_000_000
"""The year 2200, in microseconds; anything later is no instant of a running host."""
MOST = 10**15
"""No emitter counts further; sums and differences of such numbers fit into every record."""
