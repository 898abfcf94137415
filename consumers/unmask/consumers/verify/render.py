"""An outcome for people and for machines."""

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unmask.consumers.verify.outcome import Difference, Exit, Outcome
from unmask.schemas.instants import iso
from unmask.schemas.windowing import LIFETIME, MICROS

__all__ = ["to_document", "to_renderable"]

_WORDS = {
    Exit.EQUAL: ("equal: what was published is what the log says", "bold green"),
    Exit.DIFFERENT: ("DIFFERENT: what was published is not what the log says", "bold red"),
    Exit.NOT_CHECKED: ("not checked", "bold yellow"),
}


def _labels(difference: Difference) -> dict[str, Any]:
    """What the record is about, from its key."""
    if difference.what in ("verdict", "digest"):
        return {"session_id": difference.key}
    if difference.what == "mark":
        return {"partition": int(difference.key)}
    seconds, start, release_line, composition, capability = difference.key.split("|")
    return {
        "window_start": iso(int(start) * MICROS),
        "window_seconds": int(seconds),
        "release_line": None if release_line == "*" else release_line,
        "composition": None if composition == "*" else composition,
        "capability": None if capability == "*" else capability,
    }


def _instant(micros: int | None) -> str | None:
    return None if not micros else iso(micros)


def to_document(outcome: Outcome) -> dict[str, Any]:
    """The outcome as JSON takes it."""
    examined = outcome.examined
    return {
        "result": outcome.exit.name.lower(),
        "exit_code": int(outcome.exit),
        "range": {"since": _instant(outcome.since), "until": _instant(outcome.until)},
        "log_from": _instant(outcome.log_from),
        "broker_time": _instant(outcome.broker_time),
        "read_through": _instant(outcome.read_through),
        "read": dict(outcome.totals),
        "checked": {
            "windows": examined.windows,
            "window_records": examined.window_records,
            "verdicts": examined.verdicts,
            "digests": examined.digests,
        },
        "differences": [
            {"what": d.what, **_labels(d), "field": d.field, "published": d.published, "recounted": d.recounted}
            for d in outcome.differences
        ],
        "not_checked": [
            {"what": what, "why": why, "count": n} for (what, why), n in sorted(examined.not_checked.items())
        ],
        "obstacles": list(outcome.obstacles),
    }


def to_renderable(outcome: Outcome) -> RenderableType:
    """The outcome for a terminal: every difference, what was checked, what was not and why."""
    parts: list[RenderableType] = []
    if outcome.differences:
        parts.append(_differences(outcome))
    parts.append(_checked(outcome))
    if outcome.examined.not_checked:
        parts.append(_not_checked(outcome))
    parts += [Text(f"! {obstacle}", style="yellow") for obstacle in outcome.obstacles]
    words, style = _WORDS[outcome.exit]
    if outcome.exit is Exit.NOT_CHECKED and not (outcome.examined.windows or outcome.examined.verdicts):
        words += ": nothing in this range could be compared"
    parts.append(Text(words, style=style))
    return Group(*parts)


def _differences(outcome: Outcome) -> Table:
    table = Table(title=f"{len(outcome.differences):,} differences", title_style="bold red", title_justify="left")
    for name in ("what", "of", "labels", "field"):
        table.add_column(name, overflow="fold")
    table.add_column("published", style="red", overflow="fold")
    table.add_column("recounted", style="green", overflow="fold")
    for difference in outcome.differences:
        subject, labels = _told(difference)
        values = (str(difference.published), str(difference.recounted))
        table.add_row(*map(Text, (difference.what, subject, labels, difference.field, *values)))
    return table


def _told(difference: Difference) -> tuple[str, str]:
    labels = _labels(difference)
    if difference.what != "window":
        return difference.key, ""
    size = labels["window_seconds"]
    subject = "lifetime" if size == LIFETIME else f"{labels['window_start']} {size} s"
    if labels["release_line"] is None:
        return subject, "all scopes"
    parts = (labels["release_line"], labels["composition"], labels["capability"])
    return subject, " ".join(part for part in parts if part is not None)


def _checked(outcome: Outcome) -> Table:
    read, examined = outcome.totals, outcome.examined
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    log = f"{read['records']:,} records of {read['partitions']} partitions: {read['events']:,} events in "
    log += f"{read['batches']:,} batches of {read['emitters']:,} emitters, {read['duplicates']:,} seen again, "
    log += f"{read['unreadable']:,} unreadable, {read['holes']:,} offsets without any"
    if read["disputed"]:
        log += f", {read['disputed']:,} under an identity or a number that is another's"
    table.add_row("log", log)
    table.add_row("oldest record", _instant(outcome.log_from) or "none")
    table.add_row("broker's time", f"{_instant(outcome.broker_time)}, evidence as of {_instant(outcome.read_through)}")
    table.add_row("range", f"{_instant(outcome.since) or 'the oldest record'} to {_instant(outcome.until) or 'now'}")
    table.add_row("windows", f"{examined.windows:,} compared, {examined.window_records:,} records")
    table.add_row("verdicts", f"{examined.verdicts:,} compared, {examined.digests:,} digests computed")
    return table


def _not_checked(outcome: Outcome) -> Table:
    table = Table(title="not checked", title_style="yellow", title_justify="left", box=None, pad_edge=False)
    table.add_column("", justify="right")
    table.add_column("what")
    table.add_column("why", overflow="fold")
    for (what, why), n in sorted(outcome.examined.not_checked.items()):
        table.add_row(f"{n:,}", what, why)
    return table
