"""A ledger in a process of its own, to be killed and paused: `python ledger_worker.py SETTINGS_JSON`.

The ledger of events, or with `"part": "effects"` that of effects.

Prints one line of JSON whenever its condition changes. With `at` it hits itself with a signal at a named point of the
nth transaction that moves an offset: `sent`, `offsets` (handed to the transaction), `committed`. With an n of 0 it
waits for SIGUSR2 first and takes the next one.
"""

import faulthandler
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import TopicPartition

from unmask.schemas.topics import Topics
from unmask.streams.effects.service import EffectsService
from unmask.streams.ledger import group_life
from unmask.streams.ledger.outputs import Record
from unmask.streams.ledger.service import LedgerService
from unmask.streams.ledger.transactor import Transactor
from unmask.streams.settings import StreamSettings


def _tell(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class _Struck(Transactor):
    """Is struck at a point of a transaction."""

    point = ""
    blow = signal.SIGKILL
    left = 0
    armed = False
    moved: tuple[int, ...] = ()

    def commit(
        self, records: Iterable[Record], offsets: list[TopicPartition], membership: Callable[[], object]
    ) -> None:
        moved = tuple(sorted(target.offset for target in offsets))
        if moved != _Struck.moved:
            _Struck.moved = moved
            _Struck.armed = _Struck.left == 1
            _Struck.left -= 1
        super().commit(records, offsets, membership)
        self._strike("committed")

    def _send(self, records: list[Record]) -> None:
        super()._send(records)
        self._strike("sent")

    def _end(self) -> None:
        self._strike("offsets")
        super()._end()

    def _strike(self, point: str) -> None:
        if self.armed and self.point == point:
            _Struck.armed = False
            _tell({"struck": True})
            os.kill(os.getpid(), self.blow)


def main() -> None:
    # A worker that hangs can be asked where.
    faulthandler.register(signal.SIGUSR1)
    given: dict[str, Any] = json.loads(sys.argv[1])
    topics = Topics(
        given["namespace"], events_partitions=given.pop("partitions"), table_partitions=given.pop("tables")
    )  # fmt: skip
    if (at := given.pop("at", None)) is not None:
        _Struck.point, _Struck.left, blow = at
        _Struck.blow = signal.Signals[blow]
        vars(group_life)["Transactor"] = _Struck
    kind = EffectsService if given.pop("part", "ledger") == "effects" else LedgerService
    service = kind(StreamSettings(**given), topics)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGUSR2, lambda *_: setattr(_Struck, "left", 1))
    service.start()
    told: dict[str, Any] = {}
    while not stop.is_set():
        status = service.status()
        now = {
            "ready": status.ready, "reason": status.reason, "partitions": status.partitions, "lag": status.lag,
            "transactions": status.transactions > 0, "error": type(status.error).__name__ if status.error else None,
        }  # fmt: skip
        if now != told:
            told = now
            _tell(now)
        if status.error is not None:
            sys.exit(3)
        time.sleep(0.02)
    service.stop()


if __name__ == "__main__":
    main()
