"""What a message means for the page's memory. What cannot be read is counted and passed over."""

from typing import Any

from unmask.schemas.codes import AlertState
from unmask.schemas.errors import DecodeError
from unmask.schemas.topics import Topics
from unmask.schemas.wire import decode
from unmask.streams.web.page.memory import Memory

__all__ = ["Intake"]

_FIRING = AlertState.FIRING.value


class Intake:
    """Sorts messages into a memory."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._takes = {
            topics.windows.name: _window,
            topics.sessions.name: _session,
            topics.verdicts.name: _verdict,
            topics.admissions.name: _admission,
            topics.alerts.name: _alert,
            topics.ledger.name: _piece,
        }
        self.undecodable = 0

    def take(self, memory: Memory, messages: list[Any]) -> None:
        """Takes messages in, in their order."""
        for message in messages:
            try:
                self._takes[message.topic()](memory, message.key().decode(), message)
            except (DecodeError, UnicodeDecodeError, AttributeError, ValueError):
                self.undecodable += 1


def _at(message: Any) -> int:
    return int(message.timestamp()[1]) * 1000


def _window(memory: Memory, key: str, message: Any) -> None:
    memory.window(key, message.value())


def _session(memory: Memory, key: str, message: Any) -> None:
    memory.session(key, message.value(), _at(message))


def _verdict(memory: Memory, key: str, message: Any) -> None:
    memory.verdicts.put(key, message.value(), _at(message))


def _admission(memory: Memory, key: str, message: Any) -> None:
    if message.value() is not None:
        memory.admission(key, message.value(), _at(message))


def _alert(memory: Memory, key: str, message: Any) -> None:
    value = message.value()
    firing = value is not None and decode("alert", value)["state"] == _FIRING
    memory.alert(key, value, _at(message), firing=firing)


def _piece(memory: Memory, key: str, message: Any) -> None:
    memory.piece(message.partition(), key, message.value(), _at(message))
