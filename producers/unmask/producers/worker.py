"""The background thread of one life: decides when to cut, sends what was cut, and ends with the closing batch."""

import threading
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from unmask.producers.bell import Bell
from unmask.producers.framer import REGISTRY_UNAVAILABLE
from unmask.producers.life import EmitterLife
from unmask.producers.tick import Tick
from unmask.producers.transport import KafkaTransport

if TYPE_CHECKING:
    from unmask.producers.outbox.adopter import Adopter

__all__ = ["Worker"]

_POLL_SOON, _POLL_LATER = 0.01, 0.1
"""Seconds between looks for delivery reports: shortly after a batch was sent, and when the broker takes its time."""
_METADATA_WAIT = 0.5
_RETRY_FIRST, _RETRY_LAST = 0.1, 2.0
_SETTLING = 0.3
"""Seconds after its start for which a fork waits until the client has made its first connections."""
_STAND_EVERY = 1.0
"""The longest time between two signs of life in an outbox."""
# Batches go out before the promised time has passed, so that a loaded host is not taken for a silent one.
_HEARTBEAT_SHARE = 0.8


class Worker:
    """Runs one life. Other threads only set `close_by`, count `flushes`, and ring the bell."""

    def __init__(
        self, life: EmitterLife, bell: Bell, connect: Callable[[int | None], KafkaTransport], adopter: "Adopter | None"
    ) -> None:
        self.transport: KafkaTransport | None = None
        self.adopter = adopter
        self.finished = False
        self.flushes = Tick()
        self.flushed = (0, 0)
        """How many flushes were asked for when it last cut for one, and the last batch of that cut."""
        self._client_problem: str | None = None
        self._registry_away = False
        self._life = life
        self._bell = bell
        self._connect = connect
        self._close_by: float | None = None
        self._closing_cut = self._ended = False
        self._urgent = False
        self._last_cut = self._last_sent = self._send_after = self._ask_after = float("-inf")
        self._retry_wait = _RETRY_FIRST
        self._started: float | None = None
        settings = life.settings
        self._flush_interval = settings.flush_interval_ms / 1000
        self._spacing = settings.urgent_spacing_ms / 1000
        self._heartbeat = settings.heartbeat_ms / 1000 * _HEARTBEAT_SHARE
        self._longest_pause = self._flush_interval if adopter is None else min(self._flush_interval, _STAND_EVERY)

    @property
    def problem(self) -> str | None:
        """What last went wrong on the way to the broker; None since the last delivery."""
        return REGISTRY_UNAVAILABLE if self._registry_away else self._client_problem

    def start(self) -> None:
        """Start the thread. A daemon: it must never keep a process alive; close() at exit gives it its time."""
        self._started = monotonic()
        if self._life.batches_cut:
            self._last_cut = monotonic()
        else:
            # A life that has not cut its opening batch yet does so in the first turn.
            self._urgent = True
        threading.Thread(target=self._run, name="unmask-emitter", daemon=True).start()

    def client_settled(self, now: float) -> bool:
        """Whether the client is past its first connections, or has had time for them (`now` in monotonic seconds)."""
        if self.finished or self._started is None or now - self._started >= _SETTLING:
            return True
        return self.transport is not None and self._life.batches_delivered > 0

    def close_by(self, deadline: float) -> None:
        """Cut the closing batch and end, at the latest at `deadline` (monotonic seconds)."""
        self._close_by = deadline
        self._bell.ring()

    def _run(self) -> None:
        try:
            while not self._ended:
                self._guarded_turn()
        finally:
            self._end()

    def _end(self) -> None:
        try:
            self._life.settle()
            self._life.release()
            if self.adopter is not None:
                self.adopter.stop()
        except Exception:
            self._life.internal_errors.add()
        finally:
            self.finished = True
            # Here, since freeing a client joins its threads, which may take a moment.
            self.transport = None

    def _guarded_turn(self) -> None:
        try:
            self._turn()
        except Exception:
            # Nothing of the SDK may reach the host. The pause keeps a lasting fault from becoming a busy loop.
            self._life.internal_errors.add()
            self._ended = self._close_by is not None and monotonic() >= self._close_by
            self._bell.wait(_RETRY_FIRST)

    def _turn(self) -> None:
        closing = self._close_by is not None
        if not closing:
            self._urgent |= self._bell.wait(self._pause(monotonic()))
            closing = self._close_by is not None
        if self._can_encode(monotonic()):
            if not closing:
                self._cut_if_due(monotonic())
            elif not self._closing_cut:
                self._closing_cut = self._life.cut(closing=True)
        # What is sent has been kept before, so that whatever happens to the process it can be sent again.
        self._life.keep()
        self._send()
        self._collect(_POLL_SOON if closing else 0)
        if closing:
            self._finish_if_done()

    def _can_encode(self, now: float) -> bool:
        if self._life.framer.ready:
            return True
        if now < self._ask_after:
            return False
        self._registry_away = not self._life.prepare()
        if not self._registry_away:
            return True
        self._ask_after = monotonic() + _RETRY_LAST
        return False

    def _pause(self, now: float) -> float:
        until = self._last_cut + self._heartbeat
        if self._urgent:
            until = self._last_cut + self._spacing
        elif self._life.buffer.waiting():
            until = min(until, self._last_cut + self._flush_interval)
        if self._life.stalled():
            until = now + _POLL_LATER
        # Attempts do not ring, so that the lanes are looked at once per interval whatever happens.
        pause = min(until - now, self._longest_pause)
        if self._life.unacknowledged() or (self.adopter is not None and self.adopter.busy(now)):
            pause = min(pause, _POLL_SOON if now - self._last_sent < 1 else _POLL_LATER)
        return max(pause, 0.0)

    def _cut_if_due(self, now: float) -> None:
        wanted = self.flushes.value
        if wanted > self.flushed[0]:
            self._cut(now)
            self.flushed = (wanted, self._life.batches_cut)
            return
        since = now - self._last_cut
        due = (
            since >= self._heartbeat
            or (self._urgent and since >= self._spacing)
            or (since >= self._flush_interval and self._life.buffer.waiting() > 0)
        )
        if due and not self._life.stalled():
            self._cut(now)

    def _cut(self, now: float) -> None:
        self._urgent = False
        self._last_cut = now
        self._life.cut()

    def _send(self) -> None:
        now = monotonic()
        if now < self._send_after or not (self._life.unacknowledged() or self.adopter is not None):
            return
        transport = self._connected()
        wait = _METADATA_WAIT if self._close_by is None else max(0.01, min(_METADATA_WAIT, self._close_by - now))
        if not transport.ready(wait):
            self._back_off()
            return
        if self._life.partition is None:
            self._life.partition = transport.partition
            self._life.keep(at_once=True)
        assert transport.partition is not None
        while transport.may_send(transport.partition) and (batch := self._life.next_to_send()) is not None:
            self._last_sent = now
            if not transport.send(batch):
                self._back_off()
                return
        if self.adopter is not None and self._close_by is None:
            sent = self.adopter.sent
            self.adopter.turn(transport, now)
            self._last_sent = now if self.adopter.sent > sent else self._last_sent

    def _connected(self) -> KafkaTransport:
        if self.transport is not None and self.transport.broken:
            broken, self.transport = self.transport, None
            broken.close()
        if self.transport is None:
            self.transport = self._connect(self._life.partition)
        return self.transport

    def _collect(self, seconds: float) -> None:
        transport = self.transport
        if transport is None:
            return
        delivered, returned = self._life.batches_delivered, self._life.redeliveries
        transport.poll(seconds)
        self._client_problem = transport.problem
        if self._life.batches_delivered > delivered:
            self._retry_wait = _RETRY_FIRST
        elif self._life.redeliveries > returned:
            self._back_off()

    def _back_off(self) -> None:
        self._send_after = monotonic() + self._retry_wait
        self._retry_wait = min(self._retry_wait * 2, _RETRY_LAST)
        if self.transport is not None:
            self._client_problem = self.transport.problem

    def _finish_if_done(self) -> None:
        assert self._close_by is not None
        done = self._closing_cut and not self._life.unacknowledged()
        if not done and monotonic() < self._close_by:
            return
        if not done and self.transport is not None:
            self.transport.close()
        self._ended = True
