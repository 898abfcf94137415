"""The seeded logical events that every system counts, and the counts that every one of them must reproduce.

An event is one route attempt of one host: when, by which emitter, of which capability. An emitter has one release line
and one entry point, as a host's process has, and works in bursts of 500 events within a second, so that a batch of any
fill holds what a host under load records in a second or less. Events come in the order of their time, `SPAN_S` of it
in all.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np
from numpy.typing import NDArray

from unmask.schemas.partitioner import partition_for
from unmask.schemas.scope import Scope

__all__ = [
    "BURST",
    "CAPABILITIES",
    "ENTRY_POINTS",
    "PARTITIONS",
    "REASONS",
    "RELEASE_LINES",
    "SPAN_S",
    "WINDOW_S",
    "Counts",
    "Host",
    "Workload",
]

PARTITIONS = 4
EMITTERS = 200
SPAN_S = 20 * 60
WINDOW_S = 60
RELEASE_LINES = ("2024.10-lts", "2025.2", "2025.3-rc")
CAPABILITIES = ("retrieval", "generation", "tool_call", "moderation")
ENTRY_POINTS = ("api.answers", "api.search", "worker.reindex", "cron.digest", "cli.replay")
REASONS = ("timeout", "rate_limited", "upstream_error")
_MICROS = 1_000_000
BURST = 500

Counts = dict[tuple[int, str, str, str], int]
"""Window start in seconds, release line, capability, entry point (reason, where fallbacks are counted) -> events."""


@dataclass(frozen=True, slots=True)
class Host:
    """One emitter, and what holds for all its events."""

    emitter_id: str
    partition: int
    scope: Scope
    entry_point: str


@dataclass(frozen=True)
class Workload:
    """`events` attempts; of every `fallback_every` events (0: none) the last is a fallback instead."""

    events: int
    end_s: int
    """Before this moment, seconds since the epoch, all of them occur."""
    seed: int = 7
    fallback_every: int = 0
    capabilities: tuple[str, ...] = CAPABILITIES
    emitters: int = EMITTERS
    partitions: int = PARTITIONS
    span_s: int = SPAN_S
    window_s: int = WINDOW_S
    burst: int = BURST
    """Events that an emitter has within one second before another has its turn."""

    @cached_property
    def hosts(self) -> tuple[Host, ...]:
        """The emitters, equally many on every partition, so that no partition decides how long a run takes."""
        rng = np.random.default_rng(self.seed)
        room = dict.fromkeys(range(self.partitions), -(-self.emitters // self.partitions))
        hosts: list[Host] = []
        for number in count():
            if len(hosts) == self.emitters:
                break
            name = f"{int(rng.integers(1 << 62)):016x}"
            partition = partition_for(name, self.partitions)
            if room[partition]:
                room[partition] -= 1
                line = RELEASE_LINES[number % len(RELEASE_LINES)]
                scope = Scope(line, "v1", "kafka", "strict", "switchboard-3")
                hosts.append(Host(name, partition, scope, ENTRY_POINTS[number % len(ENTRY_POINTS)]))
        return tuple(hosts)

    @cached_property
    def _order(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Burst and moment of every event, in the order of time."""
        burst = np.arange(self.events) // self.burst
        bursts = int(burst[-1]) + 1
        begin = (self.end_s - self.span_s) * _MICROS
        start = begin + burst * ((self.span_s - 1) * _MICROS) // bursts
        jitter = np.random.default_rng((self.seed, 3)).random(self.events) * 0.9
        at = start + ((np.arange(self.events) % self.burst + jitter) * (_MICROS / self.burst)).astype(np.int64)
        order = np.argsort(at, kind="stable")
        return burst[order], at[order]

    @cached_property
    def emitter_of(self) -> NDArray[np.int64]:
        """Index into `hosts`, per event."""
        turn = np.random.default_rng((self.seed, 1)).permutation(self.emitters)
        emitters: NDArray[np.int64] = turn[self._order[0] % self.emitters]
        return emitters

    @cached_property
    def capability_of(self) -> NDArray[np.int64]:
        """Index into `capabilities`, per event."""
        return np.random.default_rng((self.seed, 2)).integers(len(self.capabilities), size=self.events)

    @cached_property
    def occurred_at(self) -> NDArray[np.int64]:
        """Microseconds since the epoch, per event."""
        return self._order[1]

    @cached_property
    def is_fallback(self) -> NDArray[np.bool_]:
        """Per event."""
        if not self.fallback_every:
            return np.zeros(self.events, np.bool_)
        last: NDArray[np.bool_] = np.arange(1, self.events + 1) % self.fallback_every == 0
        return last

    def attempts(self) -> Counts:
        """The counts of attempts."""
        return self._counts(~self.is_fallback, ENTRY_POINTS, [ENTRY_POINTS.index(h.entry_point) for h in self.hosts])

    def fallbacks(self) -> Counts:
        """The counts of fallbacks; the reason is the emitter's."""
        return self._counts(self.is_fallback, REASONS, [n % len(REASONS) for n in range(self.emitters)])

    def _counts(self, wanted: NDArray[np.bool_], codes: tuple[str, ...], code_of_host: list[int]) -> Counts:
        hosts = self.emitter_of[wanted]
        line = np.array([RELEASE_LINES.index(host.scope.release_line) for host in self.hosts])[hosts]
        code = np.array(code_of_host)[hosts]
        window = self.occurred_at[wanted] // (_MICROS * self.window_s)
        label = (line * len(self.capabilities) + self.capability_of[wanted]) * len(codes) + code
        labels = len(RELEASE_LINES) * len(self.capabilities) * len(codes)
        found, counts = np.unique(window * labels + label, return_counts=True)
        result: Counts = {}
        for key, n in zip(found.tolist(), counts.tolist(), strict=True):
            at, label_at = divmod(key, labels)
            rest, code_at = divmod(label_at, len(codes))
            line_at, capability_at = divmod(rest, len(self.capabilities))
            name = (at * self.window_s, RELEASE_LINES[line_at], self.capabilities[capability_at], codes[code_at])
            result[name] = n
        return result
