"""Where alerts go: an address that is checked once, and told to people without what may be secret in it."""

from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import urlsplit, urlunsplit

__all__ = ["ALERTMANAGER_PATH", "BadAddress", "Receiver", "ReceiverKind"]

ALERTMANAGER_PATH = "/api/v2/alerts"
_MOST_CHARACTERS = 2_048


class ReceiverKind(StrEnum):
    """What takes the alerts."""

    WEBHOOK = "webhook"
    """Any HTTP endpoint that takes a JSON document for each change."""
    ALERTMANAGER = "alertmanager"
    """Alertmanager's v2 API."""


class BadAddress(ValueError):
    """The address of a receiver cannot be one. Give http:// or https://, a host, and the path that takes the alerts."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; give an address such as https://hooks.example.org/unmask")


@dataclass(frozen=True, slots=True)
class Receiver:
    """Where alerts go. `authorization` is the value of that header. Raises BadAddress."""

    kind: ReceiverKind
    url: str = field(repr=False)
    authorization: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if len(self.url) > _MOST_CHARACTERS or not self.url.isprintable() or " " in self.url:
            raise BadAddress("the address is too long, or holds spaces or control characters")
        try:
            parts = urlsplit(self.url)
            parts.port  # noqa: B018  # raises where it is no number
        except ValueError as error:
            raise BadAddress("the address cannot be read") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadAddress("the address has no http:// or https://, or no host")
        if self.authorization is not None and not (self.authorization.isascii() and self.authorization.isprintable()):
            raise BadAddress("the authorization is not a line of ASCII characters")

    @property
    def endpoint(self) -> str:
        """What requests are sent to."""
        if self.kind is ReceiverKind.WEBHOOK:
            return self.url
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/")
        if not path.endswith(ALERTMANAGER_PATH):
            path += ALERTMANAGER_PATH
        return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))

    @property
    def shown(self) -> str:
        """The receiver in words: scheme and host, without user, path and query, any of which may be a secret."""
        parts = urlsplit(self.url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        port = "" if parts.port is None else f":{parts.port}"
        return f"the {self.kind} at {parts.scheme}://{host}{port}"
