"""Bytewax as its users write it: a Kafka source, a count per window and key, a Kafka sink, a recovery store.

The source ends at the end of the log, and the end closes every window.
"""

import atexit
from datetime import UTC, datetime, timedelta
from typing import Any

import bytewax.operators as op
from bytewax.connectors.kafka import KafkaSinkMessage
from bytewax.connectors.kafka import operators as kafka
from bytewax.dataflow import Dataflow
from bytewax.operators.windowing import EventClock, TumblingWindower, count_window
from wire import BROKER, OUT, TOPIC, WINDOW_S, Once, decode, group_of, mark, result

__all__ = ["flow"]

once = Once()


def read(message: Any) -> tuple[datetime, str]:
    """Moment and group of an event."""
    once.seen()
    event = decode(message.value)
    return datetime.fromtimestamp(event["occurred_at"] / 1e6, UTC), group_of(event)


def write(item: Any) -> Any:
    """One line of the result."""
    group, (window, count) = item
    return KafkaSinkMessage(group.encode(), result(window * WINDOW_S, group, count))


flow = Dataflow("peer")
source = kafka.input("in", flow, brokers=[BROKER], topics=[TOPIC], tail=False)
windows = count_window(
    "count",
    op.map("read", source.oks, read),
    EventClock(ts_getter=lambda event: event[0], wait_for_system_duration=timedelta(hours=2)),
    TumblingWindower(length=timedelta(seconds=WINDOW_S), align_to=datetime(1970, 1, 1, tzinfo=UTC)),
    key=lambda event: event[1],
)
kafka.output("out", op.map("write", windows.down, write), brokers=[BROKER], topic=OUT)
atexit.register(mark, "done")
