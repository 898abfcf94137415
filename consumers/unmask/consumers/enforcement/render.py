"""Enforcement for people in a terminal."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unmask.consumers.enforcement.document import EnforcementReport, Origin, RefusalsPart, SaidPart

__all__ = ["render"]

_MOST_DELEGATIONS = 30


def render(report: EnforcementReport) -> RenderableType:
    """Refusals by enforcer and answer, who said what of them, the breaker, and turns without an accepted write."""
    return Group(
        _refusals(report),
        *_said(report),
        *_breaker(report),
        *_turns(report),
        *_origins(report),
    )


def _refusals(report: EnforcementReport) -> Table:
    table = Table(title="Refusals", box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for name in ("enforcer", "as recorded by", "answer"):
        table.add_column(name, overflow="fold")
    for name in ("refused", "appealed", "wrong"):
        table.add_column(name, justify="right", no_wrap=True)
    _rows(table, "gate", "the gate", report.gate.recorded)
    _rows(table, "gate", "hosts", report.gate.told)
    _rows(table, "breaker", "hosts", report.breaker.told)
    decided = report.effects.decided
    if decided is not None:
        if not decided.by_answer:
            table.add_row("effects", "the ledger", _quiet("none"), "0", _quiet("–"), _quiet("–"))
        for answer, count in decided.by_answer.items():
            table.add_row("effects", "the ledger", answer, f"{count:,}", _quiet("–"), _quiet("–"))
        if decided.fenced:
            table.add_row("effects", "the ledger", "FENCED", f"{decided.fenced:,}", _quiet("–"), _quiet("–"))
    _rows(table, "effects", "hosts", report.effects.told)
    return table


def _rows(table: Table, enforcer: str, by: str, part: RefusalsPart) -> None:
    if not part.by_answer:
        table.add_row(enforcer, by, _quiet("none"), "0", "0", "0")
    for answer, counts in part.by_answer.items():
        wrong = Text(f"{counts.vindicated:,}", style="bold red" if counts.vindicated else "")
        table.add_row(enforcer, by, answer, f"{counts.refused:,}", f"{counts.appealed:,}", wrong)


def _said(report: EnforcementReport) -> Iterator[Text]:
    gate = report.gate
    yield _line("Overridden gates", gate.overridden, gate.overrides)
    for name, part in (
        ("gate", gate.recorded), ("gate, hosts", gate.told), ("breaker", report.breaker.told),
        ("effects", report.effects.told),
    ):  # fmt: skip
        if part.appeals:
            yield _line(f"Appeals ({name})", sum(said.count for said in part.appeals), part.appeals)
        if part.vindications:
            yield _line(f"Shown to be wrong ({name})", part.vindicated, part.vindications)
    share = "not known yet" if gate.refusals_upheld is None else f"{gate.refusals_upheld:.1%}"
    yield Text(f"Gate's refusals that were shown right, of those shown right or wrong: {share}")


def _line(what: str, count: int, said: Sequence[SaidPart]) -> Text:
    who = ", ".join(f"{one.by} {one.count:,} ({one.reason_code})" for one in said)
    return Text(f"{what}: {count:,}{': ' + who if who else ''}")


def _breaker(report: EnforcementReport) -> Iterator[Text]:
    breaker = report.breaker
    why = ", ".join(f"{count:,} {reason}" for reason, count in breaker.abstentions_by_reason.items())
    trips = f"{breaker.trips:,} {'trip' if breaker.trips == 1 else 'trips'}"
    yield Text(
        f"Breaker: {trips}, {breaker.false_trips:,} of them false; "
        f"delegations that stand tripped: {breaker.tripped_now:,}; calls on which it abstained: {breaker.abstentions:,}"
        f"{' (' + why + ')' if why else ''}"
    )


def _turns(report: EnforcementReport) -> Iterator[RenderableType]:
    turns = report.turns_without_accepted_write
    yield Text(f"Turns of one delegation without an accepted write: {turns.current:,} now, {turns.longest:,} at most")
    if turns.delegations:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("delegation", overflow="fold")
        table.add_column("now", justify="right")
        table.add_column("at most", justify="right")
        for one in turns.delegations[:_MOST_DELEGATIONS]:
            table.add_row(one.delegation_id, f"{one.current:,}", f"{one.longest:,}")
        yield table
        if len(turns.delegations) > _MOST_DELEGATIONS:
            yield _quiet(f"{len(turns.delegations) - _MOST_DELEGATIONS:,} more; --json has all of them")


def _origins(report: EnforcementReport) -> Iterator[Text]:
    yield Text()
    yield Text("Where the numbers are from", style="bold")
    yield _origin("gate", report.gate.origin)
    yield _origin("hosts", report.hosts)
    if report.effects.decided is not None:
        yield _origin("effects ledger", report.effects.decided.origin)
    yield _origin("breaker, turns", report.turns_without_accepted_write.origin)


def _origin(name: str, origin: Origin) -> Text:
    kept = "the newest of each key" if origin.kept_days is None else f"{origin.kept_days} days"
    since = "nothing is on it" if origin.oldest is None else f"since {origin.oldest}"
    unusable = f", {origin.unusable:,} not usable" if origin.unusable else ""
    text = f"  {name}: {origin.topic} (keeps {kept}; {since}; {origin.records:,} records{unusable}). It proves "
    return Text(f"{text}{origin.proves}.", style="dim")


def _quiet(text: str) -> Text:
    return Text(text, style="dim")
