"""The intake as a state machine: the bytes of a log are read, folded, committed, lost in crashes and handed over.

Beside it stands the reference, which counts the log from scratch, and a book of what the hosts recorded. Hypothesis
chooses the steps, and finds the shortest way to a difference.
"""

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.property.streams.ledger.reader import FAMILIES, TableReader, counts_of, flaws_of
from tests.property.streams.ledger.reference import EVENTS, WORK, Reference
from tests.property.streams.ledger.worker import Worker
from tests.property.streams.ledger.world import Logged
from tests.unit.streams.ledger.emitting import MINUTE, SCOPE, SECOND, T0, Life

from unmask.schemas.codec import encode
from unmask.schemas.errors import DecodeError
from unmask.schemas.topics import Topics
from unmask.streams.ledger.fold import fold_batch, fold_unreadable
from unmask.streams.ledger.intake import Intake
from unmask.streams.ledger.rules import FoldRules

TOPICS = Topics("ns", events_partitions=1, table_partitions=2)
RULES = FoldRules(window_seconds=(60, 300), horizon_us=600 * SECOND, write_off_us=20 * SECOND)
_MOST_HOSTS = 3
_SKEWS = (0, 0, 0, -20 * SECOND, 290 * SECOND, 90 * MINUTE)
_PAUSES = (SECOND, 9 * SECOND, 40 * SECOND, 6 * MINUTE, 30 * MINUTE)
_RECORDED = tuple(family for family in FAMILIES if family != "session_teardown")
_GARBLED = b"\xc3\x01 no batch"
picks = st.integers(0, 1_000)


class RawWorker(Worker):
    """A worker that reads bytes, as they come from Kafka, through the intake."""

    def __init__(self, log: list[Logged], raw: list[tuple[bytes, bytes]]) -> None:
        self.raw = raw
        super().__init__(0, TOPICS, RULES, log)

    def _begin(self) -> None:
        super()._begin()
        self._intake = Intake()

    def read(self, n: int) -> None:
        """Decodes and folds up to n records."""
        state = self.state
        for offset in range(state.next_offset, min(len(self.raw), state.next_offset + n)):
            arrival = self.log[offset].arrival
            try:
                batch = self._intake.read(*self.raw[offset])
            except DecodeError:
                fold_unreadable(state, self.rules, offset, arrival, self._entry(offset, self.log[offset]))
            else:
                fold_batch(state, self.rules, offset, arrival, batch)


class Host:
    """An emitter with its clock, and its batches that have not arrived yet."""

    def __init__(self, number: int, now: int, skew: int) -> None:
        self.skew = skew
        self.life = Life(f"emitter-{number}", now + skew, SCOPE)
        self.last_cut = now + skew
        self.flying: list[dict[str, Any]] = []
        self.arrived: list[dict[str, Any]] = []
        self.closed = False

    def cut(self, now: int, *, closing: bool = False) -> None:
        """The next batch, which is on its way then."""
        self.last_cut = max(self.last_cut + 1, now + self.skew)
        self.flying.append(self.life.cut(self.last_cut, closing=closing))
        self.closed = closing

    def moment(self, now: int, pick: int) -> int:
        """An instant of its own clock since its last cut."""
        return self.last_cut + 1 + pick % max(1, now + self.skew - self.last_cut)


