"""What a line says, in words that table and page share."""

from unmask.consumers.report.cells import ReportRow
from unmask.schemas.codes import Evidence
from unmask.schemas.instants import iso
from unmask.schemas.windowing import LIFETIME

__all__ = [
    "NOTHING",
    "composition_words",
    "evidence_words",
    "length_words",
    "loss_words",
    "notes_of",
    "rate_words",
    "state_words",
    "when_words",
]

NOTHING = "–"
_VISIBLE = 0.0001
_DAY_S, _HOUR_S = 86_400, 3_600
_SHORT = {
    "route_attempt": "attempts",
    "kernel_fallback": "fallbacks",
    "masked_error": "masked",
    "session_teardown": "teardowns",
    "route_selection": "selections",
    "delegation_progress": "delegation calls",
    "delegation_effect": "delegation effects",
}
_MEANING = {
    "COMPLETE": "complete: everything that was recorded was counted",
    "LOSSY": "lossy: something of it is missing, or may be",
    "PENDING": "pending: not over, or not counted to its end yet",
    "ABSENT": "absent: nobody witnessed it; not a zero",
    "NO_ATTEMPTS": "no attempts",
    "MIXED_COMPOSITIONS": "mixed compositions",
    "NOT_COUNTED": "not counted so",
}


def state_words(state: str) -> str:
    """What a state means."""
    return _MEANING[state]


def length_words(seconds: int) -> str:
    """How long a line's time is."""
    if seconds == LIFETIME:
        return "all time"
    for size, name in ((_DAY_S, "1 day"), (_HOUR_S, "1 hour"), (60, "1 minute")):
        if seconds == size:
            return name
    return f"{seconds} s"


def when_words(start: int, end: int | None, seconds: int, *, runs: bool = False) -> str:
    """When a line's time begins, and with `runs` when it ends; UTC."""
    if end is None:
        return "since the beginning"
    shown = _short(start, seconds)
    if not runs:
        return shown
    until = _short(end, seconds)
    # A run is shown by the end of its last window, on the same day without the day.
    return f"{shown} – {until.removeprefix(shown[:11])}" if len(shown) > 10 else f"{shown} – {until}"


def composition_words(composition: str | None) -> str:
    """Eight digits tell compositions apart; JSON and CSV have them all."""
    return (composition or "any")[:8]


def evidence_words(row: ReportRow) -> str:
    """One state where all families have it; else each state with its families."""
    families: dict[str, list[str]] = {}
    for family, state in row.states.items():
        families.setdefault(state, []).append(_SHORT.get(family, family))
    if len(families) <= 1:
        return str(row.state)
    order = sorted(families, key=lambda state: state != row.state)
    return ", ".join(f"{state} {'+'.join(families[state])}" for state in order)


def rate_words(row: ReportRow) -> str:
    """The rate, or why there is none."""
    if row.rate is None:
        return f"{NOTHING} {row.rate_state}"
    # What is not nothing must not look like nothing.
    if row.rate == 0 or row.rate >= _VISIBLE:
        return f"{row.rate:.2%}"
    return f"{row.rate:.4%}" if row.rate >= _VISIBLE / 100 else "<0.0001%"


def loss_words(row: ReportRow) -> str:
    """Events lost, by cause."""
    if not row.losses:
        return NOTHING if row.missing is None else "0"
    return ", ".join(f"{count} {cause}" for cause, count in row.losses.items())


def notes_of(row: ReportRow, *, counts: bool = False) -> list[str]:
    """What else has to be known; with `counts` also late, skewed and duplicates, where there are any."""
    notes = [f"{count} {code}" for code, count in row.fallbacks_by_reason.items()] if row.labels.reason is None else []
    if row.state is Evidence.ABSENT and not row.absent and row.fallbacks is None:
        notes.append("nobody witnessed it; not a zero")
    if row.state is Evidence.PENDING and row.silent:
        notes.append("not over, or not counted yet")
    if row.absent:
        notes.append(f"{row.windows.get('ABSENT', 0)} of {sum(row.windows.values())} windows ABSENT: {_spans(row)}")
    for name, codes in (
        ("selections", row.selections_by_timeline),
        ("delegation calls", row.delegation_calls_by_outcome),
        ("delegation effects", row.delegation_effects_by_step),
    ):
        if codes:
            notes.append(f"{name}: " + ", ".join(f"{count} {code}" for code, count in codes.items()))
    others = [f"{count} {state}" for state, count in row.windows.items() if state in ("LOSSY", "PENDING")]
    if others and sum(row.windows.values()) > 1:
        notes.append("windows: " + ", ".join(others))
    if counts:
        told = {"late": row.late, "skewed": row.skewed, "duplicate batches": row.duplicates}
        notes += [f"{name} {count}" for name, count in told.items() if count]
    if row.quarantined:
        notes.append(f"quarantined {row.quarantined}")
    if row.compositions > 1:
        notes.append(f"{row.compositions} compositions added up")
    if row.causes:
        notes.append("because of " + ", ".join(row.causes))
    return [*notes, *row.notes]


_MOST_SPANS = 4


def _spans(row: ReportRow) -> str:
    shown = [f"{iso(first)[11:16]}–{_end_of_day(iso(last)[11:16])}" for first, last in row.absent[:_MOST_SPANS]]
    more = len(row.absent) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _end_of_day(clock: str) -> str:
    return "24:00" if clock == "00:00" else clock


def _short(micros: int, seconds: int) -> str:
    text = iso(micros).removesuffix("Z").replace("T", " ")
    if seconds and seconds % _DAY_S == 0:
        return text[:10]
    return text[:16] if seconds and seconds % 60 == 0 else text
