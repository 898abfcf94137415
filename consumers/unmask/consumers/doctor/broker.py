"""Whether a broker answers, what kind of cluster it is, and whether it can do what the ledger needs."""

from collections.abc import Iterator
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it re-exports these without saying so
    AdminClient,
    ConfigResource,
    ResourceType,
)

from unmask.consumers.doctor.api_versions import ApiVersionsUnknown, ask_api_versions
from unmask.consumers.doctor.finding import Finding, Status
from unmask.consumers.unreadable import BrokerSilent, explain
from unmask.schemas.kafka import client_config

__all__ = ["check_broker"]

_TXN_OFFSET_COMMIT = 28
_FENCED_BY_GROUP = 3
"""From this version of TxnOffsetCommit on (Kafka 2.5) a broker fences a worker that its group has given up."""


def check_broker(bootstrap: str, timeout: float) -> Iterator[Finding]:
    """The cluster behind `bootstrap`; one failure where nothing answers in `timeout` seconds."""
    trouble: list[str] = []

    def note(error: KafkaError) -> None:
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            trouble.append(error.str())

    settings: dict[str, Any] = {"log_level": 2, **client_config(bootstrap), "error_cb": note}
    admin = AdminClient(settings)
    try:
        cluster = admin.describe_cluster(request_timeout=timeout).result(timeout=timeout)
    except (KafkaException, TimeoutError) as error:
        admin.poll(0)
        cause = BrokerSilent(bootstrap, trouble[-1]) if trouble else explain(error, "the cluster", bootstrap)
        fix = "correct the address, start the broker (for development: unmask broker start), or grant access"
        yield Finding("broker", Status.FAILED, str(cause), fix)
        return
    nodes = cluster.nodes
    yield Finding("broker", Status.OK, f"{bootstrap} answers; cluster {cluster.cluster_id} has {len(nodes)} broker(s)")
    yield from _settings(admin, str(nodes[0].id), timeout)
    yield from _abilities(settings, nodes[0].host, nodes[0].port, timeout)


def _settings(admin: AdminClient, node: str, timeout: float) -> Iterator[Finding]:
    resource = ConfigResource(ResourceType.BROKER, node)
    try:
        answer = admin.describe_configs([resource], request_timeout=timeout)[resource]
        entries = answer.result(timeout=timeout)
    except (KafkaException, TimeoutError):
        fix = "grant this client's principal DescribeConfigs on the cluster, or do without this check"
        yield Finding("broker settings", Status.WARNING, "the broker does not tell its settings", fix)
        return
    entry = entries.get("auto.create.topics.enable")
    if entry is not None and entry.value == "true":
        yield Finding(
            "broker settings",
            Status.WARNING,
            "auto.create.topics.enable is true: a mistyped name makes a topic that keeps what it should not",
            "set auto.create.topics.enable=false on the brokers",
        )
    else:
        yield Finding("broker settings", Status.OK, "topics are not created by accident")


def _abilities(settings: dict[str, Any], host: str, port: int, timeout: float) -> Iterator[Finding]:
    protocol = str(settings.get("security.protocol", "plaintext"))
    if protocol.lower() != "plaintext":
        detail = f"not asked for over {protocol}; the ledger needs Kafka 2.5 or newer"
        yield Finding("broker api", Status.OK, detail)
        return
    try:
        versions = ask_api_versions(host, port, timeout)
    except ApiVersionsUnknown as error:
        yield Finding("broker api", Status.WARNING, str(error), "check that the port is a Kafka listener")
        return
    newest = versions.get(_TXN_OFFSET_COMMIT, -1)
    if newest < _FENCED_BY_GROUP:
        detail = f"it knows TxnOffsetCommit up to version {newest}, needed is {_FENCED_BY_GROUP}"
        yield Finding("broker api", Status.FAILED, detail, "upgrade the brokers to Kafka 2.5 or newer")
    else:
        yield Finding("broker api", Status.OK, f"{len(versions)} APIs; transactions are fenced by group")
