"""Places of records: a topic, a partition and an offset, as people write them."""

import re
from dataclasses import dataclass

__all__ = ["BadPlace", "Place", "parse_place"]

_PLACE = re.compile(r"(?:([A-Za-z0-9._\-]{1,249})/)?([0-9]{1,9})/([0-9]{1,18})")


class BadPlace(ValueError):
    """The text names no place of a record; the message shows how one is written."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"{text!r} is no place of a record: write PARTITION/OFFSET, as in 3/42, or TOPIC/PARTITION/OFFSET"
        )


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a record stands."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


def parse_place(text: str, topic: str) -> Place:
    """The place that the text names; `topic` is meant where it names none. Raises BadPlace."""
    found = _PLACE.fullmatch(text.strip())
    if found is None:
        raise BadPlace(text)
    return Place(found.group(1) or topic, int(found.group(2)), int(found.group(3)))
