"""Whatever stands on the topic: rates keep their rule, sums agree, and nothing is NaN."""

import json
import math
import re
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.json_schema_check import violations

from unmask.consumers.report import ReportRow, Selection, TimeRange, build_rows, to_csv, to_json
from unmask.consumers.report.document import json_schema
from unmask.consumers.report.fallbacks_view import Fallbacks, Told
from unmask.consumers.report.tenants import UnknownTenants, tenant_rows
from unmask.consumers.testing import SCOPE, window_record
from unmask.consumers.windows_view import WindowRecords
from unmask.schemas.codes import Evidence, Family
from unmask.schemas.models import Window, from_avro
from unmask.schemas.windowing import MICROS

DAY = 86_400 * MICROS
MORNING = 1_767_225_600 * MICROS
SCOPES = (SCOPE, SCOPE._replace(release_line="line-2"), SCOPE._replace(switchboard="switchboard-2"))
STATES = st.sampled_from([Evidence.COMPLETE] * 4 + [Evidence.LOSSY, Evidence.PENDING])
BY = st.sampled_from(
    [("window",), ("scope",), ("release_line",), ("capability",), ("scope", "capability"), ("reason",),
     ("entry_point",), ("capability", "reason")]
)  # fmt: skip
WORST_FIRST = ["PENDING", "LOSSY", "ABSENT", "COMPLETE"]
RANGE = TimeRange(MORNING, MORNING + DAY, 86_400, 3_600)
HOURS = TimeRange(MORNING, MORNING + DAY, 3_600)


@st.composite
def hours(draw: st.DrawFn) -> tuple[dict[str, Any], ...]:
    """The records of a day's hours: some hours without any, some release lines in some of them."""
    found: list[dict[str, Any]] = []
    for hour in draw(st.sets(st.integers(0, 23), max_size=5)):
        start = MORNING + hour * 3_600 * MICROS
        whole: Counter[str] = Counter()
        worst = Evidence.COMPLETE
        for scope in draw(st.sets(st.sampled_from(SCOPES), min_size=1)):
            states = {family: draw(STATES) for family in Family}
            worst = next(
                s for s in (Evidence.PENDING, Evidence.LOSSY, Evidence.COMPLETE) if s in {worst, *states.values()}
            )
            of_scope: Counter[str] = Counter()
            for capability in draw(st.sets(st.sampled_from(("search", "write")))):
                attempts, fallbacks = draw(st.integers(0, 5)), draw(st.integers(0, 5))
                of_scope += Counter(attempts=attempts, fallbacks=fallbacks)
                found.append(record(start, scope, capability, attempts, fallbacks, states))
            found.append(record(start, scope, None, of_scope["attempts"], of_scope["fallbacks"], states))
            whole += of_scope
        found.append(record(start, None, None, whole["attempts"], whole["fallbacks"], dict.fromkeys(Family, worst)))
    return tuple(found)


def record(
    start: int, scope: Any, capability: str | None, attempts: int, fallbacks: int, states: Any
) -> dict[str, Any]:
    return window_record(
        start, 3_600, scope=scope, capability=capability, states=states, attempts=attempts, fallbacks_total=fallbacks,
        attempts_by_entry_point={"chat": attempts} if attempts else {},
        fallbacks_by_reason={"timeout": fallbacks} if fallbacks else {}, masked_errors=fallbacks, late=attempts,
    )  # fmt: skip


def rows_of(found: tuple[dict[str, Any], ...], wanted: TimeRange, selection: Selection) -> list[ReportRow]:
    records = WindowRecords(tuple(from_avro(Window, one) for one in found), (), (3_600,))
    return build_rows(records, wanted, selection, now=MORNING + 9 * DAY)


@settings(max_examples=40, deadline=None)
@given(found=hours(), by=BY, wanted=st.sampled_from([RANGE, HOURS]))
def test_there_is_a_rate_exactly_where_both_families_are_complete_and_there_were_attempts(
    found: tuple[dict[str, Any], ...], by: tuple[str, ...], wanted: TimeRange
) -> None:
    for row in rows_of(found, wanted, Selection(by=by)):
        states = {row.states["route_attempt"], row.states["kernel_fallback"]}
        counted = row.attempts is not None and row.fallbacks is not None
        proven = states == {"COMPLETE"} and counted and bool(row.attempts) and row.compositions <= 1
        assert (row.rate is not None) == proven
        assert (row.rate_state == "COMPLETE") == proven
        if row.rate is not None:
            assert math.isfinite(row.rate)
            assert row.attempts
            assert row.rate == (row.fallbacks or 0) / row.attempts
        if row.state is Evidence.ABSENT and row.windows == {"ABSENT": sum(row.windows.values())}:
            assert (row.attempts, row.fallbacks, row.emitters) == (None, None, None)


