"""An alert as one line for people."""

from rich.text import Text

from unmask.schemas.codes import AlertState
from unmask.schemas.instants import iso, to_micros
from unmask.schemas.models import Alert

__all__ = ["alert_line"]


def alert_line(alert: Alert) -> Text:
    """When, whether it fires, what it is about, and what to do."""
    firing = alert.state is AlertState.FIRING
    at = alert.since if firing or alert.until is None else alert.until
    subject = {
        "session": alert.session_id,
        "delegation": alert.delegation_id,
        "upstream": alert.upstream,
        "emitter": alert.emitter_id,
        "release": None if alert.scope is None else alert.scope.release_line,
        "capability": alert.capability,
        "window": None if alert.window_start is None else iso(to_micros(alert.window_start)),
    }
    parts = [f"{name} {value}" for name, value in subject.items() if value is not None]
    parts += [f"{name} {value:,}" for name, value in sorted(alert.facts.items())]
    parts += [", ".join(alert.causes)] if alert.causes else []
    parts += [f"do: {alert.directive}"] if alert.directive is not None else []
    return Text.assemble(
        (iso(to_micros(at)), "dim"),
        "  ",
        (f"{alert.state:<8}", "bold red" if firing else "green"),
        "  ",
        (f"{alert.kind}", "bold"),
        "  ",
        "; ".join(parts),
    )
