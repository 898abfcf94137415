"""A random history: hosts with faults of every kind, a log, and everything that a ledger may go through reading it.

All randomness is one seed. The world knows the truth: every event that any host ever recorded.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple
from zlib import crc32

from tests.unit.streams.ledger.emitting import MINUTE, SCOPE, SECOND, T0, Life

from unmask.schemas.scope import Scope

__all__ = ["Event", "Faults", "Host", "Logged", "World"]

SCOPES = (SCOPE, Scope("r2", *SCOPE[1:]))
_CAPABILITIES = ("search", "index")
_SIGNATURES = ("HTTP_503", "HTTP_404", "TIMEOUT_5000ms", "RATE_LIMITED")
_APPEALS = ("appealed", "vindicated")


@dataclass(frozen=True)
class Faults:
    """How much of each kind goes wrong; shares of batches unless they say otherwise."""

    lost: float = 0.1
    late: float = 0.1
    very_late: float = 0.02
    twice: float = 0.1
    garbled: float = 0.03
    dropped: float = 0.1
    """Share of cuts before which a host drops events."""
    skewed: float = 0.2
    """Share of hosts with a wrong clock."""
    dies: float = 0.3
    """Share of hosts that stop without closing."""
    twins: float = 0.0
    """Share of hosts of which another life claims to be."""
    heals: bool = False
    """Whether everything that is late or lost arrives in the end."""


class Event(NamedTuple):
    """One event that a host recorded."""

    family: str
    scope: Scope
    at: int
    """By the host's own clock."""
    seq: int
    """The batch that holds it, or tells that it was dropped."""


class Logged(NamedTuple):
    """One record of the log; `batch` None where it cannot be read."""

    arrival: int
    key: str | None
    batch: dict[str, Any] | None
    digest: int | None = None


@dataclass
class Host:
    """An emitter, its wrong clock, and what became of its batches."""

    life: Life
    partition: int
    offset: int
    """How far its clock is ahead; microseconds."""
    last_cut: int
    ends_at: int
    closes: bool
    events: list[Event] = field(default_factory=list)
    uncut: list[tuple[str, int]] = field(default_factory=list)
    lost: list[dict[str, Any]] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    over: bool = False
    runs: int = 0

    @property
    def ahead(self) -> bool:
        """Whether its clock is so far ahead that the broker's counts."""
        return self.offset > 4 * MINUTE


