"""Faust as its users write it: group_by through a repartition topic, a tumbling table with its changelog.

Faust closes windows by the wall clock, so that a log of the past cannot wait for `on_window_close`: the counts are read
out of the table when all events are in. Runs with `-l info`: at its default level a handler of Faust's own has every
debug message built, which takes a tenth of the CPU time.
"""

import json
from datetime import timedelta
from typing import Any

import faust
from faust.serializers import codecs
from wire import BROKER, EVENTS, GROUP, OUT, PARTITIONS, STATE, TOPIC, WINDOW_S, Once, decode, mark, result

__all__: list[str] = []

once = Once()


class OneEvent(codecs.Codec):
    """The encoding of the log; what goes through the repartition topic is narrowed, and written as JSON."""

    def _loads(self, s: bytes) -> Any:
        if s[:1] == b"{":
            return json.loads(s)
        once.seen()
        return decode(s)

    def _dumps(self, obj: Any) -> bytes:
        return json.dumps(obj).encode()


codecs.register("one_event", OneEvent())


class Event(faust.Record, serializer="one_event", include_metadata=False):
    """What is counted of an event; the rest is left behind before the repartition topic."""

    occurred_at: int
    release_line: str
    capability: str
    entry_point: str


app = faust.App(
    GROUP,
    broker=f"kafka://{BROKER}",
    store="memory://",
    datadir=STATE,
    topic_partitions=PARTITIONS,
    producer_linger=0.05,
    consumer_auto_offset_reset="earliest",
    web_enabled=False,
)
events = app.topic(TOPIC, key_type=bytes, value_type=Event, value_serializer="one_event")
by_group = app.topic(f"{GROUP}-by-group", key_type=str, value_type=Event, partitions=PARTITIONS, internal=True)
out = app.topic(OUT, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw")
counts = (
    app.Table("counts", default=int, partitions=PARTITIONS)
    .tumbling(WINDOW_S, expires=timedelta(days=7))
    .relative_to(lambda event: event.value.occurred_at / 1e6)
)


def group_of(event: Event) -> str:
    """What an event is counted by, beside its window."""
    return f"{event.release_line}|{event.capability}|{event.entry_point}"


@app.agent(events)
async def count(stream: Any) -> None:
    """Counts."""
    done = 0
    async for event in stream.group_by(group_of, name="group", topic=by_group):
        counts[group_of(event)] += 1
        done += 1
        if done == EVENTS:
            mark("counted")
            await publish()
            mark("done")


async def publish() -> None:
    """Sends what the table holds."""
    for (group, (start, _)), number in list(counts.table.data.items()):
        await out.send(key=group.encode(), value=result(int(start), group, number))
    await app.producer.flush()


if __name__ == "__main__":
    app.main()
