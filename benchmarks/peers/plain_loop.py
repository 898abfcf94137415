"""The plain loop: confluent-kafka, fastavro and a dict, over one-event records or over our batches.

Keeps nothing durable, drops no duplicate, proves nothing: the practical limit of Python, and no rival.
"""

from typing import Any

from confluent_kafka import Consumer, Message, Producer
from wire import BROKER, BY_BATCH, EVENTS, GROUP, OUT, TOPIC, WINDOW_S, decode, mark, result

__all__: list[str] = []

_WINDOW_US = WINDOW_S * 1_000_000
Counts = dict[tuple[int, str, str, str], int]


def count_events(messages: list[Message], counts: Counts) -> int:
    """Counts one-event records; how many events they were."""
    for message in messages:
        event = decode(message.value())
        key = (
            event["occurred_at"] // _WINDOW_US, event["release_line"], event["capability"], event["entry_point"],
        )  # fmt: skip
        counts[key] = counts.get(key, 0) + 1
    return len(messages)


def count_batches(messages: list[Message], counts: Counts) -> int:
    """Counts batches; how many events they held."""
    events = 0
    for message in messages:
        batch: dict[str, Any] = decode(message.value())
        line = batch["emitter"]["scope"]["release_line"]
        for group in batch["route_attempts"]:
            times, capability, entry_point = group["occurred_at"], group["capability"], group["entry_point"]
            events += len(times)
            window = min(times) // _WINDOW_US
            if max(times) // _WINDOW_US == window:
                key = (window, line, capability, entry_point)
                counts[key] = counts.get(key, 0) + len(times)
                continue
            for at in times:
                key = (at // _WINDOW_US, line, capability, entry_point)
                counts[key] = counts.get(key, 0) + 1
    return events


def publish(counts: Counts) -> None:
    """Sends the counts, one record each."""
    producer = Producer({"bootstrap.servers": BROKER, "linger.ms": 5})
    for (window, *labels), count in counts.items():
        group = "|".join(labels)
        producer.produce(OUT, result(window * WINDOW_S, group, count), group)
        producer.poll(0)
    producer.flush()


def main() -> None:
    """Counts so many events, publishes, and ends."""
    # At the client's default of 1000 ms a fast reader stalls for a second whenever its local queue is full.
    consumer = Consumer(
        {
            "bootstrap.servers": BROKER, "group.id": GROUP, "auto.offset.reset": "earliest",
            "fetch.queue.backoff.ms": 10,
        }
    )  # fmt: skip
    consumer.subscribe([TOPIC])
    count = count_batches if BY_BATCH else count_events
    counts: Counts = {}
    events = 0
    while events < EVENTS:
        messages = [message for message in consumer.consume(10_000, 0.1) if message.error() is None]
        if not messages:
            continue
        if not events:
            mark("first")
        events += count(messages, counts)
    publish(counts)
    mark("done")
    consumer.close()


if __name__ == "__main__":
    main()