class World:
    """Hosts and the log of each partition. `step` lets time go on."""

    def __init__(self, seed: int, faults: Faults, hosts: int = 5, partitions: int = 2) -> None:
        self.random = Random(seed)
        self.faults = faults
        self.now = T0
        self.partitions = partitions
        self.log: dict[int, list[Logged]] = {partition: [] for partition in range(partitions)}
        self.hosts: list[Host] = []
        self._flying: list[tuple[int, int, Host, dict[str, Any] | None]] = []
        self._launched = 0
        self._sessions = 0
        self._wanted = hosts

    # What happens.

    def step(self) -> None:
        """Some seconds go by; each host may record, cut, end; batches arrive."""
        pick = self.random
        self.now += pick.choice((SECOND, 3 * SECOND, 9 * SECOND, 20 * SECOND)) + pick.randrange(SECOND)
        if pick.random() < 0.03:
            self.now += pick.randrange(20 * MINUTE)
        if self._wanted and (not self.hosts or pick.random() < 0.15):
            self._wanted -= 1
            self._start()
        for host in self.hosts:
            if not host.over:
                self._live(host)
        self._land()

    def settle(self) -> None:
        """The end: soon, or where all is to heal, when everything has arrived."""
        if not self.faults.heals:
            self.now += self.random.choice((SECOND, 25 * SECOND, 40 * SECOND, 90 * SECOND, 50 * MINUTE))
            self._land()
            return
        for host in self.hosts:
            for batch in host.lost:
                self._launch(host, batch, self.random.randrange(MINUTE))
            host.lost = []
        for pause in (MINUTE, MINUTE, 45 * MINUTE):
            self.now += pause
            self._land()

    def _start(self) -> None:
        pick = self.random
        offset = 0
        if pick.random() < self.faults.skewed:
            offset = pick.choice((-10 * MINUTE, -20 * SECOND, 2 * MINUTE, 290 * SECOND, 310 * SECOND, 90 * MINUTE))
        number = len(self.hosts)
        started = self.now + offset
        life = Life(f"emitter-{number}", started, SCOPES[number % 2], heartbeat_ms=10_000)
        host = Host(
            life, number % self.partitions, offset, started,
            ends_at=self.now + pick.randrange(MINUTE, 40 * MINUTE), closes=pick.random() >= self.faults.dies,
        )  # fmt: skip
        self.hosts.append(host)
        self._cut(host)
        if pick.random() < self.faults.twins:
            self._twin(host)

    def _twin(self, host: Host) -> None:
        """Another life under the same id: a copy that begins as the host did, or one that says otherwise."""
        pick = self.random
        life, twin = host.life, pick.choice(("copy", "later", "other scope"))
        other = Life(life.emitter_id, life.started_at, life.scope, heartbeat_ms=life.heartbeat_ms)
        if twin == "later":
            other.started_at += pick.randrange(1, MINUTE)
        elif twin == "other scope":
            other.scope = SCOPES[1] if life.scope == SCOPES[0] else SCOPES[0]
        begins = max(host.last_cut, other.started_at)
        self.hosts.append(Host(other, host.partition, host.offset, begins, ends_at=host.ends_at, closes=host.closes))

    def _live(self, host: Host) -> None:
        pick = self.random
        for _ in range(pick.choice((0, 0, 1, 2, 5))):
            self._record(host)
        if pick.random() < self.faults.dropped / 2:
            self._drop(host)
        due = self.now + host.offset - host.last_cut >= host.life.heartbeat_ms * 1000
        if self.now >= host.ends_at:
            host.over = True
            if host.closes:
                self._cut(host, closing=True)
        elif due or pick.random() < 0.4:
            self._cut(host)

    def _record(self, host: Host) -> None:
        pick, life = self.random, host.life
        at = self._moment(host)
        what = pick.choice(("attempt", "attempt", "attempt", "fallback", "masked", "session", "end", "work", "work"))
        family = None
        if what == "attempt":
            life.attempt(at, capability=pick.choice(_CAPABILITIES))
            family = "route_attempt"
        elif what == "fallback":
            session = pick.choice([None, *host.sessions])
            operation = pick.choice((None, f"op-{pick.randrange(5)}")) if session else None
            life.fallback(at, session_id=session, operation_id=operation, capability=pick.choice(_CAPABILITIES))
            family = "kernel_fallback"
        elif what == "masked" and host.sessions:
            life.masked(
                at, session_id=pick.choice(host.sessions), operation_id=f"op-{pick.randrange(5)}",
                masked_upstream_signature=pick.choice(_SIGNATURES),
                equivalence=pick.choice(("bit_for_bit", "unproven")),
            )  # fmt: skip
            family = "masked_error"
        elif what == "work" and host.sessions:
            self._work(host, at)
        elif what == "session":
            self._open(host, at)
        elif what == "end" and host.sessions:
            # It comes after all that other hosts told of it so far.
            at = self.now if host.offset == 0 else at
            self._end(host, at)
            family = "session_teardown"
        if family is not None:
            host.uncut.append((family, at))

    def _work(self, host: Host, at: int) -> None:
        """A selection, calls of a delegation, or an effect of one. With the first of a kind the host witnesses it."""
        pick, life = self.random, host.life
        session = pick.choice(host.sessions)
        if pick.random() < 0.1:
            host.runs += 1
        # Once in a while two hosts claim one run.
        run = "run-of-all" if pick.random() < 0.3 else f"{life.emitter_id}-run-{host.runs}"
        common = {"delegation_id": f"delegation-{pick.randrange(2)}", "invocation_id": run, "turn": pick.randrange(4)}
        family = pick.choice(("route_selection", "delegation_progress", "delegation_effect", "delegation_effect"))
        before = len(life.pending)
        if family not in life.witnesses:
            life.witnesses += (family,)
        if family == "route_selection":
            life.select(
                at, session, turn=pick.randrange(4), profile=f"profile-{pick.randrange(3)}",
                source=pick.choice(("user", "auto")), timeline=pick.choice(("live", "persisted", "cleared")),
                expires_at=pick.choice((None, at + MINUTE)),
            )  # fmt: skip
        elif family == "delegation_progress":
            signal, states = pick.choice((None, "tests", "tests", "lint")), pick.choice((1, 1, 3))
            for _ in range(pick.choice((1, 2, 12))):
                life.progress(
                    at, session, **common, outcome=pick.choice(("succeeded",) * 6 + ("failed", "refused")),
                    attempt=pick.randrange(1, 4), signal=signal, state_digest=f"state-{pick.randrange(states)}",
                    measure=pick.choice((None,) * 9 + (5,)), conditions=pick.choice((None,) * 9 + ("c-1",)),
                    budget_calls=pick.choice((None, 3, 9)),
                )  # fmt: skip
        else:
            life.effect(
                at, pick.choice(("granted", "committed", "committed", "released", "refused", "refused", *_APPEALS)),
                session, **common, enforcer=pick.choice((None, "gate", "effects")),
                effect_key=pick.choice((None, "key-1", "key-2")), fencing_token=pick.choice((None, 1, 2)),
                receipt=pick.choice((None, "receipt-1", "receipt-2")),
            )  # fmt: skip
        host.uncut += [(family, at)] * (len(life.pending) - before)

    def _open(self, host: Host, at: int) -> None:
        # A session is shared only by hosts whose clocks agree, or its beginning and end have no order.
        others = [h for h in self.hosts if h.offset == host.offset == 0 and h is not host and h.sessions and not h.over]
        others = [h for h in others if h.partition == host.partition]
        if others and self.random.random() < 0.5:
            session = self.random.choice(self.random.choice(others).sessions)
            if session in host.sessions:
                return
        else:
            self._sessions += 1
            session = f"session-{self._sessions}"
        host.life.open(at, session, predecessor="session-0" if self.random.random() < 0.5 else None)
        host.sessions.append(session)

    def _end(self, host: Host, at: int) -> None:
        session = self.random.choice(host.sessions)
        host.life.tear_down(at, session)
        for other in self.hosts:
            if session in other.sessions:
                other.sessions.remove(session)

    def _drop(self, host: Host) -> None:
        told = ("route_attempt", "kernel_fallback", "masked_error", *host.life.witnesses)
        family = self.random.choice(told)
        host.life.drop(family)
        host.events.append(Event(family, host.life.scope, self._moment(host), host.life.seq + 1))

    def _moment(self, host: Host) -> int:
        """A moment since the last cut, by the host's clock."""
        until = self.now + host.offset
        return self.random.randrange(host.last_cut + 1, until + 1) if until > host.last_cut else until

    def _cut(self, host: Host, *, closing: bool = False) -> None:
        pick, faults = self.random, self.faults
        sent = max(host.last_cut + 1, self.now + host.offset)
        batch = host.life.cut(sent, closing=closing)
        host.last_cut = sent
        host.events += [Event(family, host.life.scope, at, batch["batch_seq"]) for family, at in host.uncut]
        host.uncut = []
        fate = pick.random()
        if fate < faults.lost:
            host.lost.append(batch)
            if pick.random() < 0.4 and not faults.heals:
                host.life.give_up(batch)
        elif fate < faults.lost + faults.late:
            self._launch(host, batch, pick.randrange(5 * MINUTE))
        elif fate < faults.lost + faults.late + faults.very_late:
            self._launch(host, batch, pick.randrange(40 * MINUTE))
        elif fate < faults.lost + faults.late + faults.very_late + faults.garbled:
            self._launch(host, None, 0)
            host.lost.append(batch)
        else:
            self._launch(host, batch, 0)
        if pick.random() < faults.twice:
            self._launch(host, batch, pick.randrange(20 * MINUTE))

    def _launch(self, host: Host, batch: dict[str, Any] | None, delay: int) -> None:
        self._launched += 1
        self._flying.append((self.now + delay, self._launched, host, batch))

    def _land(self) -> None:
        due = sorted((flight for flight in self._flying if flight[0] <= self.now), key=lambda flight: flight[:2])
        self._flying = [flight for flight in self._flying if flight[0] > self.now]
        for _, _, host, batch in due:
            key = None if batch is None and self.random.random() < 0.3 else host.life.emitter_id
            digest = None if batch is None else crc32(repr(batch).encode())
            self.log[host.partition].append(Logged(self.now, key, batch, digest))
