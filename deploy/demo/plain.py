"""Progress for a pipe or a log: one line for each thing that happens, no colours, no cursor."""

from collections.abc import Callable

from demo.live import subject
from demo.plan import WINDOW_S
from demo.scene import Scene
from unmask.schemas.codes import AlertState, Evidence

__all__ = ["PlainProgress"]


class PlainProgress:
    """Remembers what it has said, and says what is new."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said: set[tuple[str, ...]] = set()
        self._upstream = ""

    def update(self, scene: Scene) -> None:
        """Says what has happened since the last call."""
        if scene.elapsed >= 0 and scene.upstream != self._upstream:
            self._upstream = scene.upstream
            self._line(scene, f"the upstream {scene.upstream}")
        for event in scene.events:
            self._once(scene, ("event", event), event)
        board = scene.board
        for start, window in board.whole_windows(WINDOW_S).items():
            state = window.evidence_state
            if state is not Evidence.PENDING:
                counts = f"{window.attempts} attempts, {window.fallbacks_total} fallbacks, {window.emitters} hosts"
                self._once(
                    scene, ("window", str(start), state), f"window {window.window_start:%H:%M:%S} {state}: {counts}"
                )
        for session_id, verdict in board.verdicts.items():
            share = f"{verdict.degraded_operations} of {verdict.operations} operations degraded"
            self._once(scene, ("verdict", verdict.digest), f"session {session_id} {verdict.verdict}: {share}")
        for alert in board.alerts():
            fired = ("alert", alert.alert_id, AlertState.FIRING)
            if alert.state is AlertState.FIRING:
                self._once(scene, fired, f"alert {alert.kind} fires: {subject(alert)}")
            elif fired in self._said:
                self._once(
                    scene, ("alert", alert.alert_id, alert.state), f"alert {alert.kind} is over: {subject(alert)}"
                )

    def _once(self, scene: Scene, identity: tuple[str, ...], text: str) -> None:
        if identity not in self._said:
            self._said.add(identity)
            self._line(scene, text)

    def _line(self, scene: Scene, text: str) -> None:
        self._say(f"{max(scene.elapsed, 0):5.1f} s  {text}")
