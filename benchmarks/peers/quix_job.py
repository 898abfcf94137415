"""Quix Streams as its users write it: narrowed values, group_by, a tumbling window whose final counts are published.

State is RocksDB with changelog topics, committed every 5 s, at least once: all defaults.
"""

from typing import Any

from quixstreams import Application
from quixstreams.models import Deserializer
from wire import BROKER, GROUP, OUT, STATE, TOPIC, WINDOW_S, Once, decode, group_of, mark

__all__: list[str] = []

_GRACE_S = 2 * 3600  # the partitions of a log of the past are not read in step
once = Once()


class OneEvent(Deserializer):
    """The encoding of the log."""

    def __call__(self, value: bytes, ctx: Any) -> Any:
        """The event in a value."""
        once.seen()
        return decode(value)


def main() -> None:
    """Counts until it is told to stop."""
    app = Application(
        broker_address=BROKER, consumer_group=GROUP, auto_offset_reset="earliest", state_dir=STATE, loglevel="WARNING"
    )
    source = app.topic(
        TOPIC,
        value_deserializer=OneEvent(),
        timestamp_extractor=lambda value, headers, timestamp, kind: value["occurred_at"] // 1000,
    )
    target = app.topic(OUT, value_serializer="json", key_serializer="json")
    frame = app.dataframe(source)[["release_line", "capability", "entry_point"]]
    frame = frame.group_by(group_of, name="group")
    frame = frame.update(lambda value: once.counted())
    frame = frame.tumbling_window(duration_ms=WINDOW_S * 1000, grace_ms=_GRACE_S * 1000).count().final()
    frame = frame.apply(
        lambda value, key, timestamp, headers: {"w": value["start"] // 1000, "k": key, "n": value["value"]},
        metadata=True,
    )
    frame.to_topic(target)
    app.run()
    mark("done")


if __name__ == "__main__":
    main()
