"""Faust's consumer, made to see committed records only, and an app that touches nothing but its inputs.

Tombstones carry no offset to be compared by: one that an aborted transaction brings would take the place of a record
that another worker committed. Faust has no setting for this outside its own exactly-once mode, which the tables must
not use; what is overridden here was checked on the pinned version.
"""

from typing import Any, cast

import faust
from faust.app.base import BootStrategy
from faust.transport.drivers import aiokafka as driver
from faust.types.transports import TransportT

__all__ = ["TablesApp"]


class _CommittedThread(driver.AIOKafkaConsumerThread):
    def _create_worker_consumer(self, transport: driver.Transport) -> Any:
        consumer = super()._create_worker_consumer(transport)
        consumer._isolation_level = "read_committed"
        return consumer


class _CommittedConsumer(driver.Consumer):
    def _new_consumer_thread(self) -> driver.AIOKafkaConsumerThread:
        return _CommittedThread(self, loop=self.loop, beacon=self.beacon)


class _CommittedTransport(driver.Transport):
    Consumer = _CommittedConsumer


class _ConsumeOnly(BootStrategy):
    # Records go out through a producer that reports every single one; Faust's own is not started.
    enable_kafka_producer = False
    enable_web = False


class TablesApp(faust.App):
    """A Faust app that only consumes: no producer, no web server, no folders."""

    BootStrategy = _ConsumeOnly

    def _new_transport(self) -> TransportT:
        return cast(TransportT, _CommittedTransport(self.conf.broker_consumer, self))

    async def on_first_start(self) -> None:
        """Makes no folders: everything is rebuilt from Kafka."""
