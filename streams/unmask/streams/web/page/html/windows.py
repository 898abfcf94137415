"""The windows: a strip of shapes for all that are remembered, and lines for the newest."""

from datetime import datetime

from unmask.schemas.codes import Evidence, Family
from unmask.streams.web.page.html.parts import (
    Column,
    chip,
    code,
    count,
    counts,
    icon,
    instant,
    note,
    nothing,
    section,
    table,
)
from unmask.streams.web.page.limits import Limits
from unmask.streams.web.page.markup import Html, el, join
from unmask.streams.web.page.values import OverviewAnswer, SizeLine, TotalLine, WindowLine

__all__ = ["LEGEND", "totals_section", "what_to_know", "window_cells", "windows_section"]

_COLUMNS = (
    Column("Window, UTC"),
    Column("Evidence"),
    Column("Attempts", number=True),
    Column("Fallbacks", number=True),
    Column("Rate", number=True),
    Column("Masked errors", number=True),
    Column("Sessions ended", number=True),
    Column("Emitters", number=True),
    Column("What to know", prose=True),
)
LEGEND = el(
    "ul",
    *(
        el("li", chip(state.value), f" {meaning}")
        for state, meaning in (
            (Evidence.COMPLETE, "everything that hosts recorded was counted."),
            (Evidence.LOSSY, "something is missing, or may be."),
            (Evidence.PENDING, "still filling, or an account is still to come."),
            (Evidence.ABSENT, "nobody witnessed it. Not a zero."),
        )
    ),
    class_="legend",
)


def windows_section(answer: OverviewAnswer, limits: Limits) -> Html:
    """All windows, by size."""
    if not answer.sizes:
        empty = "No window is known yet. The first one appears with the first batch that a host sends."
        return section("windows", "Windows", nothing(empty, complete=answer.complete))
    blocks = [_size(size, limits, answer.generated_at) for size in answer.sizes]
    return section("windows", "Windows", LEGEND, *blocks)


def _size(size: SizeLine, limits: Limits, now: datetime) -> Html:
    windows, name = size.windows, _size_name(size.window_seconds)
    shown = windows[-limits.shown_windows :][::-1]
    tiles = [
        el(
            "li",
            el("a", icon(line.state.value, f"{line.window_start:%H:%M:%S} {line.state}"), href=_address(line),
               title=f"{line.window_start:%H:%M:%S} {line.state}", class_="tile"),
            data_key=f"t{line.window_start.timestamp():.0f}",
        )
        for line in windows
    ]  # fmt: skip
    left_out = len(windows) - len(shown)
    remark = f"{left_out:,} older windows are in the strip alone. " if left_out else ""
    return el(
        "div",
        el("h3", f"Windows of {name}"),
        el("ol", *tiles, class_="strip", aria_label=f"Evidence of windows of {name}, oldest first"),
        table(
            f"The newest windows of {name}", _COLUMNS, [(_key(line), _cells(line, now)) for line in shown], told=True
        ),
        note(remark, "Earlier ones: ", code(f"unmask report windows --window {size.window_seconds}"), "."),
        data_key=f"size{size.window_seconds}",
        class_="size",
    )


def _cells(line: WindowLine, now: datetime) -> list[object]:
    ends = el("a", instant(line.window_start), href=_address(line)), " – ", instant(line.window_end)
    return [join(el("span", *ends, class_="span"), _filling(line, now)), *window_cells(line)]


def window_cells(line: WindowLine) -> list[object]:
    """Evidence, counts and remarks of a window."""
    ended = sum(line.teardowns_by_outcome.values()) if line.masked_errors is not None else None
    return [
        chip(line.state.value),
        _counted(line, line.attempts, Family.ROUTE_ATTEMPT),
        _counted(line, line.fallbacks_total, Family.KERNEL_FALLBACK),
        f"{line.rate:.2%}" if line.rate is not None else el("span", line.rate_state.replace("_", " "), class_="quiet"),
        _counted(line, line.masked_errors, Family.MASKED_ERROR),
        _counted(line, ended, Family.SESSION_TEARDOWN),
        count(line.emitters),
        what_to_know(line) or "–",
    ]


def _counted(line: WindowLine, number: int | None, family: Family) -> Html:
    """A count; where its own family proves another thing than the whole, with that."""
    state = line.states[family.value]
    if number is None or state == line.state:
        return join(count(number))
    return join(icon(state, f"{state}: "), " ", count(number))


def _filling(line: WindowLine, now: datetime) -> Html | None:
    """How much of a window that is not over has passed."""
    if line.over:
        return None
    passed = (now - line.window_start).total_seconds() / line.window_seconds
    share = max(0, min(100, round(100 * passed)))
    return el("progress", f"{share} %", value=share, max=100, aria_label="Share of the window that has passed")


def what_to_know(line: WindowLine) -> str:
    """Reasons, losses and other remarks on a window."""
    parts = [counts(line.fallbacks_by_reason), counts(line.masked_errors_by_class) and "masked: "
             + counts(line.masked_errors_by_class)]  # fmt: skip
    parts.append(f"lost: {counts(line.losses)}" if line.losses else "")
    parts.append(f"because of {', '.join(line.causes)}" if line.causes else "")
    for number, word in ((line.late, "late"), (line.skewed, "skewed"), (line.duplicates, "duplicate batches"),
                         (line.quarantined, "unreadable")):  # fmt: skip
        parts.append(f"{number:,} {word}" if number else "")
    return "; ".join(part for part in parts if part)


def totals_section(totals: tuple[TotalLine, ...]) -> Html:
    """What was counted since the beginning."""
    columns = (Column("Capability"), Column("Attempts", number=True), Column("Fallbacks", number=True),
               Column("By reason", prose=True))  # fmt: skip
    rows = [
        (line.capability, [line.capability, count(line.attempts), count(line.fallbacks),
                           counts(line.fallbacks_by_reason) or "–"])
        for line in totals
    ]  # fmt: skip
    empty = el("p", "No capability has been seen yet.", class_="empty")
    remark = note("As in the metrics. A total never closes, so that it is PENDING for ever: no rate follows from it.")
    body = join(table("Capabilities", columns, rows, told=True), remark) if rows else empty
    return section("totals", "Since the beginning", body)


def _size_name(seconds: int) -> str:
    for size, word in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds % size == 0:
            number = seconds // size
            return f"{number} {word}" + ("s" if number > 1 else "")
    return f"{seconds} s"


def _address(line: WindowLine) -> str:
    return f"/windows/{line.window_seconds}/{line.window_start.timestamp():.0f}"


def _key(line: WindowLine) -> str:
    return f"w{line.window_start.timestamp():.0f}"
