"""The comparison on paper: tables for people, JSON for programs."""

from collections.abc import Iterable
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unmask.consumers.report.hosts.compare import Comparison, EmitterLine, ScopeLine
from unmask.consumers.report.hosts.explain import Difference, EmitterState, Kind
from unmask.consumers.report.text import pipeline_values
from unmask.schemas.instants import iso

__all__ = ["to_document", "to_renderable"]

NOTHING = "–"
_SHORT = {
    "route_attempt": "attempts",
    "kernel_fallback": "fallbacks",
    "masked_error": "masked",
    "session_teardown": "teardowns",
    "route_selection": "selections",
    "delegation_progress": "delegation calls",
    "delegation_effect": "delegation effects",
}
_STATES = {EmitterState.LIVE: "green", EmitterState.CLOSED: "", EmitterState.SILENT: "bold red"}
_BAD = {Kind.UNEXPLAINED: "bold red", Kind.KILLED_HOST: "red", Kind.LOST: "red", Kind.DROPPED: "yellow"}


def to_renderable(comparison: Comparison) -> RenderableType:
    """Two tables, and the conclusion in words."""
    parts: list[RenderableType] = []
    if comparison.emitters:
        parts += [_emitters(comparison.emitters), *_why((line.name, line.differences) for line in comparison.emitters)]
    if comparison.scopes:
        parts += [_scopes(comparison.scopes), *_why((line.name, line.differences) for line in comparison.scopes)]
    if not comparison.emitters:
        parts.append(Text("The log has no batch of any host."))
    parts.append(Text(f"Pipeline {comparison.pipeline.stage}: {comparison.pipeline.words}"))
    if comparison.trimmed:
        parts.append(Text("The log's head is gone: what was counted from it cannot be counted again."))
    if comparison.unreadable:
        parts.append(Text(f"{comparison.unreadable} record(s) of the log are no batch; see: unmask quarantine list"))
    parts.append(_conclusion(comparison))
    return Group(*parts)


def _conclusion(comparison: Comparison) -> Text:
    unexplained = comparison.unexplained
    if not unexplained:
        return Text("Every difference is explained.", style="bold green")
    lines = [f"{len(unexplained)} difference(s) that nothing explains:"]
    lines += [f"  {whom}: {_words(difference)}" for whom, difference in unexplained]
    return Text("\n".join([*lines, "  see: unmask verify"]), style="bold red")


def _emitters(lines: Iterable[EmitterLine]) -> Table:
    table = _table("What hosts say, and what the log has of it", "emitter", "release / composition", "state", "family")
    for name in ("recorded", "dropped", "received"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        scope = line.emitter.scope
        head: list[RenderableType] = [
            line.name,
            f"{scope.release_line} / {scope.composition[:8]}",
            Text(str(line.state), style=_STATES[line.state]),
        ]
        for family, counts in line.families.items():
            if not (counts.recorded or counts.received or any(d.family == family for d in line.differences)):
                continue
            dropped = sum(counts.dropped.values())
            table.add_row(*head, _SHORT[family], f"{counts.recorded:,}", f"{dropped:,}", f"{counts.received:,}")
            head = ["", "", ""]
        if head[0]:
            table.add_row(*head, Text("nothing", style="dim"), "0", "0", "0")
    return table


def _scopes(lines: Iterable[ScopeLine]) -> Table:
    table = _table("What the log has, and what is counted and published", "release / composition", "family")
    for name in ("in the log", "waiting", "counted", "published"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        head = line.name
        for family, counts in line.families.items():
            published = NOTHING if counts.published is None else f"{counts.published:,}"
            numbers = (f"{counts.in_log + counts.waiting:,}", f"{counts.waiting:,}", f"{counts.counted:,}", published)
            table.add_row(head, _SHORT[family], *numbers)
            head = ""
    return table


def _why(about: Iterable[tuple[str, Iterable[Difference]]]) -> list[RenderableType]:
    """Reasons, below the numbers: beside them they would have a word in each line."""
    lines: list[RenderableType] = []
    for name, differences in about:
        lines += [
            Text.assemble(" ", (name, "bold"), "  ", (_words(difference), _BAD.get(difference.kind, "")))
            for difference in differences
        ]
    return [*lines, Text()] if lines else []


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _words(difference: Difference) -> str:
    counted = difference.family is not None and difference.count is not None
    count = f"{difference.count:,} " if counted else ""
    family = "" if difference.family is None else f"{_SHORT[difference.family]} "
    return f"{str(difference.kind).replace('_', ' ')}: {count}{family}{difference.words}"


def to_document(comparison: Comparison, *, generated_at: int) -> dict[str, Any]:
    """Plain values, for JSON."""
    return {
        "format": 1,
        "generated_at": iso(generated_at),
        "broker_time": iso(comparison.broker_time) if comparison.broker_time else None,
        "explained": not comparison.unexplained,
        "pipeline": pipeline_values(comparison.pipeline),
        "log_trimmed": comparison.trimmed,
        "unreadable": comparison.unreadable,
        "emitters": [_emitter(line) for line in comparison.emitters],
        "scopes": [_scope(line) for line in comparison.scopes],
    }


def _emitter(line: EmitterLine) -> dict[str, Any]:
    emitter = line.emitter
    return {
        "emitter_id": emitter.emitter_id,
        "release_line": emitter.scope.release_line,
        "composition": emitter.scope.composition,
        "partition": emitter.partition,
        "state": str(line.state),
        "last_account": iso(emitter.last_cut),
        "last_arrival": iso(emitter.last_arrival),
        "batches": {"first": emitter.first, "newest": emitter.newest, "missing": [list(gap) for gap in emitter.gaps]},
        "families": {
            family: {"recorded": counts.recorded, "dropped": dict(counts.dropped), "received": counts.received}
            for family, counts in line.families.items()
        },
        "differences": [_difference(difference) for difference in line.differences],
    }


def _scope(line: ScopeLine) -> dict[str, Any]:
    return {
        "release_line": line.scope.release_line,
        "composition": line.scope.composition,
        "families": {
            family: {
                "in_log": counts.in_log + counts.waiting,
                "waiting": counts.waiting,
                "counted": counts.counted,
                "published": counts.published,
            }
            for family, counts in line.families.items()
        },
        "differences": [_difference(difference) for difference in line.differences],
    }


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        "kind": str(difference.kind),
        "family": difference.family,
        "count": difference.count,
        "words": difference.words,
        "explained": difference.explained,
    }
