"""Windows as values: as a whole by size, and one of them by its labels."""

from collections import defaultdict
from typing import Any

from unmask.schemas.codes import Evidence, Family
from unmask.schemas.instants import from_micros
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import window_end
from unmask.streams.web.page.decoded import decoded
from unmask.streams.web.page.memory import Memory
from unmask.streams.web.page.values import SizeLine, WindowLine

__all__ = ["FAMILIES", "labelled_windows", "whole_windows"]

FAMILIES = (Family.ROUTE_ATTEMPT, Family.KERNEL_FALLBACK, Family.MASKED_ERROR, Family.SESSION_TEARDOWN)
NO_ATTEMPTS = "NO_ATTEMPTS"
"""Why there is no rate although everything is known: nothing was attempted."""
MIXED_COMPOSITIONS = "MIXED_COMPOSITIONS"
"""Likewise: counts of several compositions are not comparable."""
_WORST_FIRST = (Evidence.PENDING, Evidence.LOSSY, Evidence.ABSENT, Evidence.COMPLETE)
_RATED = (Family.ROUTE_ATTEMPT.value, Family.KERNEL_FALLBACK.value)


def whole_windows(memory: Memory, now: int) -> tuple[SizeLine, ...]:
    """Every window that is remembered, over all its labels, by size and time. `now` in microseconds."""
    sizes: defaultdict[int, list[WindowLine]] = defaultdict(list)
    for (seconds, start), records in sorted(memory.windows.items()):
        raw = records.get(_whole_key(seconds, start))
        if raw is not None:
            sizes[seconds].append(_line(decoded("window", raw), now, _compositions(records)))
    return tuple(SizeLine(window_seconds=seconds, windows=tuple(lines)) for seconds, lines in sizes.items())


def labelled_windows(memory: Memory, seconds: int, start: int, now: int) -> tuple[WindowLine, list[WindowLine]] | None:
    """One window as a whole, and by its labels; None where nothing is remembered of it."""
    records = memory.windows.get((seconds, start), {})
    whole = records.get(_whole_key(seconds, start))
    if whole is None:
        return None
    lines = [_line(decoded("window", raw), now) for key, raw in records.items() if key != _whole_key(seconds, start)]
    lines.sort(key=lambda line: (line.release_line or "", line.composition or "", line.capability or ""))
    return _line(decoded("window", whole), now, _compositions(records)), lines


def _compositions(records: dict[str, bytes]) -> int:
    """Of how many compositions the window's attempts and fallbacks are: counts of two are not comparable."""
    found = set()
    for key, raw in records.items():
        composition, capability = key.rsplit("|", 2)[1:]
        if composition != "*" and capability == "*":
            record = decoded("window", raw)
            if record["attempts"] or record["fallbacks_total"]:
                found.add(composition)
    return len(found)


def _whole_key(seconds: int, start: int) -> str:
    return f"{seconds}|{start // 1_000_000}|*|*|*"


def _line(record: dict[str, Any], now: int, compositions: int = 1) -> WindowLine:
    start, seconds, capability = record["window_start"], record["window_seconds"], record["capability"]
    end = window_end(start, seconds)
    states = {entry["family"]: entry["state"] for entry in record["evidence"]}
    states = {family.value: states.get(family.value, Evidence.ABSENT.value) for family in FAMILIES}
    state = _worst(states.values())
    scope = None if record["scope"] is None else Scope(**record["scope"])
    labels = {
        "window_start": from_micros(start),
        "window_end": from_micros(end),
        "window_seconds": seconds,
        "release_line": None if scope is None else scope.release_line,
        "composition": None if scope is None else scope.composition,
        "capability": capability,
        "over": now >= end,
        "state": state,
        "states": states,
    }
    return WindowLine(
        **labels, **(_NOTHING if state is Evidence.ABSENT else _counts(record, states, capability, compositions))
    )


def _counts(
    record: dict[str, Any], states: dict[str, str], capability: str | None, compositions: int
) -> dict[str, Any]:
    attempts, fallbacks = record["attempts"], record["fallbacks_total"]
    rate_state = _rate_state(_worst(states[family] for family in _RATED), attempts, compositions)
    # Only attempts and fallbacks are counted by capability; of the rest such a record knows nothing.
    whole = capability is None
    losses: dict[str, int] = {}
    for entry in record["evidence"]:
        for part in entry["dropped"]:
            losses[part["cause"]] = losses.get(part["cause"], 0) + part["count"]
    missing = sum(entry["missing"] for entry in record["evidence"])
    return {
        "attempts": attempts,
        "fallbacks_total": fallbacks,
        "rate": fallbacks / attempts if rate_state == Evidence.COMPLETE.value else None,
        "rate_state": rate_state,
        "fallbacks_by_reason": record["fallbacks_by_reason"],
        "masked_errors": record["masked_errors"] if whole else None,
        "masked_errors_by_class": record["masked_errors_by_class"] if whole else {},
        "teardowns_by_outcome": record["teardowns_by_outcome"] if whole else {},
        "emitters": record["emitters"],
        "late": record["late"] if whole else None,
        "skewed": record["skewed"] if whole else None,
        "duplicates": record["duplicates"] if whole else None,
        "quarantined": record["quarantined"],
        "causes": tuple(dict.fromkeys(cause for entry in record["evidence"] for cause in entry["causes"])),
        "losses": dict(sorted(losses.items())) | ({"missing": missing} if missing else {}),
    }


def _rate_state(rated: Evidence, attempts: int, compositions: int) -> str:
    if rated is not Evidence.COMPLETE:
        return rated.value
    if compositions > 1:
        return MIXED_COMPOSITIONS
    return rated.value if attempts else NO_ATTEMPTS


_NOTHING: dict[str, Any] = {
    "attempts": None,
    "fallbacks_total": None,
    "rate": None,
    "rate_state": Evidence.ABSENT.value,
    "fallbacks_by_reason": {},
    "masked_errors": None,
    "masked_errors_by_class": {},
    "teardowns_by_outcome": {},
    "emitters": None,
    "late": None,
    "skewed": None,
    "duplicates": None,
    "quarantined": None,
    "causes": (),
    "losses": {},
}


def _worst(states: Any) -> Evidence:
    found = {str(state) for state in states}
    return next((state for state in _WORST_FIRST if state.value in found), Evidence.ABSENT)
