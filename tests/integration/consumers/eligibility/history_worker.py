"""A whole stream worker in a process of its own, with settings that no option has: `python history_worker.py JSON`."""

import asyncio
import json
import sys

from unmask.streams.settings import StreamSettings
from unmask.streams.worker import Worker, find_topics


def main() -> None:
    given = json.loads(sys.argv[1])
    given["window_seconds"] = tuple(given["window_seconds"])
    settings = StreamSettings(**given)
    asyncio.run(Worker(settings, find_topics(settings)).run())


if __name__ == "__main__":
    main()
