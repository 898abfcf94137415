"""A host of the soak: threads that claim, make effects, and commit, give back, are late, or die in the middle of it.

`python -m tests.chaos.effects.host`. SIGTERM ends it in order. The file `cut-off` beside its journals takes it off the
network, in both directions, for as long as it is there.
"""

import argparse
import os
import random
import signal
import threading
import time
import traceback
from pathlib import Path

from confluent_kafka import Message
from tests.chaos.effects.deeds import Choice, Doer
from tests.chaos.effects.journal import Journal, World, now_us
from tests.chaos.soak.processes import end_with_parent

from unmask.producers.effects import EffectsClient
from unmask.producers.effects.channel import Channel
from unmask.producers.effects.questions import Question

__all__ = ["main"]

_JOIN_S = 120.0


class Reach(Channel):
    """A way to the ledger that is closed while the file is there: nothing goes out, and what comes is lost."""

    barrier: Path

    def _ready(self, route: str, deadline: float) -> int | None:
        if self.barrier.exists():
            time.sleep(0.05)
            return None
        return super()._ready(route, deadline)

    def _send(self, question: Question, partition: int, route: str, value: bytes) -> bool:
        return not self.barrier.exists() and super()._send(question, partition, route, value)

    def _take(self, message: Message) -> None:
        if not self.barrier.exists():
            super()._take(message)


class Client(EffectsClient):
    """A client whose way to the ledger can be closed."""

    def _begin_life(self) -> None:
        super()._begin_life()
        self._channel.__class__ = Reach


def main() -> None:
    """Live once."""
    parser = argparse.ArgumentParser(prog="effects.host")
    parser.add_argument("--life", required=True, help="of its journal")
    parser.add_argument("--name", required=True, help="of the host")
    parser.add_argument("--folder", type=Path, required=True, help="of the journals")
    parser.add_argument("--world", type=Path, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--leases", type=float, nargs=2, required=True, help="shortest and longest, in seconds")
    parser.add_argument("--epoch", type=int, required=True, help="when the soak began, in microseconds")
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    end_with_parent()
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: told.set())
    Reach.barrier = given.folder / f"{given.name}.cut-off"
    journal, world = Journal(given.folder, given.life), World(given.world)
    journal.add({"e": "began", "at": now_us(), "cut_off": Reach.barrier.exists()})
    with Client() as client:
        threads = []
        for number in range(given.threads):
            draw = random.Random(f"{given.seed}-{number}")
            choice = Choice(draw, given.epoch, tuple(given.leases))
            doer = Doer(client, journal, world, choice, f"{given.life}-{number}", told)
            threads.append(threading.Thread(target=_run, args=(doer,), daemon=True))
        for thread in threads:
            thread.start()
        for thread in threads:
            # A thread that waits for good would keep the main thread from hearing signals.
            while thread.is_alive() and not told.wait(0.5):
                pass
            thread.join(_JOIN_S)
    journal.add({"e": "ended", "at": now_us()})


def _run(doer: Doer) -> None:
    try:
        doer.run()
    except BaseException:
        traceback.print_exc()
        os._exit(3)


if __name__ == "__main__":
    main()