@settings(max_examples=40, deadline=None)
@given(found=hours(), by=BY)
def test_a_day_is_the_sum_of_its_hours_for_every_group(found: tuple[dict[str, Any], ...], by: tuple[str, ...]) -> None:
    names = ("attempts", "fallbacks", "masked_errors", "late")
    fine: dict[Any, Counter[str]] = {}
    worst: dict[Any, set[str]] = {}
    for row in rows_of(found, HOURS, Selection(by=by)):
        total = fine.setdefault(row.labels, Counter())
        total.update({name: getattr(row, name) or 0 for name in names})
        worst.setdefault(row.labels, set()).add(str(row.state))
    for day in rows_of(found, RANGE, Selection(by=by)):
        assert {name: getattr(day, name) or 0 for name in names} == {name: fine[day.labels][name] for name in names}
        # Hours before a release line was first seen have no line of their own, and count in its day.
        assert WORST_FIRST.index(str(day.state)) <= min(map(WORST_FIRST.index, worst[day.labels]))
        assert sum(day.windows.values()) == 24


@settings(max_examples=40, deadline=None)
@given(found=hours(), wanted=st.sampled_from([RANGE, HOURS]))
def test_groups_add_up_to_the_whole(found: tuple[dict[str, Any], ...], wanted: TimeRange) -> None:
    def totals(by: tuple[str, ...], name: str) -> Counter[int]:
        total: Counter[int] = Counter()
        for row in rows_of(found, wanted, Selection(by=by)):
            total[row.window_start] += getattr(row, name) or 0
        return +total

    whole = {name: totals(("window",), name) for name in ("attempts", "fallbacks", "masked_errors")}
    for one in ("scope", "release_line", "composition"):
        assert {name: totals((one,), name) for name in whole} == whole
    by: tuple[str, ...]
    for by in (("capability",), ("scope", "capability"), ("reason",)):
        assert totals(by, "fallbacks") == whole["fallbacks"]
    assert totals(("entry_point",), "attempts") == whole["attempts"]


@settings(max_examples=25, deadline=None)
@given(found=hours(), by=BY, wanted=st.sampled_from([RANGE, HOURS]))
def test_nothing_is_written_as_nan_and_json_keeps_its_schema(
    found: tuple[dict[str, Any], ...], by: tuple[str, ...], wanted: TimeRange
) -> None:
    rows = rows_of(found, wanted, Selection(by=by))[:40]
    text = to_json(rows, wanted, generated_at=MORNING, selection=Selection(by=by))

    def refuse(name: str) -> None:
        raise AssertionError(name)

    assert violations(json.loads(text, parse_constant=refuse), json_schema()) == []
    assert re.search(r"\b(nan|inf)\b", to_csv(rows), re.IGNORECASE) is None


TOLD = st.builds(
    Told, st.integers(0, 23).map(lambda hour: MORNING + hour * 3_600 * MICROS), st.sampled_from(SCOPES),
    st.sampled_from(["search", "write"]), st.just("timeout"), st.none(), st.sampled_from(["acme", "globex", None]),
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(found=hours(), fallbacks=st.dictionaries(TOLD, st.integers(1, 4), max_size=12), by=BY)
def test_no_fallback_of_a_tenant_is_lost_or_invented(
    found: tuple[dict[str, Any], ...], fallbacks: dict[Told, int], by: tuple[str, ...]
) -> None:
    selection = Selection(by=(*by, "tenant"))
    rows = rows_of(found, HOURS, selection)
    divided = tenant_rows(rows, Fallbacks(Counter(fallbacks)), selection, UnknownTenants.SEPARATE)
    named: Counter[str | None] = Counter()
    for row in divided:
        named[row.labels.tenant] += row.fallbacks or 0
        assert (row.rate, row.attempts) == (None, None)
    told: Counter[str | None] = Counter()
    for one, count in fallbacks.items():
        told[one.tenant or "(unknown)"] += count
    left = named.pop("(not divided)", 0)
    assert +named == told
    assert left >= sum(row.fallbacks or 0 for row in rows) - told.total()