class IntakeMachine(RuleBasedStateMachine):
    """One partition with its hosts, and the ledger of it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = T0
        self.log: list[Logged] = []
        self.raw: list[tuple[bytes, bytes]] = []
        self.hosts: list[Host] = []
        self.worker = RawWorker(self.log, self.raw)
        self.tables = [TableReader(TOPICS.events_partitions) for _ in range(TOPICS.table_partitions)]
        self._shown = 0

    # The hosts, and what the network does.

    @initialize(skew=st.sampled_from(_SKEWS))
    def begin(self, skew: int) -> None:
        self.start(skew)

    @precondition(lambda self: len(self.hosts) < _MOST_HOSTS)
    @rule(skew=st.sampled_from(_SKEWS))
    def start(self, skew: int) -> None:
        host = Host(len(self.hosts), self.now, skew)
        host.cut(self.now)
        self.hosts.append(host)

    @rule(pick=picks, family=st.sampled_from(_RECORDED), n=st.integers(1, 15))
    def record(self, pick: int, family: str, n: int) -> None:
        host = self._host(pick)
        if host.closed:
            return
        for _ in range(n):
            at = host.moment(self.now, pick)
            if family == "route_attempt":
                host.life.attempt(at)
            elif family == "kernel_fallback":
                host.life.fallback(at)
            elif family == "masked_error":
                host.life.masked(at, operation_id=f"op-{pick}")
            elif family == "route_selection":
                host.life.select(at)
            elif family == "delegation_progress":
                host.life.progress(at, state_digest=f"state-{pick % 3}")
            else:
                host.life.effect(at, "refused")
        if family in WORK and family not in host.life.witnesses:
            host.life.witnesses += (family,)

    @rule(pick=picks)
    def drop(self, pick: int) -> None:
        if not (host := self._host(pick)).closed:
            host.life.drop("route_attempt")

    @rule(pick=picks, closing=st.sampled_from((False, False, False, True)))
    def cut(self, pick: int, closing: bool) -> None:
        if not (host := self._host(pick)).closed:
            host.cut(self.now, closing=closing)

    @rule(pick=picks, other=picks)
    def deliver(self, pick: int, other: int) -> None:
        """Any of those on their way: batches overtake one another."""
        host = self._host(pick)
        if host.flying:
            self._arrive(host, host.flying.pop(other % len(host.flying)))

    @rule(pick=picks, other=picks)
    def deliver_again(self, pick: int, other: int) -> None:
        host = self._host(pick)
        if host.arrived:
            self._log(host, host.arrived[other % len(host.arrived)])

    @rule(pick=picks, other=picks)
    def deliver_other_content(self, pick: int, other: int) -> None:
        """A number that was read comes again, and is not the same batch."""
        host = self._host(pick)
        if host.arrived:
            batch = host.arrived[other % len(host.arrived)]
            self._log(host, batch | {"sent_at": batch["sent_at"] + 1})

    @rule(pick=picks, other=picks)
    def deliver_another_life(self, pick: int, other: int) -> None:
        """Somebody else claims to be the host, with a number that may come only later."""
        host = self._host(pick)
        if host.arrived:
            batch = host.arrived[other % len(host.arrived)]
            emitter = batch["emitter"] | {"started_at": batch["emitter"]["started_at"] + 1}
            self._log(host, batch | {"emitter": emitter, "batch_seq": batch["batch_seq"] + other % 3})

    @rule(pick=picks, other=picks)
    def give_up(self, pick: int, other: int) -> None:
        """A batch is lost for good, and later accounts say so."""
        host = self._host(pick)
        if host.flying and not host.closed:
            host.life.give_up(host.flying.pop(other % len(host.flying)))

    @rule(pick=picks)
    def garble(self, pick: int) -> None:
        key = self._host(pick).life.emitter_id
        self.log.append(Logged(self.now, key, None))
        self.raw.append((key.encode(), _GARBLED))

    @rule(pause=st.sampled_from(_PAUSES))
    def wait(self, pause: int) -> None:
        self.now += pause

    # The ledger.

    @rule(n=st.sampled_from((1, 2, 100)))
    def read(self, n: int) -> None:
        self.worker.read(n)

    @rule(mark=st.booleans())
    def commit(self, mark: bool) -> None:
        self.worker.commit(mark=mark)

    @rule(after=st.integers(0, 60), mark=st.booleans())
    def crash(self, after: int, mark: bool) -> None:
        """At any record of a transaction; the next one goes on from what is committed."""
        self.worker.crash(after=after, mark=mark)

    @rule()
    def hand_over(self) -> None:
        self.worker.move()

    @rule()
    def look(self) -> None:
        """All is read, told and committed: it must be what the log proves."""
        self.worker.read(len(self.log))
        # Time that has not gone on tells nothing new.
        self.now += 1
        self.worker.advance(self.now)
        self.worker.commit(mark=True)
        self._show()
        model = Reference(self.log, RULES, self.worker.state.read_through)
        assert counts_of(self.tables) == model.counts
        assert flaws_of(self.tables) == model.flaws

    @invariant()
    def nothing_is_ever_counted_twice(self) -> None:
        self._show()
        assert self._counted() <= self._arrived()

    def teardown(self) -> None:
        """Everything arrives in the end, and is counted; what was dropped or given up is told of."""
        for host in self.hosts:
            while host.flying:
                self._arrive(host, host.flying.pop())
        self.look()
        assert self._counted() == self._arrived()

    # --

    def _host(self, pick: int) -> Host:
        return self.hosts[pick % len(self.hosts)]

    def _arrive(self, host: Host, batch: dict[str, Any]) -> None:
        host.arrived.append(batch)
        self._log(host, batch)

    def _log(self, host: Host, batch: dict[str, Any]) -> None:
        key = host.life.emitter_id
        self.log.append(Logged(self.now, key, batch))
        self.raw.append((key.encode(), encode("event_batch", batch)))

    def _show(self) -> None:
        """A reader of committed records reads on."""
        published, self._shown = self.worker.published[self._shown :], len(self.worker.published)
        for record, _, committed in published:
            if committed and record.topic == TOPICS.tallies.name:
                self.tables[record.partition].read(record.key, record.value)

    def _counted(self) -> Counter[str]:
        counted: Counter[str] = Counter()
        for table in self.tables:
            for tally in table.tallies.values():
                if tally["window_seconds"] == 0 and tally["measure"] in FAMILIES:
                    counted[tally["measure"]] += tally["count"]
        return counted

    def _arrived(self) -> Counter[str]:
        """Events in the batches that arrived, each batch once."""
        arrived: Counter[str] = Counter()
        for host in self.hosts:
            for batch in host.arrived:
                arrived["route_attempt"] += sum(len(group["occurred_at"]) for group in batch["route_attempts"])
                for family, name in EVENTS.items():
                    arrived[family] += len(batch[name])
        return +arrived


TestIntakeMachine = IntakeMachine.TestCase
TestIntakeMachine.settings = settings(
    max_examples=40, stateful_step_count=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
