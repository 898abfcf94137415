"""The emitter: what a host calls. Every record call returns at once, never raises, never changes routing.

A record call reads the clock, counts and leaves a tuple; everything else happens in the background thread.
"""

from collections.abc import Iterable
from itertools import count
from os import getpid
from time import monotonic, sleep, time_ns
from typing import TYPE_CHECKING

from unmask.producers import fork
from unmask.producers.bell import Bell
from unmask.producers.buffer import Lane, RawEvent
from unmask.producers.claims import SessionClaims
from unmask.producers.classify import classify_upstream
from unmask.producers.classify_reason import classify_refusal
from unmask.producers.custody import Clock
from unmask.producers.framer import Framer
from unmask.producers.further import FurtherRecords
from unmask.producers.life import EmitterLife
from unmask.producers.marks import cause_of
from unmask.producers.outbox import adopter_for, stores_for
from unmask.producers.payloads import KnownPayloads
from unmask.producers.published import identifier, optional_identifier
from unmask.producers.report import Counts, DeliveryReport, Health
from unmask.producers.seen import SeenPairs
from unmask.producers.session import Session
from unmask.producers.settings import EmitterSettings
from unmask.producers.store import Stores
from unmask.producers.transport import KafkaTransport
from unmask.producers.worker import Worker
from unmask.schemas.codes import Equivalence, Family
from unmask.schemas.tokens import is_token

if TYPE_CHECKING:
    from unmask.producers.delegation import Delegation, Keeper, Signal
    from unmask.schemas.breaker import Budget

__all__ = ["Emitter"]

# Waiting is done by looking: an Event or a join could lock out a signal handler that calls close() too.
_LOOK = 0.002
_UNPROVEN = Equivalence.UNPROVEN.value
_EQUIVALENCES = {member.value: member.value for member in Equivalence}


