"""Expiry: has leases end of which nobody says anything, also where nobody asks for the key again.

The arbiter appends a request to its own log when a lease should be over. The broker's time of that request decides, so
that a worker's clock decides nothing; one that came too early is answered so, and sent again.
"""

import heapq
import logging
import secrets
import time
from collections.abc import Callable

from confluent_kafka import KafkaError, Message, Producer

from unmask.schemas.codes import EffectRequestKind
from unmask.schemas.framing import Framing, SingleObjectFraming
from unmask.schemas.kafka import producer_config
from unmask.schemas.keys import effect_route
from unmask.streams.effects.state import EffectKey, PartitionState, Standing
from unmask.streams.ledger.broker_clock import BrokerClock

__all__ = ["Expiry"]

logger = logging.getLogger(__name__)

_AGAIN_US = 2_000_000
"""After this time without a decision it is asked again."""
_PROBE_S = 1.0
_AT_ONCE = 500
_CLOSE_S = 2.0

Due = tuple[int, EffectKey, int, int]
"""When to ask for a lease's end, in microseconds of the broker's time; its key, its token and when it ends."""


class Expiry:
    """The leases of all assigned partitions, soonest end first, and the producer that asks for their ends."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        holder: str,
        clock: BrokerClock,
        framing: Framing | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        producer: Producer | None = None,
    ) -> None:
        self._topic = topic
        self._holder = holder
        self._clock = clock
        self._encode = (framing or SingleObjectFraming()).encode
        self._monotonic = monotonic
        # Not in the ledger's transactions: one that is left open would hold back every reader of requests.
        self._producer = producer or Producer(
            producer_config(bootstrap, linger_ms=0, message_timeout_ms=10_000, max_in_flight_requests_per_connection=1)
        )
        self._due: dict[int, list[Due]] = {}
        self._probed_at = -_PROBE_S

    def begin(self, state: PartitionState) -> None:
        """Takes over all leases of a partition."""
        self._due[state.partition] = [
            (effect.lease_until, key, effect.token, effect.lease_until)
            for key, effect in state.effects.items()
            if effect.standing is Standing.HELD
        ]
        heapq.heapify(self._due[state.partition])

    def end(self, partition: int) -> None:
        """The partition is no longer ours."""
        self._due.pop(partition, None)

    def watch(self, state: PartitionState, keys: set[EffectKey]) -> None:
        """Looks at keys that have changed."""
        due = self._due.setdefault(state.partition, [])
        for key in keys:
            effect = state.effects.get(key)
            if effect is not None and effect.standing is Standing.HELD:
                heapq.heappush(due, (effect.lease_until, key, effect.token, effect.lease_until))

    def tick(self, states: dict[int, PartitionState]) -> None:
        """Asks for what is due. Takes acknowledgements in, which tell the broker's time."""
        self._producer.poll(0)
        now = self._clock.now()
        if now is None:
            self._learn_time(states)
            return
        for partition, due in self._due.items():
            state = states.get(partition)
            if state is None:
                continue
            for _ in range(_AT_ONCE):
                if not due or due[0][0] > now:
                    break
                self._ask(state, due, now)

    def close(self) -> None:
        """Lets what is on its way arrive, for a moment."""
        self._producer.flush(_CLOSE_S)

    def _ask(self, state: PartitionState, due: list[Due], now: int) -> None:
        _, key, token, until = heapq.heappop(due)
        effect = state.effects.get(key)
        if effect is None or (effect.token, effect.lease_until, effect.standing) != (token, until, Standing.HELD):
            # Settled, or followed by another; a renewed one has an entry of its own.
            return
        sent = self._send(state.partition, key, token)
        heapq.heappush(due, (now + (_AGAIN_US if sent else _AGAIN_US // 10), key, token, until))

    def _learn_time(self, states: dict[int, PartitionState]) -> None:
        """Without any acknowledgement yet, a request that is too early does no harm, and its own tells the time."""
        if self._monotonic() - self._probed_at < _PROBE_S:
            return
        for partition, due in self._due.items():
            if due and partition in states:
                self._probed_at = self._monotonic()
                self._send(partition, due[0][1], due[0][2])
                return

    def _send(self, partition: int, key: EffectKey, token: int) -> bool:
        request = {
            "request_id": f"x-{secrets.token_hex(8)}",
            "kind": EffectRequestKind.EXPIRE.value,
            **key._asdict(),
            "holder": self._holder,
            "asked_at": time.time_ns() // 1000,
            "fingerprint": None,
            "lease_ms": None,
            "budget_limit": None,
            "fencing_token": token,
            "receipt": None,
        }
        value = self._encode("effect_request", request)
        route = effect_route(key.tenant, key.budget_key).encode()
        try:
            self._producer.produce(self._topic, value, route, partition, on_delivery=self._on_delivery)
        except BufferError:
            return False
        return True

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._clock.observe(message.timestamp()[1])
        else:
            logger.info("a lease's end was not taken by the broker (%s); it is asked for again", error.name())
