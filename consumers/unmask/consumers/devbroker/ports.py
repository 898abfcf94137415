"""Free TCP ports on the loopback address."""

import random
import socket

__all__ = ["LOOPBACK", "free_ports", "is_free"]

LOOPBACK = "127.0.0.1"

# Below every system's ephemeral range: a port from that range can be taken by an outgoing connection while a node is
# down, and a client that keeps trying such a port may even connect to itself.
_RANGE = range(20000, 30000)


def is_free(port: int) -> bool:
    """Whether a listener could bind the port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As a JVM binds: connections in TIME_WAIT from the broker's last life are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Distinct free ports; raises `OSError` when the range has not that many."""
    found: list[int] = []
    for port in random.sample(_RANGE, len(_RANGE)):
        if len(found) == count:
            return found
        if is_free(port):
            found.append(port)
    raise OSError(f"fewer than {count} free ports between {_RANGE.start} and {_RANGE.stop - 1}")
