"""Client settings: where the broker is, how to reach it, and what every producer and consumer must keep to.

Settings come from three places, the later one winning: the defaults here, the environment, the caller. An option
`a.b.c` of librdkafka is UNMASK_KAFKA_A_B_C in the environment and `a_b_c` as a keyword, for example
UNMASK_KAFKA_SECURITY_PROTOCOL or `security_protocol=`.
"""

import os
from collections.abc import Mapping
from typing import Any

from unmask.schemas.errors import NoBroker, UnsafeClientOption

__all__ = [
    "ENVIRONMENT_PREFIX",
    "NoBroker",
    "UnsafeClientOption",
    "bootstrap_from_environment",
    "client_config",
    "consumer_config",
    "producer_config",
]

ENVIRONMENT_PREFIX = "UNMASK_KAFKA_"
_BOOTSTRAP = "KAFKA_BOOTSTRAP_SERVERS"
# Options whose own names hold underscores; all others are dotted.
_UNDERSCORED = {"log_level", "on_delivery", "on_commit", "ssl_ca", "ssl_certificate", "ssl_key"}
# Every producer must agree on the partition of a key with Faust and the Java clients, and may not lose a record
# that was reported as delivered.
_PRODUCER_MUSTS: Mapping[str, Any] = {
    "partitioner": "murmur2_random",
    "acks": "all",
    "enable.idempotence": True,
    "delivery.report.only.error": False,
}
_ALIASES = {"request.required.acks": "acks", "metadata.broker.list": "bootstrap.servers"}
_SAME_AS_ALL = {"all", "-1"}


def bootstrap_from_environment() -> str:
    """KAFKA_BOOTSTRAP_SERVERS. Raises NoBroker where it is not set."""
    bootstrap = os.environ.get(_BOOTSTRAP, "").strip()
    if not bootstrap:
        raise NoBroker
    return bootstrap


def client_config(bootstrap: str | None = None, **overrides: Any) -> dict[str, Any]:
    """The librdkafka settings that every client shares: address, security, name.

    `bootstrap` is `host:port`, several divided by commas; without it KAFKA_BOOTSTRAP_SERVERS decides. Raises NoBroker.
    """
    config: dict[str, Any] = {"client.id": "unmask", **_from_environment(), **_dotted(overrides)}
    if bootstrap:
        config["bootstrap.servers"] = bootstrap
    elif "bootstrap.servers" not in config:
        config["bootstrap.servers"] = bootstrap_from_environment()
    return config


def producer_config(bootstrap: str | None = None, **overrides: Any) -> dict[str, Any]:
    """Settings of a producer: murmur2 partitions, all replicas, idempotence, a report for every message.

    Raises NoBroker, and UnsafeClientOption where the environment or the caller sets one of these otherwise.
    """
    config = client_config(bootstrap, **overrides)
    for option, needed in _PRODUCER_MUSTS.items():
        if option in config and not _same(config[option], needed):
            raise UnsafeClientOption(option, config[option], str(needed).lower())
        config[option] = needed
    return config


def consumer_config(group_id: str, bootstrap: str | None = None, **overrides: Any) -> dict[str, Any]:
    """Settings of a consumer: committed records only, from the earliest, offsets committed by the caller alone.

    Raises NoBroker.
    """
    defaults = {
        "group.id": group_id,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "allow.auto.create.topics": False,
        # The default of 1000 ms stalls a fast reader for a second each time its local queue is full.
        "fetch.queue.backoff.ms": 10,
    }
    return {**defaults, **client_config(bootstrap, **overrides)}


def _from_environment() -> dict[str, Any]:
    found = {
        name[len(ENVIRONMENT_PREFIX) :].lower(): value
        for name, value in os.environ.items()
        if name.startswith(ENVIRONMENT_PREFIX) and value
    }
    return _dotted(found)


def _dotted(options: Mapping[str, Any]) -> dict[str, Any]:
    dotted = (name if name in _UNDERSCORED or name.endswith("_cb") else name.replace("_", ".") for name in options)
    return {_ALIASES.get(name, name): value for name, value in zip(dotted, options.values(), strict=True)}


def _same(value: Any, needed: Any) -> bool:
    given, wanted = str(value).strip().lower(), str(needed).lower()
    return given == wanted or (wanted == "all" and given in _SAME_AS_ALL)
