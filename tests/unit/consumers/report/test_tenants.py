"""Fallbacks by tenant: nothing is invented, and nothing is merged in silence."""

from collections import Counter
from typing import Any

import pytest

from unmask.consumers.report import ReportRow, Selection, TimeRange, build_rows
from unmask.consumers.report.fallbacks_view import Fallbacks, Told
from unmask.consumers.report.tenants import NOT_DIVIDED, UNKNOWN, TenantlessRefused, UnknownTenants, tenant_rows
from unmask.consumers.testing import SCOPE, window_record
from unmask.consumers.windows_view import WindowRecords
from unmask.schemas.codes import Evidence
from unmask.schemas.models import Window, from_avro
from unmask.schemas.windowing import MICROS

NOON = 1_767_268_800 * MICROS
MINUTE = 60 * MICROS
WANTED = TimeRange(NOON, NOON + MINUTE, 60)


def told(tenant: str | None, *, start: int = NOON, entry: str | None = "chat", capability: str = "search") -> Told:
    return Told(start, SCOPE, capability, "timeout", entry, tenant)


def lines(
    fallbacks: dict[Told, int], selection: Selection, policy: UnknownTenants = UnknownTenants.SEPARATE,
    counted: int = 10, **fields: Any,
) -> list[ReportRow]:  # fmt: skip
    common: dict[str, Any] = {"attempts": 100, "fallbacks_total": counted, "fallbacks_by_reason": {"timeout": counted}}
    windows = [window_record(NOON, **common, **fields), window_record(NOON, capability="search", **common, **fields)]
    found = WindowRecords(tuple(from_avro(Window, window) for window in windows), (), (60,))
    rows = build_rows(found, WANTED, selection, now=NOON + 9 * MINUTE)
    return tenant_rows(rows, Fallbacks(Counter(fallbacks)), selection, policy)


def by_tenant(rows: list[ReportRow]) -> dict[str | None, int | None]:
    return {row.labels.tenant: row.fallbacks for row in rows}


def test_fallbacks_without_a_tenant_are_a_group_of_their_own() -> None:
    rows = lines({told("acme"): 6, told(None): 4}, Selection(by="tenant"))
    assert by_tenant(rows) == {"acme": 6, UNKNOWN: 4}


def test_no_tenant_can_be_called_like_the_groups_of_those_without() -> None:
    from unmask.schemas.tokens import is_token

    assert not is_token(UNKNOWN)
    assert not is_token(NOT_DIVIDED)


def test_tenants_have_no_attempts_and_hence_no_rate() -> None:
    rows = lines({told("acme"): 10}, Selection(by="tenant"))
    assert [(row.attempts, row.rate, row.rate_state, row.masked_errors) for row in rows] == [
        (None, None, "NOT_COUNTED", None)
    ]


def test_a_chosen_tenant_stands_beside_those_that_may_be_its_own() -> None:
    fallbacks = {told("acme"): 3, told("globex"): 5, told(None): 2}
    assert by_tenant(lines(fallbacks, Selection(by="window", tenant="acme"))) == {"acme": 3, UNKNOWN: 2}


def test_a_chosen_tenant_that_had_no_fallback_says_zero_as_far_as_the_evidence_goes() -> None:
    (row,) = lines({told("globex"): 10}, Selection(by="window", tenant="acme"))
    assert (row.labels.tenant, row.fallbacks, row.state) == ("acme", 0, Evidence.COMPLETE)


def test_merging_says_so_in_the_name() -> None:
    fallbacks = {told("acme"): 3, told("globex"): 5, told(None): 2}
    rows = lines(fallbacks, Selection(by="window", tenant="acme"), UnknownTenants.MERGE)
    assert by_tenant(rows) == {f"acme + {UNKNOWN}": 5}


def test_refusing_gives_no_report_where_any_has_no_tenant() -> None:
    with pytest.raises(TenantlessRefused, match="2 fallback"):
        lines({told("acme"): 8, told(None): 2}, Selection(by="tenant"), UnknownTenants.REFUSE)
    assert by_tenant(lines({told("acme"): 10}, Selection(by="tenant"), UnknownTenants.REFUSE)) == {"acme": 10}
    others = {told("acme"): 10, told(None, capability="write"): 1}
    assert lines(others, Selection(by="tenant", capability="search"), UnknownTenants.REFUSE)


def test_what_windows_count_and_no_record_is_left_of_is_told_and_given_to_nobody() -> None:
    assert by_tenant(lines({told("acme"): 6}, Selection(by="tenant"))) == {"acme": 6, NOT_DIVIDED: 4}
    assert by_tenant(lines({}, Selection(by="tenant"))) == {NOT_DIVIDED: 10}


def test_more_on_record_than_windows_count_is_told_too() -> None:
    rows = lines({told("acme"): 12}, Selection(by="tenant"))
    assert by_tenant(rows) == {"acme": 12, NOT_DIVIDED: 0}
    assert rows[0].notes == ("2 more on record than windows count",)


def test_a_fallback_of_which_no_window_tells_yet_is_pending_and_not_left_out() -> None:
    rows = lines({told("acme"): 10, told("acme", capability="write"): 1}, Selection(by=("capability", "tenant")))
    pending = [row for row in rows if row.labels.capability == "write"]
    assert [(row.fallbacks, row.state) for row in pending if row.labels.tenant == "acme"] == [(1, Evidence.PENDING)]


def test_lossy_windows_are_lossy_for_every_tenant() -> None:
    rows = lines({told("acme"): 10}, Selection(by="tenant"), states=Evidence.LOSSY)
    assert [row.state for row in rows] == [Evidence.LOSSY]


def test_entry_points_of_fallbacks_are_known_beside_their_tenant() -> None:
    fallbacks = {told("acme"): 6, told("acme", entry=None): 4}
    rows = lines(fallbacks, Selection(by=("tenant", "entry_point")))
    assert {(row.labels.entry_point, row.fallbacks) for row in rows} == {("chat", 6), (UNKNOWN, 4)}
