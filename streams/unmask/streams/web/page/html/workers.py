"""The workers: how far each partition is counted and by whom, and whether this worker is ready."""

from unmask.streams.web.page.html.parts import Column, chip, count, instant, section, table
from unmask.streams.web.page.markup import Html, el
from unmask.streams.web.page.values import PartitionLine, WorkersAnswer

__all__ = ["workers_section"]

_PARTITIONS = (
    Column("Source partition"),
    Column("State"),
    Column("Counted by"),
    Column("Lag, records", number=True),
    Column("Read through, UTC"),
    Column("Last heard, UTC"),
)
_GROUPS = (Column("Work"), Column("Workers", number=True), Column("Group"), Column("Partitions that nobody has"))
_PARTS = (Column("Part"), Column("State"), Column("Partitions"), Column("Why not", prose=True))


def workers_section(answer: WorkersAnswer) -> Html:
    """Partitions, groups, and the worker that answers."""
    groups = [
        (line.part, [line.part, count(line.members), line.state.replace("_", " ").lower(), _numbers(line.unassigned)])
        for line in answer.groups
    ]
    parts = [
        (part.part, [part.part, chip("READY" if part.ready else "NOT READY"), _numbers(part.partitions),
                     part.reason or "–"])
        for part in answer.parts
    ]  # fmt: skip
    asked = el("p", "The broker has not described the workers' groups yet.", class_="empty")
    return section(
        "workers",
        "Workers and partitions",
        table("Partitions of the events, over all workers", _PARTITIONS, [_row(line) for line in answer.partitions]),
        table("Who shares the work", _GROUPS, groups) if groups else asked,
        table(f"The worker that serves this page, {answer.instance}", _PARTS, parts),
    )


def _row(line: PartitionLine) -> tuple[str, list[object]]:
    return f"p{line.partition}", [
        str(line.partition),
        chip(line.state.value),
        el("span", line.worker or "nobody yet", class_="id"),
        count(line.lag),
        instant(line.read_through),
        instant(line.committed_at),
    ]


def _numbers(numbers: tuple[int, ...]) -> str:
    return ", ".join(str(number) for number in numbers) or "none"
