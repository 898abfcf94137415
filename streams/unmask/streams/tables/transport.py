"""Faust's consumer, made to see committed records only and to be quick, and an app that touches nothing but its inputs.

Tombstones carry no offset to be compared by: one that an aborted transaction brings would take the place of a record
that another worker committed. Faust has no setting for this outside its own exactly-once mode, which the tables must
not use; what is overridden here was checked on the pinned version.

Handing a record on costs Faust five tasks, since that might have to wait. It hardly ever does, and then none is needed.
"""

import asyncio
import types
from collections.abc import Coroutine, Generator, Iterable
from typing import Any, cast

import faust
from faust.app.base import BootStrategy
from faust.transport.drivers import aiokafka as driver
from faust.types.transports import TransportT
from mode import ServiceT
from mode.services import WaitResults

__all__ = ["TablesApp"]


class _CommittedThread(driver.AIOKafkaConsumerThread):
    def _create_worker_consumer(self, transport: driver.Transport) -> Any:
        consumer = super()._create_worker_consumer(transport)
        consumer._isolation_level = "read_committed"
        return consumer


@types.coroutine
def _going_on(begun: Coroutine[Any, Any, Any], awaited: Any) -> Generator[Any, Any, Any]:
    try:
        while True:
            try:
                answer = yield awaited
            except GeneratorExit:
                begun.close()
                raise
            except BaseException as error:
                awaited = begun.throw(error)
            else:
                awaited = begun.send(answer)
    except StopIteration as end:
        return end.value


async def _rest(begun: Coroutine[Any, Any, Any], awaited: Any) -> Any:
    """The rest of a coroutine that has begun and waits for something."""
    return await _going_on(begun, awaited)


class _CommittedConsumer(driver.Consumer):
    def _new_consumer_thread(self) -> driver.AIOKafkaConsumerThread:
        return _CommittedThread(self, loop=self.loop, beacon=self.beacon)

    async def wait_first(self, *coros: Any, timeout: Any = None) -> Any:  # noqa: ASYNC109  # Faust's
        first, *others = coros
        if asyncio.iscoroutine(first) and not self.should_stop:
            try:
                awaited = first.send(None)
            except StopIteration as end:
                for other in others:
                    if asyncio.iscoroutine(other):
                        other.close()
                return WaitResults([first], [end.value], stopped=False)
            first = _rest(first, awaited)
        return await super().wait_first(first, *others, timeout=timeout)


class _CommittedTransport(driver.Transport):
    Consumer = _CommittedConsumer


class _ConsumeOnly(BootStrategy):
    # Records go out through a producer that reports every single one; Faust's own is not started.
    enable_kafka_producer = False
    enable_web = False


class TablesApp(faust.App):
    """A Faust app that only consumes: no producer, no web server, no folders."""

    BootStrategy = _ConsumeOnly

    def on_init_dependencies(self) -> Iterable[ServiceT]:
        """Has no monitor look at each record: what the tables take in is counted by themselves."""
        services = super().on_init_dependencies()
        self.sensors.remove(self.monitor)
        return services

    def _new_transport(self) -> TransportT:
        return cast(TransportT, _CommittedTransport(self.conf.broker_consumer, self))

    async def on_first_start(self) -> None:
        """Makes no folders: everything is rebuilt from Kafka."""
