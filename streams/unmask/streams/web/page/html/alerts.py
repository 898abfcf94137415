"""The alerts: what fires, then what is over."""

from unmask.schemas.codes import AlertState
from unmask.streams.web.page.html.parts import (
    Column,
    chip,
    code,
    folded,
    instant,
    note,
    nothing,
    section,
    session_link,
    table,
)
from unmask.streams.web.page.markup import Html, el, join
from unmask.streams.web.page.values import AlertLine, OverviewAnswer

__all__ = ["alerts_section"]

_COLUMNS = (
    Column("Alert"),
    Column("State"),
    Column("What happened", prose=True),
    Column("Since, UTC"),
    Column("Until, UTC"),
)
_SHOWN = 10
_OVER = 5


def alerts_section(answer: OverviewAnswer) -> Html:
    """Alerts of the namespace."""
    firing = [line for line in answer.alerts if line.state is AlertState.FIRING]
    over = [line for line in answer.alerts if line.state is not AlertState.FIRING]
    rows = [(line.alert_id, _cells(line)) for line in (*firing, *over[:_OVER])]
    cut = answer.alerts_cut + len(over[_OVER:])
    left_out = f"{cut:,} more are left out. " if cut else ""
    return section(
        "alerts",
        "Alerts",
        _firing(answer.alerts_firing, complete=answer.complete),
        table("What fires, then what is over", _COLUMNS, rows[:_SHOWN]) if rows else None,
        folded(len(rows[_SHOWN:]), "alerts", table("Further alerts", _COLUMNS, rows[_SHOWN:])),
        note(left_out, "What to do about each kind: ", code("docs/operations/alerts.md"), ", under the kind's name."),
    )


def _firing(by_kind: dict[str, int], *, complete: bool) -> Html:
    if not by_kind:
        return nothing("No alert fires.", complete=complete)
    most_first = sorted(by_kind.items(), key=lambda item: (-item[1], item[0]))
    kinds = ", ".join(f"{number:,} {kind.replace('_', ' ')}" for kind, number in most_first)
    return el("p", chip("FIRING", f"{sum(by_kind.values()):,} FIRING"), f" {kinds}", class_="summary")


def _cells(line: AlertLine) -> list[object]:
    directive = None if line.directive is None else f" Directive: {line.directive.value.replace('_', ' ')}."
    causes = f" Because of {', '.join(line.causes)}." if line.causes else None
    link = None if line.session_id is None else join(" ", session_link(line.session_id))
    return [
        el("span", line.kind.value.replace("_", " "), class_="kind"),
        chip(line.state.value),
        join(line.sentence, causes, directive, link),
        instant(line.since, day=True),
        instant(line.until, day=True),
    ]
