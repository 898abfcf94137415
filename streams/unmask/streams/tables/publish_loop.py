"""The publish loop: asks the live partitions what must go out, and sends it."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from unmask.schemas.codes import AlertKind
from unmask.schemas.windowing import MICROS
from unmask.streams.tables.obligations_view import ObligationsView
from unmask.streams.tables.partition import TablePartition
from unmask.streams.tables.publisher import Publisher

__all__ = ["CrossWindowAlerts", "PublishLoop", "wall_clock"]

CrossWindowAlerts = Callable[[frozenset[int]], tuple[list[tuple[int, dict[str, Any]]], int] | None]
"""Given the owned partitions: partition and alert of every FALLBACK_RATE, and their revision; None while not known."""

_COALESCE_S = 0.002
_SHARE = 4
"""Windows are left alone for so many times as long as publishing them took: while many snapshots come in, making the
same records again and again would keep the snapshots waiting."""
_CROSS_S = 1.0


def wall_clock() -> int:
    """Now, in microseconds since the epoch."""
    return int(time.time() * MICROS)


class PublishLoop:
    """Publishes verdicts at once and everything else about every `interval_s` seconds."""

    def __init__(
        self,
        live: Callable[[], Mapping[int, TablePartition]],
        publisher: Publisher,
        obligations: ObligationsView,
        cross_window_alerts: CrossWindowAlerts | None,
        interval_s: float,
    ) -> None:
        self._live = live
        self._publisher = publisher
        self._obligations = obligations
        self._cross_window_alerts = cross_window_alerts
        self._interval_s = interval_s
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Something came that should not wait."""
        self._wake.set()

    async def run(self) -> None:
        """Publishes until it is cancelled. Raises OutputLost."""
        due = cross_due = 0.0
        while True:
            await self._pause()
            for session_id in self._obligations.take_changed():
                for partition in self._live().values():
                    partition.sessions.touch(session_id)
            now = time.monotonic()
            everything, due = now >= due, now + self._interval_s if now >= due else due
            for partition in list(self._live().values()):
                self._publish(partition, everything=everything)
                # The loop's other tasks, the group's heartbeats among them, must not wait for all partitions.
                await asyncio.sleep(0)
            if everything:
                due = max(due, now + _SHARE * (time.monotonic() - now))
            if now >= cross_due:
                cross_due = now + _CROSS_S
                self._publish_cross_window()
            self._publisher.poll()

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._wake.wait(), self._interval_s)
        except TimeoutError:
            return
        self._wake.clear()
        await asyncio.sleep(_COALESCE_S)

    def _publish(self, partition: TablePartition, *, everything: bool) -> None:
        if self._live().get(partition.partition) is not partition:
            return  # taken away while another one was looked at
        for output in partition.collect(wall_clock(), everything=everything):
            self._publisher.send(output, partition.partition)

    def _publish_cross_window(self) -> None:
        live = self._live()
        found = self._cross_window_alerts(frozenset(live)) if self._cross_window_alerts is not None else None
        if found is None:
            return
        alerts, revision = found
        for number, partition in live.items():
            mine = [record for owner, record in alerts if owner == number]
            for output in partition.offer_alerts(AlertKind.FALLBACK_RATE, mine, revision, wall_clock()):
                self._publisher.send(output, number)
