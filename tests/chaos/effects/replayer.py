"""What a careless network puts on the requests again, and bytes that are none.

A replay has the key, the partition and the bytes of the original, in random order, soon after or much later.
"""

import random
import threading
from collections import deque
from collections.abc import Callable

from confluent_kafka import KafkaError, Message, Producer

from unmask.consumers.topic_reader import TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import TopicUnreadable
from unmask.schemas.kafka import producer_config
from unmask.schemas.topics import Topics

__all__ = ["Replayer"]

_KEPT = 4_000
_RECENT = 60
_TICK_S = 0.25

Callback = Callable[[KafkaError | None, Message], None]


class Replayer:
    """A thread that replays requests at a steady rate, and puts unreadable ones in when told."""

    def __init__(self, bootstrap: str, topics: Topics, per_second: float, seed: int) -> None:
        self._topic = topics.effects_requests.name
        self._source = TopicSource(self._topic, bootstrap, compacted=False)
        self._producer = Producer(producer_config(bootstrap, linger_ms=5, log_level=2))
        self._per_second = per_second
        self._random = random.Random(seed)
        self._kept: list[tuple[int, bytes, bytes]] = []
        self._recent: deque[tuple[int, bytes, bytes]] = deque(maxlen=_RECENT)
        self._met = 0
        self._wanted = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="replayer", daemon=True)
        self.replayed = 0
        """Requests that were put in once more, acknowledged."""
        self.unreadable = 0
        """Records that are no requests, acknowledged."""
        self.error: Exception | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def put_unreadable(self, count: int) -> None:
        """Soon put in so many records that are no requests."""
        self._wanted += count

    def stop(self) -> None:
        """End, once all is acknowledged."""
        self._stop.set()
        self._thread.join(30.0)
        self._producer.flush(60.0)

    def _run(self) -> None:
        positions: dict[int, int] = {}
        while not self._stop.is_set():
            try:
                with TopicReader(self._source, resume=positions, timeout=10.0) as reader:
                    while not self._stop.wait(_TICK_S):
                        for row in reader.read(0.0):
                            if row.key is not None and row.value is not None:
                                self._keep((row.partition, row.key, row.value))
                        positions = dict(reader.positions)
                        self._put()
            except TopicUnreadable:
                # Brokers are killed here on purpose.
                self._stop.wait(1.0)
            except Exception as error:
                self.error = error
                return

    def _keep(self, record: tuple[int, bytes, bytes]) -> None:
        self._recent.append(record)
        self._met += 1
        if len(self._kept) < _KEPT:
            self._kept.append(record)
        elif self._random.random() < _KEPT / self._met:
            self._kept[self._random.randrange(_KEPT)] = record

    def _put(self) -> None:
        draw = self._random
        for _ in range(round(self._per_second * _TICK_S + draw.random() - 0.5)):
            pool = self._recent if draw.random() < 0.6 else self._kept
            if pool:
                partition, key, value = draw.choice(pool)
                self._produce(partition, key, value, self._on_replay)
        while self._wanted and self._kept:
            self._wanted -= 1
            partition, key, value = draw.choice(self._kept)
            spoilt = draw.choice((value[:-3], value + b"\0", b"", draw.randbytes(40), value))
            # The last of these is a good request under a key, and on a partition, that is not its own.
            key = b"stranger" if spoilt is value else key
            self._produce(partition, key, spoilt, self._on_unreadable)
        self._producer.poll(0)

    def _produce(self, partition: int, key: bytes, value: bytes, on_delivery: Callback) -> None:
        try:
            self._producer.produce(self._topic, value, key, partition, on_delivery=on_delivery)
        except BufferError:
            self._producer.poll(0.1)

    def _on_replay(self, error: KafkaError | None, message: Message) -> None:
        self.replayed += error is None

    def _on_unreadable(self, error: KafkaError | None, message: Message) -> None:
        self.unreadable += error is None
