"""The injector: what a careless network or a stranger puts on the log. Real records again, and bytes that are none.

A replay has the key, the partition and the bytes of the original, and comes in random order, soon after or much later.
"""

import random
import threading
import time
from collections import deque

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import TopicUnreadable
from unmask.schemas.codec import decode_any
from unmask.schemas.errors import DecodeError
from unmask.schemas.kafka import producer_config
from unmask.schemas.topics import Topics

__all__ = ["Injector"]

_KEPT = 4_000
_RECENT = 40
_PROMPT_US = 5_000_000
_PAUSE_S = 0.1


def _told_promptly(row: Row) -> bool:
    try:
        _, batch = decode_any(("event_batch",), row.value)
    except DecodeError:
        return False
    return row.timestamp_ms * 1_000 - int(batch["sent_at"]) < _PROMPT_US


class Injector:
    """A thread that replays at a steady rate, and puts unreadable records in when told."""

    def __init__(self, bootstrap: str, topics: Topics, per_second: float, seed: int) -> None:
        self._source = TopicSource(topics.events.name, bootstrap, compacted=False)
        self._topic = topics.events.name
        self._per_second = per_second
        self._random = random.Random(seed)
        self._producer = Producer(producer_config(bootstrap, linger_ms=5, log_level=2))
        self._kept: list[tuple[int, bytes, bytes]] = []
        self._newest: deque[tuple[int, bytes, bytes]] = deque(maxlen=_RECENT)
        self._prompt: deque[tuple[int, bytes, bytes]] = deque(maxlen=_RECENT)
        self._met = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="injector", daemon=True)
        self._wanted = 0
        self._spoiled: set[tuple[bytes, bytes]] = set()
        self.replayed = 0
        """Records that were there already and were acknowledged again."""
        self.unreadable = 0
        """Records that nobody can read, acknowledged."""
        self.failed = 0
        self.error: Exception | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def put_unreadable(self, count: int) -> None:
        """Soon put in so many records that nobody can read."""
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
                    before, owed = time.monotonic(), 0.0
                    while not self._stop.is_set():
                        self._keep(reader)
                        positions = dict(reader.positions)
                        now = time.monotonic()
                        owed = min(owed + (now - before) * self._per_second, 2 * self._per_second)
                        before = now
                        while owed >= 1 and self._kept:
                            owed -= 1
                            self._replay()
                        while self._wanted and self._prompt:
                            self._wanted -= 1
                            self._spoil()
                        self._producer.poll(0)
                        time.sleep(_PAUSE_S)
            except TopicUnreadable:
                time.sleep(0.5)
            except Exception as error:
                self.error = error
                return

    def _keep(self, reader: TopicReader) -> None:
        for row in reader.read(0):
            if not row.key or not row.value or (row.key, row.value) in self._spoiled:
                continue
            record = (row.partition, row.key, row.value)
            self._met += 1
            self._newest.append(record)
            if _told_promptly(row):
                self._prompt.append(record)
            if len(self._kept) < _KEPT:
                self._kept.append(record)
            elif (place := self._random.randrange(self._met)) < _KEPT:
                self._kept[place] = record

    def _replay(self) -> None:
        # Half of them are of the newest, which meet their originals in one fetch.
        partition, key, value = self._random.choice(self._random.choice((self._kept, self._newest)))
        self._send(partition, key, value, self._replay_done)

    def _spoil(self) -> None:
        draw = self._random
        # An unreadable record spoils all windows since its emitter's last cut, minutes of them where that is long dead
        # or has a clock that is behind. Then no window would be left that has to be COMPLETE.
        partition, key, value = draw.choice(self._prompt)
        kind = draw.randrange(5)
        if kind == 0:
            value = draw.randbytes(draw.randint(1, 200))
        elif kind == 1:
            value = value[: draw.randint(12, len(value) - 1)]
        elif kind == 2:
            value += b"trail"
        elif kind == 3:
            key = b"nobody-%d" % draw.randrange(1_000_000)
        else:
            value = value[:2] + draw.randbytes(8) + value[10:]
        self._spoiled.add((key, value))
        self._send(partition, key, value, self._spoil_done)

    def _send(self, partition: int, key: bytes, value: bytes, done: object) -> None:
        try:
            self._producer.produce(self._topic, value, key, partition, on_delivery=done)  # type: ignore[arg-type]
        except (BufferError, KafkaException):
            self.failed += 1

    def _replay_done(self, error: KafkaError | None, _message: Message) -> None:
        self.replayed += error is None
        self.failed += error is not None

    def _spoil_done(self, error: KafkaError | None, _message: Message) -> None:
        self.unreadable += error is None
        self.failed += error is not None
