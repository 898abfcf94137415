"""A stream worker of the soak: the real one, with every knob that the soak turns.

`python -m tests.chaos.soak.worker '<settings as JSON>'`.
"""

import asyncio
import json
import logging
import sys

from tests.chaos.soak.processes import end_with_parent

from unmask.streams.settings import StreamSettings
from unmask.streams.worker import Worker, find_topics

__all__ = ["ENDED", "main"]

ENDED = "the worker ended by itself: "
"""Begins the line in its log."""


def main() -> None:
    """Run until told to stop."""
    end_with_parent()
    given = json.loads(sys.argv[1])
    given["window_seconds"] = tuple(given["window_seconds"])
    settings = StreamSettings(**given)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    for chatty in ("faust", "aiokafka", "mode", "unmask.streams.tables.transport"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    try:
        asyncio.run(Worker(settings, find_topics(settings)).run())
    except Exception as error:
        logging.getLogger("soak").exception("%s%s: %s", ENDED, type(error).__name__, error)
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
