"""A session's timelines for people in a terminal: the three lanes side by side, turn by turn."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unmask.consumers.delegations.table import delegations_table
from unmask.consumers.report.table import STATE_STYLES
from unmask.consumers.timeline.document import MomentPart, RecoveryPart, Timeline
from unmask.schemas.codes import Evidence, Finding, RecoveryState, SelectionSource, SelectionTimeline

__all__ = ["draw"]

NOTHING = "–"
_HERE, _STILL = "●", "│"
_STATE_STYLES = {
    RecoveryState.OPEN: "bold red",
    RecoveryState.VANISHED: "bold red",
    RecoveryState.CLEARED: "green",
    RecoveryState.EXPIRED: "green",
}


def draw(timeline: Timeline) -> RenderableType:
    """Everything that is shown of a session; of one that cannot be shown, why."""
    session, selections, delegations = timeline.session, timeline.selections, timeline.delegations
    if session is None or selections is None or delegations is None:
        return Text(f"{timeline.answer}: {timeline.reason}", style="bold red")
    parts: list[RenderableType] = [*_head(timeline)]
    parts.append(_proof("Selections", selections.evidence, selections.evidence_words))
    if selections.moments:
        parts.append(_lanes(timeline, selections.moments))
    elif selections.on_record:
        parts.append(Text("  no selection in these turns", style="dim"))
    if timeline.recoveries:
        parts.append(_recoveries(timeline.recoveries))
    if selections.on_record:
        parts.append(_findings(timeline.findings, "The selections show"))
    if selections.on_record:
        chosen = timeline.user_profile or "none on record"
        certain = selections.evidence is Evidence.COMPLETE
        words = "The user chose last: " if certain else "As far as is on record the user chose last: "
        parts.append(Text.assemble((words, "bold"), chosen))
    parts += [Text(), _proof("Delegations", delegations.evidence, delegations.evidence_words)]
    if delegations.delegations:
        parts.append(delegations_table(delegations.delegations, "Delegations of this session"))
    return Group(*parts)


def _head(timeline: Timeline) -> Iterator[RenderableType]:
    session, verdict = timeline.session, timeline.verdict
    assert session is not None  # whoever calls has seen to it
    span = f"{_when(session.opened_at)} to {_when(session.ended_at or session.last_seen_at)}"
    yield Text.assemble(
        ("Session ", "bold"), (timeline.session_id, "bold"), f"  {session.state}, {span} (UTC)",
    )  # fmt: skip
    yield _proof("Evidence", session.evidence, session.evidence_words)
    if session.identity_conflicts:
        yield Text(f"Two lives claim one identity: {', '.join(session.identity_conflicts)}", style="bold red")
    if verdict is None:
        yield Text("Verdict: none yet", style="dim")
    elif verdict.withdrawn:
        yield Text("Verdict: withdrawn by an operator", style="yellow")
    elif not verdict.believed:
        yield Text(f"Verdict: not believed. {verdict.flaw}", style="bold red")
    else:
        yield Text.assemble(("Verdict: ", "bold"), f"{verdict.verdict}, {verdict.directive}, {verdict.evidence}")
        yield _findings(verdict.findings, "The verdict lists")
    if timeline.turns is not None:
        first, last = timeline.turns.first, timeline.turns.last
        yield Text(f"Turns {'' if first is None else first}–{'' if last is None else last} of it.", style="dim")
    yield Text()


def _proof(what: str, evidence: Evidence, words: str) -> Text:
    # The words begin with the state, as they must where they stand alone.
    said = words.removeprefix(f"{evidence.lower()}: ")
    return Text.assemble((f"{what}: ", "bold"), (str(evidence), STATE_STYLES[evidence]), f" ({said})")


def _findings(findings: Sequence[Finding], who: str) -> Text:
    if not findings:
        return Text(f"{who} no finding.", style="dim")
    return Text.assemble((f"{who}: ", "bold"), (", ".join(map(str, findings)), "bold red"))


def _lanes(timeline: Timeline, moments: Sequence[MomentPart]) -> Table:
    table = Table(title="Timelines", box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.add_column("turn", justify="right", no_wrap=True)
    table.add_column("UTC", no_wrap=True)
    for lane in ("live selection", "persisted state", "cleanup"):
        table.add_column(lane, overflow="fold")
    table.add_column("who, for how long, why", overflow="fold")
    table.add_column("recovery", overflow="fold")
    states = {part.number: part.state for part in timeline.recoveries}
    turn: int | None = None
    # The session's own day stands above the table.
    opened_at = timeline.session.opened_at if timeline.session else None
    one_day = len({moment.at[:10] for moment in moments} | {(opened_at or moments[0].at)[:10]}) == 1
    for moment in moments:
        table.add_row(
            str(moment.turn) if moment.turn != turn else "",
            Text(moment.at[11:19] if one_day else _when(moment.at), style="dim"),
            _lane(moment, SelectionTimeline.LIVE, moment.live),
            _lane(moment, SelectionTimeline.PERSISTED, moment.persisted),
            _cleanup(moment),
            _why(moment),
            _recovery(moment, states),
        )
        turn = moment.turn
    return table


def _lane(moment: MomentPart, lane: SelectionTimeline, in_force: str | None) -> Text:
    """A choice that is made here, one that still holds, or nothing in force."""
    if moment.timeline is lane:
        automatic = moment.source is not SelectionSource.USER
        emergency = "\n  (emergency)" if moment.emergency else ""
        return Text(f"{_HERE} {moment.profile}{emergency}", style="bold yellow" if automatic else "bold")
    return Text(NOTHING, style="dim") if in_force is None else Text(f"{_STILL} {in_force}", style="dim")


def _cleanup(moment: MomentPart) -> Text:
    if moment.timeline is not SelectionTimeline.CLEARED:
        return Text()
    return Text(f"✕ {moment.profile}\n  by {moment.cleared_by or 'nobody said whom'}", style="bold")


def _why(moment: MomentPart) -> Text:
    if moment.timeline is SelectionTimeline.CLEARED:
        return Text("taken back" if moment.reason_code is None else f"taken back, {moment.reason_code}")
    until = "" if moment.expires_at is None else f" until {_when(moment.expires_at)}"
    why = "" if moment.reason_code is None else f", {moment.reason_code}"
    return Text(f"{moment.source}, {moment.scope}{until}{why}")


def _recovery(moment: MomentPart, states: dict[int, RecoveryState]) -> Text:
    """Its number; the table of recoveries says how it ended."""
    if moment.recovery is None:
        return Text()
    state = states.get(moment.recovery)
    return Text(str(moment.recovery), style="" if state is None else _STATE_STYLES.get(state, ""))


def _recoveries(recoveries: Sequence[RecoveryPart]) -> Table:
    table = Table(title="Recoveries", box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("what happened, why, and how it ended", overflow="fold")
    table.add_column("findings", overflow="fold")
    for part in recoveries:
        table.add_row(
            str(part.number),
            Text(str(part.state), style=_STATE_STYLES.get(part.state, "")),
            Text(part.words),
            Text("\n".join(map(str, part.findings)) or NOTHING, style="bold red" if part.findings else "dim"),
        )
    return table


def _when(instant: str | None) -> str:
    """To the second: 2026-01-01T12:00:00.5Z is 2026-01-01 12:00:00."""
    return NOTHING if instant is None else instant[:19].replace("T", " ")
