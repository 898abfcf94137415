"""The clock by which a host knows that a lease may be over: where there is one, it goes on while the machine sleeps."""

import time

__all__ = ["lease_now"]


def lease_now() -> float:
    """Seconds since an arbitrary beginning; never set back."""
    return time.clock_gettime(_CLOCK) if _CLOCK is not None else time.monotonic()


# Linux stops its monotonic clock while the machine is suspended; the broker's goes on.
_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)
