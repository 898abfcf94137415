"""Replaying: the bytes of quarantined records, appended again to the partition that they came from.

The same bytes under the same key on the same partition are the same batch: the ledger counts it once, as the batch_seq
that was missing, however often it is replayed. What still cannot be read is refused, since it would only be put aside
again.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from confluent_kafka import KafkaError, Message, Producer

from unmask.consumers.quarantine.entries import Entries
from unmask.consumers.quarantine.judge import Condition, Original, State, judge
from unmask.consumers.quarantine.log_stretch import LogStretch, Standing
from unmask.consumers.quarantine.place import Place
from unmask.consumers.verify.strict import StrictReader
from unmask.schemas.kafka import producer_config

__all__ = ["Replay", "append", "conditions", "mark_replayed"]

_NOT_QUARANTINED = Condition(State.NOT_QUARANTINED, "nothing at this place was put into quarantine")


@dataclass(slots=True)
class Replay:
    """One record that was asked for, and what became of it."""

    place: Place
    condition: Condition
    original: Original | None = None
    appended_at: int | None = None
    """The offset of its copy."""
    failure: str | None = None
    """Why the broker did not take it."""

    @property
    def refused(self) -> bool:
        """Whether it was not, and will not be, replayed although it was asked for."""
        return self.failure is not None or self.condition.state not in (State.READABLE, State.REPLAYED)


def conditions(places: Iterable[Place], entries: Entries, stretch: LogStretch, reader: StrictReader) -> list[Replay]:
    """The condition of each place's record now. Raises a TopicUnreadable, RegistryUnavailable."""
    found: list[Replay] = []
    for place in places:
        entry = entries.get(place)
        if entry is None:
            found.append(Replay(place, _NOT_QUARANTINED))
            continue
        original = stretch.original(place.partition, place.offset)
        found.append(Replay(place, judge(entry, original, reader), original))
    readable = [replay for replay in found if replay.condition.state is State.READABLE]
    for partition in sorted({replay.place.partition for replay in readable}):
        here = [replay for replay in readable if replay.place.partition == partition]
        first = min(replay.place.offset for replay in here)
        mark_replayed(here, stretch.between(partition, first, stretch.end(partition)), entries)
    return found


def mark_replayed(replays: list[Replay], log: Iterable[Standing], entries: Entries) -> None:
    """Marks those whose very bytes stand again further on in `log`, which holds records of their partition.

    A copy that was put into quarantine itself counts for nothing. Of several with the same bytes only the first is
    left to be replayed.
    """
    wanted: dict[tuple[bytes | None, bytes], list[Replay]] = {}
    for replay in sorted(replays, key=lambda replay: replay.place):
        if replay.original is not None:
            same = wanted.setdefault(replay.original.identity, [])
            if same:
                replay.condition = Condition(State.REPLAYED, f"the same bytes as at {same[0].place}")
            same.append(replay)
    keys = {key for key, _ in wanted}
    for offset, original in log:
        if original.key not in keys:
            continue
        for replay in wanted.get(original.identity, ()):
            place = Place(replay.place.topic, replay.place.partition, offset)
            if offset > replay.place.offset and entries.get(place) is None:
                replay.condition = Condition(State.REPLAYED, f"the same bytes stand again at offset {offset}")


def append(replays: list[Replay], bootstrap: str | None, timeout: float) -> None:
    """Appends all that can be read, and waits for the broker's word on each. Raises NoBroker, UnsafeClientOption."""
    producer = Producer(producer_config(bootstrap, log_level=2, message_timeout_ms=int(timeout * 1000)))
    for replay in replays:
        original = replay.original
        if replay.condition.state is not State.READABLE or original is None:
            continue
        producer.produce(
            replay.place.topic,
            original.value,
            original.key,
            replay.place.partition,
            on_delivery=_note(replay),
        )
        producer.poll(0)
    producer.flush(timeout + 1.0)
    for replay in replays:
        if replay.condition.state is State.READABLE and replay.appended_at is None and replay.failure is None:
            replay.failure = "the broker did not answer in time; whether it took the record is not known"


def _note(replay: Replay) -> Callable[[KafkaError | None, Message], None]:
    def note(error: KafkaError | None, message: Message) -> None:
        if error is None:
            replay.appended_at = message.offset()
        else:
            replay.failure = f"{error.name()}: {error.str()}"

    return note
