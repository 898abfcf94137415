"""Apache's own Kafka image under testcontainers, whose Kafka container is written for another vendor's image."""

import re
from textwrap import dedent

from testcontainers.community.kafka import KafkaContainer

from unmask.consumers.devbroker import broker_settings

__all__ = ["KraftContainer"]

IMAGE = "apache/kafka:4.1.1"


class KraftContainer(KafkaContainer):
    """One KRaft node with the development broker's settings, on a port of Docker's choice."""

    def __init__(self) -> None:
        super().__init__(IMAGE)
        self.with_kraft()

    def _verify_min_kraft_version(self) -> None:
        """Every version of this image is KRaft; the check reads the tag as the other vendor's."""

    def configure(self) -> None:
        # Any KAFKA_* setting replaces the image's whole default configuration, so the base class's are dropped too.
        self.env = {name: value for name, value in self.env.items() if not name.startswith("KAFKA_")}
        self.wait_for = re.compile(r".*Kafka Server started.*")
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": "1@localhost:9094",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"{self.listeners},CONTROLLER://0.0.0.0:9094",
            "listener.security.protocol.map": f"{self.security_protocol_map},CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "BROKER",
            **broker_settings(nodes=1),
        }
        self.with_env("CLUSTER_ID", self.cluster_id)
        for name, value in settings.items():
            self.with_env("KAFKA_" + name.upper().replace(".", "_"), value)

    def start(self, timeout: int = 120) -> "KraftContainer":
        super().start(timeout)
        return self

    def tc_start(self) -> None:
        # Only now is the port known at which this machine reaches the container, so only now can it be advertised.
        outside = f"{self.listener_name}://{self.get_container_host_ip()}:{self.get_exposed_port(self.port)}"
        script = f"""\
            #!/bin/bash
            export KAFKA_ADVERTISED_LISTENERS={outside},BROKER://localhost:9092
            exec /etc/kafka/docker/run
            """
        self.create_file(dedent(script).encode(), self.TC_START_SCRIPT)