class Emitter(FurtherRecords):
    """Publishes what a host falls back from. One per process is enough; it implements FallbackTelemetrySink.

    Raises NoBroker, UnsafeClientOption, InvalidSettings and RegistryClientMissing when it is made; nothing after that.
    `clock` gives nanoseconds since the epoch, `stores` makes what keeps batches until they are acknowledged (by default
    as the settings say). The emitter lives until close() or the end of the process, and begins anew in a forked child.
    """

    wired = True
    _keeper: "Keeper | None" = None

    def __init__(
        self, settings: EmitterSettings | None = None, *, clock: Clock = time_ns, stores: Stores | None = None
    ) -> None:
        self._settings = settings if settings is not None else EmitterSettings.from_environment()
        self._clock = clock
        self._stores = stores or stores_for(self._settings)
        self._begin_life(Framer.from_environment())
        # Made here and not in the background, so that settings that cannot work are the caller's to see.
        self._worker.transport = self._connect(None)
        self._life.open()
        self._life.cut()
        self._start(opened=True)
        fork.watch(self)

    def _begin_life(self, framer: Framer) -> None:
        self._process = getpid()
        self._life = life = EmitterLife(self._settings, self._clock, self._stores, framer)
        self._bell = Bell()
        adopter = adopter_for(self._settings, self._clock, framer.encode, life.emitter_id)
        self._worker = Worker(life, self._bell, self._connect, adopter)
        self._lane_attempt, self._lane_fallback, self._lane_masked, self._lane_teardown, *further = life.buffer.lanes
        self._lane_selection, self._lane_progress, self._lane_effect = further
        self._seen = SeenPairs()
        self._payloads = KnownPayloads()
        self._sessions: dict[str, SessionClaims] = {}
        self._operations = count(1)
        self._deadline: float | None = None
        self._starts: dict[str, object] = {}
        self._limit = 0
        """Events a lane takes on the short way: none until the thread runs, and none once the emitter is closed."""

    def _connect(self, partition: int | None) -> KafkaTransport:
        return KafkaTransport(self._settings, self._life.emitter_id, self._life, partition)

    def _start(self, *, opened: bool = False) -> None:
        mark = object()
        if self._starts.setdefault("thread", mark) is not mark:
            return
        try:
            if not opened:
                # Before the first event, so that none is ever uncounted.
                self._life.open()
            self._worker.start()
        except Exception:
            self._life.internal_errors.add()
            self._starts.clear()
            return
        self._limit = self._settings.buffer_limit
        fork.close_with_multiprocessing()

    @property
    def emitter_id(self) -> str:
        """The random id of this life; another one in a forked child."""
        return self._life.emitter_id

    @property
    def settings(self) -> EmitterSettings:
        """What it was made with."""
        return self._settings

    # -- record calls

    def record_route_attempt(self, capability: str, entry_point: str = "-", run_id: str | None = None) -> None:
        """A request entered `capability`."""
        try:
            lane = self._lane_attempt
            now = self._clock()
            if len(lane.events) < self._limit:
                lane.newest[0] = now
                try:
                    lane.count()
                except ValueError:
                    lane.count_on()
                lane.events.append((now, capability, entry_point, run_id))
            else:
                self._record(lane, (now, capability, entry_point, run_id))
        except Exception:
            self._refuse(self._lane_attempt)

    def record_fallback(
        self,
        capability: str,
        reason: object,
        *,
        entry_point: str | None = None,
        run_id: str | None = None,
        tenant_id: str | None = None,
        conversation_id: str | None = None,
        session_id: str | None = None,
        operation_id: str | None = None,
    ) -> None:
        """The legacy route answered `capability`. `reason` may be an exception, a status, a text or a code.

        A rollback or a pin records nothing, nor does the second report of the same operation of the same session.
        """
        lane = self._lane_fallback
        try:
            now = self._clock()
            code = classify_refusal(reason)
            if code is None:
                return
            session = operation = claims = None
            if operation_id is not None:
                token = type(operation_id) is str and is_token(operation_id)
                operation = operation_id if token else optional_identifier(operation_id)
            if session_id is not None:
                if type(session_id) is str and (claims := self._sessions.get(session_id)) is not None:
                    # It is open under this very name, which is therefore the one that is published.
                    session = session_id
                elif (session := optional_identifier(session_id)) is not None:
                    claims = self._sessions.get(session)
                if session is not None and operation is not None and not self._seen.first(session, operation):
                    return
                if claims is not None:
                    claims.fallback(operation)
            # Texts only, as with attempts: what the garbage collector has seen once it need not go through again.
            event = (now, capability, code._value_, entry_point, run_id, tenant_id, conversation_id, session, operation)
            if len(lane.events) < self._limit:
                lane.newest[0] = now
                try:
                    lane.count()
                except ValueError:
                    lane.count_on()
                lane.events.append(event)
            else:
                self._record(lane, event)
        except Exception:
            self._refuse(lane)
            return
        self._bell.ring()

    def record_masked_error(
        self,
        session_id: str,
        operation_id: str,
        upstream: str,
        error_or_signature: object,
        receipt: str,
        *,
        equivalence: str = Equivalence.UNPROVEN,
        answered_by: str | None = None,
        primary_shape: str | None = None,
        fallback_shape: str | None = None,
    ) -> None:
        """`upstream` failed and a substitute answered, which `receipt` names.

        Where `answered_by` is `upstream` itself the call was a retry, and where the pair is a documented primary path
        of the session it was meant so; both record nothing. Without an error (None) it is, inside of the session, what
        is being handled or was swallowed there, as far as that is certain.
        """
        lane = self._lane_masked
        try:
            now = self._clock()
            if answered_by is not None and answered_by == upstream:
                return
            session, operation = identifier(session_id), identifier(operation_id)
            claims = self._sessions.get(session)
            if claims is not None:
                if answered_by is not None and (upstream, answered_by) in claims.primary_paths:
                    return
                claims.masked(operation)
            if error_or_signature is None and claims is not None:
                signature = cause_of(claims, upstream, operation)
            else:
                signature = classify_upstream(error_or_signature)
            proof = _EQUIVALENCES.get(equivalence, _UNPROVEN)
            event = (now, session, operation, upstream, signature, receipt, proof, primary_shape, fallback_shape)
        except Exception:
            self._refuse(lane)
            return
        self._record(lane, event)
        self._bell.ring()

    def session(
        self,
        session_id: str,
        predecessor: str | None = None,
        *,
        primary_paths: Iterable[tuple[str, str]] = (),
        trace: bool = True,
        bystanders: Iterable[str] = (),
    ) -> Session:
        """A session of work, as a context: opened on entry, torn down with its outcome on exit.

        `predecessor` is the session whose work it continues. `primary_paths` are (upstream, substitute) pairs whose
        use is documented as the primary path, for example a cache that is asked first. With `trace` the log calls in
        it are listened to for errors that were swallowed; those of `bystanders`, loggers and packages by their dotted
        names, are never an upstream's.
        """
        paths: frozenset[tuple[str, str]] = frozenset()
        others: frozenset[str] = frozenset()
        try:
            paths = frozenset((upstream, substitute) for upstream, substitute in primary_paths)
            others = frozenset(str(name) for name in bystanders)
        except Exception:
            self._life.internal_errors.add()
        return Session(self, session_id, predecessor, paths, trace=trace, bystanders=others)

    def delegation(
        self,
        delegation_id: str,
        *,
        budget: "Budget | None" = None,
        scope: str | None = None,
        session: Session | str | None = None,
        signal: "Signal | str | None" = None,
        trip_after: int | None = None,
    ) -> "Delegation":
        """Work that is handed to an agent, as a context; each `with` is one invocation of it.

        `budget` holds over all invocations, and of several the smaller one; `scope` is what the delegation is given to
        do, as a token. It works in `session`, by default in the one that the code runs in, or else in one of its own
        id. `signal` tells whether anything changes; after `trip_after` successful calls that change nothing (8 by
        default) the progress breaker trips. Raises TypeError and ValueError for what is no budget and no number.
        """
        # Imported here: a host without delegations pays nothing for them.
        from unmask.producers.delegation import Delegation, Keeper, book_below

        keeper = self._keeper
        if keeper is None:
            made = Keeper(book_below(self._settings.outbox), self.note_fault)
            # One step of the interpreter: of several threads one makes the keeper of all.
            keeper = self.__dict__.setdefault("_keeper", made)
        return Delegation(
            self, keeper, delegation_id, budget=budget, scope=scope, session=session, signal=signal,
            trip_after=trip_after,
        )  # fmt: skip

    # -- sessions; called by Session

    def open_session(
        self, session_id: object, predecessor: object, primary_paths: frozenset[tuple[str, str]]
    ) -> SessionClaims:
        """The claims of a session that begins here, or that another layer of this host has begun already."""
        fresh = SessionClaims(identifier(session_id), primary_paths)
        claims = self._sessions.setdefault(fresh.session_id, fresh)
        claims.holders.add()
        if claims is fresh:
            self._record(self._life.buffer.openings, (self._clock(), fresh.session_id, predecessor))
        else:
            claims.primary_paths |= primary_paths
        return claims

    def close_session(self, claims: SessionClaims) -> None:
        """A layer leaves the session; the last one tears it down."""
        claims.released.add()
        if claims.released.value < claims.holders.value or self._sessions.get(claims.session_id) is not claims:
            return
        if self._sessions.pop(claims.session_id, None) is not claims:
            return
        self._record(self._lane_teardown, (self._clock(), claims.teardown()))
        self._bell.ring()

    @property
    def payloads(self) -> KnownPayloads:
        """What primaries last delivered, in this life."""
        return self._payloads

    def teardowns_lost(self) -> int | None:
        """Teardowns that were dropped so far; None where that cannot be told without waiting."""
        lock = self._life.lock
        if not lock.acquire(blocking=False):
            return None
        try:
            return self._life.counts()[Family.SESSION_TEARDOWN].lost
        except Exception:
            self.note_fault()
            return None
        finally:
            lock.release()

    def new_operation_id(self) -> str:
        """An id that no other operation of any emitter has."""
        return f"op-{self._life.emitter_id[:12]}-{next(self._operations)}"

    def note_fault(self) -> None:
        """Something inside the SDK failed and was kept from the host."""
        self._life.internal_errors.add()

    # -- diagnostics and the end

    def counts(self) -> Counts:
        """What became of everything recorded so far, per family."""
        return self._life.counts()

    def health(self) -> Health:
        """How the way to the broker is."""
        life, worker = self._life, self._worker
        return Health(
            emitter_id=life.emitter_id,
            running=bool(self._starts) and not worker.finished,
            partition=life.partition,
            problem=worker.problem,
            batches_cut=life.batches_cut,
            batches_delivered=life.batches_delivered,
            batches_unacknowledged=life.unacknowledged(),
            redeliveries=life.redeliveries,
            openings_dropped=life.openings_dropped,
            outbox=life.outbox_health(),
            outboxes_adopted=0 if worker.adopter is None else worker.adopter.finished,
            adopting=None if worker.adopter is None else worker.adopter.adopting,
            internal_errors=life.internal_errors.value,
        )

    def flush(self, timeout: float = 5.0) -> bool:
        """Cut now and wait at most `timeout` seconds until nothing recorded before is pending; whether that is so."""
        life, worker = self._life, self._worker
        if not self._starts or life.settled:
            return not any(count.pending for count in life.counts().families.values())
        worker.flushes.add()
        ticket = worker.flushes.value
        self._bell.ring()
        deadline = monotonic() + timeout
        while True:
            asked, through = worker.flushed
            if asked >= ticket and life.delivered_through(through):
                return True
            if monotonic() >= deadline or worker.finished:
                return False
            sleep(_LOOK)

    def close(self, timeout: float | None = None) -> DeliveryReport:
        """Send what is left and the closing batch, wait at most `timeout` seconds, and report what became of it all.

        What is undelivered then stays in the outbox, for the next start on this host; without an outbox it is dropped
        and counted. Later record calls do nothing but count. May be called again.
        """
        self.finish_closing(self.begin_closing(timeout))
        return self._life.report()

    def begin_closing(self, timeout: float | None = None) -> float:
        """Start to close; the deadline in monotonic seconds. Sessions that are still open stay without teardown."""
        if self._deadline is None:
            seconds = self._settings.close_timeout_ms / 1000 if timeout is None else timeout
            self._deadline = monotonic() + max(seconds, 0.0)
            self._limit = 0
            if self._starts:
                self._worker.close_by(self._deadline)
        return self._deadline

    def finish_closing(self, deadline: float) -> None:
        """Wait for the end of closing until the deadline, then settle."""
        while self._starts and not self._worker.finished and monotonic() < deadline:
            sleep(_LOOK)
        self._life.settle()
        fork.forget(self)

    def before_fork(self) -> None:
        """Have record calls go the long way: in the child they must not count on the parent's page.

        Waits for a client that makes its first connections at this moment, for a third of a second at most.
        """
        self._limit = 0
        while self._starts and not self._worker.client_settled(monotonic()):
            sleep(_LOOK)

    def after_fork(self) -> None:
        """This is the parent: record calls go the short way again."""
        if self._starts and self._deadline is None:
            self._limit = self._settings.buffer_limit

    def begin_anew(self) -> None:
        """The process is a forked child: a new life with empty buffers, which starts with its first record.

        What the parent recorded is the parent's to send, and its client is never touched here.
        """
        if self._process == getpid():
            if self._life.buffer.waiting():
                self._start()
            return
        inherited = self._worker
        if inherited.transport is not None:
            fork.keep_for_ever(inherited.transport.producer)
        self._life.abandon()
        if inherited.adopter is not None:
            inherited.adopter.abandon()
        self._begin_life(self._life.framer.anew())

    def _record(self, lane: Lane, event: RawEvent) -> None:
        if len(lane.events) >= self._limit:
            admitting = self._admitting(lane)
            if admitting is None:
                return
            lane = admitting
        try:
            lane.newest[0] = event[0]
        except Exception:
            # A clock of the host's own that is no clock; the event itself is refused when it is cut.
            self._life.internal_errors.add()
        try:
            lane.count()
        except ValueError:
            lane.count_on()
        lane.events.append(event)

    # -- the long way of a record call

    def _admitting(self, lane: Lane) -> Lane | None:
        """The lane that takes an event which came for `lane`; None where it is dropped, and counted."""
        if not self._limit:
            if self._process != getpid():
                # A forked child in which somebody records before this emitter was told of the fork. No thread yet.
                self.begin_anew()
                lane = self._lane_of(lane)
            elif self._deadline is None:
                self._start()
        if self._deadline is not None:
            lane.drop(lane.late)
            return None
        if len(lane.events) >= self._settings.buffer_limit:
            lane.drop(lane.full)
            return None
        return lane

    def _lane_of(self, inherited: Lane) -> Lane:
        """This life's lane for the same family as one of another life."""
        lanes = (*self._life.buffer.lanes, self._life.buffer.openings)
        return next(lane for lane in lanes if lane.family is inherited.family)

    def _refuse(self, lane: Lane) -> None:
        # Reading what the caller handed in failed, for example an identifier whose text cannot be had.
        lane.drop(lane.invalid)
        self._life.internal_errors.add()
