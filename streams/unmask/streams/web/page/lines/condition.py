"""The pipeline's condition in words: what a person must know before he reads any number. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from unmask.schemas.codes import Evidence
from unmask.schemas.instants import iso
from unmask.streams.web.page.reading import Reading, ReadingState
from unmask.streams.web.page.values import (
    Condition,
    ConditionState,
    EmitterLine,
    EmitterState,
    GroupLine,
    PartitionLine,
    PartitionState,
    PartLine,
    SizeLine,
)

__all__ = ["Known", "condition"]

_TROUBLE = (ConditionState.BROKEN, ConditionState.LAGGING, ConditionState.STARTING)


@dataclass(frozen=True, slots=True)
class Known:
    """What the condition follows from."""

    reading: Reading
    partitions: tuple[PartitionLine, ...]
    groups: tuple[GroupLine, ...]
    parts: tuple[PartLine, ...]
    sizes: tuple[SizeLine, ...]
    emitters: tuple[EmitterLine, ...]
    sessions: int


def condition(known: Known) -> Condition:
    """State and sentences; the first state that holds decides, and all that is wrong is said."""
    found: list[tuple[ConditionState, str]] = []
    found += [(ConditionState.BROKEN, text) for text in _unread(known.reading)]
    if known.reading.state in (ReadingState.IDLE, ReadingState.READING) and known.reading.silent_since is None:
        done = f"{known.reading.done} of {known.reading.of} partitions are read to their end"
        found.append((ConditionState.STARTING, f"Reading what stands on the topics: {done}."))
    elif known.reading.state is ReadingState.LIVE and known.reading.silent_since is None:
        found += _work(known)
    if known.reading.state is not ReadingState.FAILED and found[0][0] in _TROUBLE:
        found += [(ConditionState.STARTING, text) for text in _this_worker(known.parts)]
    order = list(ConditionState)
    found.sort(key=lambda item: order.index(item[0]))
    return Condition(state=found[0][0], sentences=tuple(dict.fromkeys(text for _, text in found)))


def _unread(reading: Reading) -> Iterable[str]:
    if reading.silent_since is not None:
        since = iso(reading.silent_since // 1_000_000 * 1_000_000)
        yield f"The broker has not answered since {since}; what is shown is what was known then."
    if reading.state is ReadingState.FAILED:
        yield f"The topics cannot be read ({reading.error}); it is tried again."


def _work(known: Known) -> list[tuple[ConditionState, str]]:
    found: list[tuple[ConditionState, str]] = []
    found += [(ConditionState.BROKEN, text) for text in _nobody_works(known)]
    if waiting := [line for line in known.partitions if line.state is PartitionState.UNCOUNTED]:
        text = f"No ledger has counted {_named(waiting)} yet; windows stay PENDING until one does."
        found.append((ConditionState.STARTING, text))
    found += [(ConditionState.STARTING, text) for text in _unassigned(known.groups)]
    if late := [line for line in known.partitions if line.state is PartitionState.LAGGING]:
        lag = sum(line.lag or 0 for line in late)
        text = f"The ledgers are {lag:,} records behind on {_named(late)}; windows stay PENDING until they catch up."
        found.append((ConditionState.LAGGING, text))
    if not any(state in _TROUBLE for state, _ in found):
        found.append(_count(known))
    return found


def _nobody_works(known: Known) -> Iterable[str]:
    for group in known.groups:
        if not group.members:
            what = "counts any event" if group.part == "ledger" else "publishes any window, verdict or alert"
            other = "tables" if group.part == "ledger" else "ledger"
            yield f"No worker {what}; start one (`unmask stream`) without `--only {other}`."
    if stalled := [line for line in known.partitions if line.state is PartitionState.STALLED]:
        since = max(line.committed_at for line in stalled if line.committed_at is not None)
        yield (
            f"Nobody has counted {_named(stalled)} since {since:%Y-%m-%dT%H:%M:%SZ}; look at the workers' readiness, "
            f"and start one if none runs."
        )


def _unassigned(groups: tuple[GroupLine, ...]) -> Iterable[str]:
    for group in groups:
        if group.members and group.state != "STABLE":
            yield f"The workers divide the partitions of the {group.part} among themselves just now."
        elif group.members and group.unassigned:
            yield f"No worker has {_numbers(group.unassigned)} of the {group.part}."


def _this_worker(parts: tuple[PartLine, ...]) -> Iterable[str]:
    for part in parts:
        if not part.ready:
            verb = "are" if part.part.endswith("s") else "is"
            yield f"The {part.part} of the worker that serves this page {verb} not ready: {part.reason}."


def _count(known: Known) -> tuple[ConditionState, str]:
    live = sum(line.state is EmitterState.LIVE for line in known.emitters)
    if not known.emitters and not known.sizes and not known.sessions:
        return ConditionState.EMPTY, "Nothing has been counted yet: no host has sent anything. That is not a zero."
    text = f"{_many(live, 'emitter is', 'emitters are')} live{_closed(known.sizes)}"
    if live:
        return ConditionState.COUNTING, f"Counting: {text}."
    return (
        ConditionState.QUIET,
        f"No emitter is live: nobody witnesses anything, which is not a zero{_closed(known.sizes)}.",
    )


def _closed(sizes: tuple[SizeLine, ...]) -> str:
    closed = [line for size in sizes[:1] for line in size.windows if line.over and line.state is not Evidence.PENDING]
    if not closed:
        return "; no window has closed yet"
    newest = closed[-1]
    return f"; the newest closed window ({newest.window_start:%H:%M:%S}, {newest.window_seconds} s) is {newest.state}"


def _named(lines: list[PartitionLine]) -> str:
    return _numbers(tuple(line.partition for line in lines), "source partition")


def _numbers(numbers: tuple[int, ...], what: str = "partition") -> str:
    shown = ", ".join(str(number) for number in numbers[:8])
    more = f" and {len(numbers) - 8} more" if len(numbers) > 8 else ""
    return f"{what}{'s' if len(numbers) > 1 else ''} {shown}{more}"


def _many(n: int, one: str, more: str) -> str:
    return f"{n:,} {one if n == 1 else more}"
