"""The page's memory: the newest record of every key that matters, within bounds. Pure; its owner guards it.

Records stay as bytes until somebody looks at them: most are replaced unseen.
"""

from dataclasses import dataclass, field

from unmask.schemas.windowing import LIFETIME, MICROS
from unmask.streams.web.page.limits import Limits
from unmask.streams.web.page.newest import Newest

__all__ = ["LedgerHead", "Memory", "WindowPlace"]

WindowPlace = tuple[int, int]
"""Window seconds and window start."""


@dataclass(frozen=True, slots=True)
class LedgerHead:
    """How far the ledger is with one source partition, in its own words."""

    raw: bytes
    committed_at: int
    """Broker's time of these words, microseconds."""


@dataclass(slots=True)
class Memory:
    """Windows, sessions, verdicts, admissions, alerts, and the ledger's own words on partitions and emitters."""

    limits: Limits
    windows: dict[WindowPlace, dict[str, bytes]] = field(default_factory=dict)
    """By place, then by key."""
    windows_cut: int = 0
    heads: dict[int, LedgerHead] = field(default_factory=dict)
    """By source partition."""
    sessions: Newest[bytes] = field(init=False)
    """By session and source partition."""
    verdicts: Newest[bytes | None] = field(init=False)
    """By session; None where a tombstone stands, that is where somebody withdrew it."""
    admissions: Newest[list[bytes]] = field(init=False)
    firing: Newest[bytes] = field(init=False)
    resolved: Newest[bytes] = field(init=False)
    emitters: Newest[bytes] = field(init=False)
    """By source partition and emitter."""

    def __post_init__(self) -> None:
        limits = self.limits
        self.sessions, self.verdicts = Newest(limits.sessions), Newest(limits.sessions)
        self.admissions = Newest(limits.sessions)
        self.firing, self.resolved = Newest(limits.alerts), Newest(limits.alerts)
        self.emitters = Newest(limits.emitters)

    def window(self, key: str, value: bytes | None) -> None:
        """Takes a record of the windows topic in. Raises ValueError where the key is none."""
        seconds, start = (int(part) for part in key.split("|", 2)[:2])
        if seconds == LIFETIME:
            return
        place = (seconds, start * MICROS)
        if value is None:
            self.windows.get(place, {}).pop(key, None)
            return
        known = self.windows.get(place)
        if known is None:
            known = self.windows[place] = {}
            self._forget_oldest(seconds)
        if key in known or len(known) < self.limits.records_of_a_window:
            known[key] = value

    def _forget_oldest(self, seconds: int) -> None:
        same = [place for place in self.windows if place[0] == seconds]
        if len(same) > self.limits.windows:
            del self.windows[min(same)]
            self.windows_cut += 1

    def session(self, key: str, value: bytes | None, at: int) -> None:
        """Takes a session's snapshot in; None removes it: the ledger has forgotten the session."""
        if value is None:
            self.sessions.pop(key)
        else:
            self.sessions.put(key, value, at)

    def admission(self, session_id: str, value: bytes, at: int) -> None:
        """Takes what a gate recorded in."""
        steps = [*(self.admissions.get(session_id) or []), value]
        self.admissions.put(session_id, steps[-self.limits.shown :], at)

    def alert(self, identity: str, value: bytes | None, at: int, *, firing: bool) -> None:
        """Takes an alert in. What fires is kept apart, so that nothing that is over takes its room."""
        self.firing.pop(identity)
        self.resolved.pop(identity)
        if value is not None:
            (self.firing if firing else self.resolved).put(identity, value, at)

    def piece(self, partition: int, key: str, value: bytes | None, at: int) -> None:
        """Takes a piece of the ledger's state in. Cells and sessions are passed over."""
        if key == "h" and value is not None:
            self.heads[partition] = LedgerHead(value, at)
        elif key.startswith("e|"):
            name = f"{partition}|{key}"
            if value is None:
                self.emitters.pop(name)
            else:
                self.emitters.put(name, value, at)
