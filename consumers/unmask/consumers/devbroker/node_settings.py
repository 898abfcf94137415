"""The configuration of one development node; a pure function of the cluster's nodes."""

from collections.abc import Sequence
from pathlib import Path

from unmask.consumers.devbroker.ports import LOOPBACK
from unmask.consumers.devbroker.state import Node

__all__ = ["broker_settings", "node_settings", "render"]


def broker_settings(nodes: int) -> dict[str, str]:
    """What holds for each node of a development cluster of that size, however it is run."""
    replicas = min(3, nodes)
    in_sync = 2 if replicas == 3 else 1
    return {
        # A topic that nobody declared is a mistake that must show.
        "auto.create.topics.enable": "false",
        "num.partitions": "1",
        "default.replication.factor": str(replicas),
        "min.insync.replicas": str(in_sync),
        "offsets.topic.replication.factor": str(replicas),
        "offsets.topic.num.partitions": "8",
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(in_sync),
        "transaction.state.log.num.partitions": "8",
        "share.coordinator.state.topic.replication.factor": str(replicas),
        "share.coordinator.state.topic.min.isr": str(in_sync),
        # A dead worker's open transaction holds readers back until this sweep finds it.
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
        # Compaction soon enough to be seen at work, within a small heap (the default buffer is 128 MiB).
        "log.cleaner.backoff.ms": "1000",
        "log.cleaner.dedupe.buffer.size": "33554432",
        "log.segment.delete.delay.ms": "1000",
        "log.retention.check.interval.ms": "10000",
        # A killed node is given up, and may register again, after this long.
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        "num.network.threads": "2",
        "num.io.threads": "4",
        "background.threads": "4",
    }


def node_settings(node: Node, nodes: Sequence[Node], data: Path) -> dict[str, str]:
    """One KRaft node in the combined role, reachable on the loopback address only."""
    return {
        "process.roles": "broker,controller",
        "node.id": str(node.node_id),
        "controller.quorum.voters": ",".join(f"{n.node_id}@{LOOPBACK}:{n.controller_port}" for n in nodes),
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{node.port},CONTROLLER://{LOOPBACK}:{node.controller_port}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{node.port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(data),
        **broker_settings(len(nodes)),
    }


def render(settings: dict[str, str]) -> str:
    """The settings as a Java properties file; a backslash would start an escape there, so it is doubled."""
    return "".join(f"{name}={value}\n" for name, value in settings.items()).replace("\\", "\\\\")
