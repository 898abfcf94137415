"""A Kafka broker for development and tests: found, started, killed and stopped without an installation."""

from unmask.consumers.devbroker.compose import docker_engine_answers
from unmask.consumers.devbroker.distribution import missing_for_jvm
from unmask.consumers.devbroker.errors import (
    BrokerError,
    BrokerStartFailed,
    BrokerUnreachable,
    NoWayToRunBroker,
    UnknownBrokerWay,
)
from unmask.consumers.devbroker.jvm import JvmBroker
from unmask.consumers.devbroker.node_settings import broker_settings
from unmask.consumers.devbroker.resolve import BrokerHandle, find_broker, resolve_broker, stop_broker
from unmask.consumers.devbroker.state import Way

__all__ = [
    "BrokerError",
    "BrokerHandle",
    "BrokerStartFailed",
    "BrokerUnreachable",
    "JvmBroker",
    "NoWayToRunBroker",
    "UnknownBrokerWay",
    "Way",
    "broker_settings",
    "docker_engine_answers",
    "find_broker",
    "missing_for_jvm",
    "resolve_broker",
    "stop_broker",
]
