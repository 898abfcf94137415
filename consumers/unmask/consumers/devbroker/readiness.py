"""Proof that a broker serves: it answers a metadata request with every node it should have."""

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

__all__ = ["answers", "serving_nodes", "wait_until_serving"]


def serving_nodes(bootstrap: str, timeout: float, settings: Mapping[str, Any] = MappingProxyType({})) -> frozenset[int]:
    """The ids of the nodes in the cluster's metadata, empty when none answered within `timeout` seconds.

    `settings` are further librdkafka options, for a broker that asks for encryption or a login. Raises
    `KafkaException` for settings that librdkafka refuses.
    """
    # log_level 0: a refused connection is the expected answer here, not news.
    quiet: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 0, "reconnect.backoff.max.ms": 200}
    client = AdminClient({**settings, **quiet})
    try:
        return frozenset(client.list_topics(timeout=timeout).brokers)
    except KafkaException:
        return frozenset()


def answers(bootstrap: str, timeout: float = 5.0, settings: Mapping[str, Any] = MappingProxyType({})) -> bool:
    """Whether any node answers within `timeout` seconds; see `serving_nodes`."""
    return bool(serving_nodes(bootstrap, timeout, settings))


def wait_until_serving(
    bootstrap: str, expected: frozenset[int], timeout: float, still_possible: Callable[[], bool]
) -> bool:
    """Wait until the metadata names all `expected` nodes (any, when empty); False when time or hope ran out.

    `still_possible` is asked between two tries, so that a process that died ends the waiting at once.
    """
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        present = serving_nodes(bootstrap, timeout=1.0)
        if present and present >= expected:
            return True
        if not still_possible():
            return False
        time.sleep(0.1)
    return False
