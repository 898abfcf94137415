"""From published records to facts: nothing that is not there becomes a zero, and nothing is left out."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.consumers.eligibility.facts_for_tests import AS_OF, CURRENT, LINE, POLICY, ago

from unmask.consumers.eligibility import Hour, Sighting, Timeline, Wanted, parity_facts, timelines
from unmask.consumers.eligibility.gather import NAMELESS
from unmask.consumers.parity import ParityRecords
from unmask.consumers.testing import window_record
from unmask.consumers.windows_view import WindowRecords
from unmask.schemas.codes import Evidence
from unmask.schemas.models import ParityRun, Window, from_avro
from unmask.schemas.scope import Scope
from unmask.schemas.testing import sample

OTHER = LINE._replace(switchboard="blue")


def window(back: int, *, scope: Scope | None = LINE, **changes: Any) -> dict[str, Any]:
    return window_record(ago(back), 3600, scope=scope, **changes)


def lines_of(
    *windows: Mapping[str, Any], unreadable: tuple[int, ...] = (), wanted: Wanted | None = None
) -> list[Timeline]:
    records = WindowRecords(tuple(from_avro(Window, found) for found in windows), unreadable, (3600,))
    return timelines(records, wanted or Wanted(), POLICY, read_from=ago(1000), as_of=AS_OF)


def hour(back: int, attempts: int = 7, fallbacks: int = 0, **changes: Any) -> list[dict[str, Any]]:
    """An hour in which one capability was counted."""
    counts: dict[str, Any] = {"attempts": attempts, "fallbacks_total": fallbacks}
    return [
        window(back, scope=None, capability=None, **counts, **changes),
        window(back, capability=None, **counts, **changes),
        window(back, capability="search", **counts, **changes),
    ]


def test_a_counted_hour_has_its_counts_and_the_worst_of_its_families() -> None:
    (found,) = lines_of(*hour(3, fallbacks=2))
    assert (found.capability, found.scope) == ("search", LINE)
    assert found.hours == {ago(3): Hour(Evidence.COMPLETE, attempts=7, fallbacks=2)}


def test_an_hour_in_which_the_combination_was_there_and_the_capability_was_not_asked_is_a_true_zero() -> None:
    (found,) = lines_of(*hour(3), window(2, scope=None, capability=None), window(2, capability=None, attempts=0))
    assert found.hours[ago(2)] == Hour(Evidence.COMPLETE, attempts=0)


def test_an_hour_that_is_over_and_knows_only_others_is_absent() -> None:
    (found,) = lines_of(*hour(3), window(2, scope=None, capability=None))
    assert found.hours[ago(2)] == Hour(Evidence.ABSENT)


def test_an_hour_of_which_nothing_is_published_is_not_in_the_facts() -> None:
    (found,) = lines_of(*hour(3))
    assert ago(2) not in found.hours


def test_a_capability_s_record_without_its_combination_s_has_its_fallbacks_and_no_state() -> None:
    (found,) = lines_of(window(3, capability="search", attempts=5, fallbacks_total=1))
    assert found.hours[ago(3)] == Hour(None, attempts=5, fallbacks=1)


def test_fallbacks_that_no_capability_s_record_has_may_be_anybody_s() -> None:
    whole = window(3, capability=None, attempts=9, fallbacks_total=3)
    part = window(3, capability="search", attempts=9, fallbacks_total=1)
    (found,) = lines_of(whole, part)
    assert found.hours[ago(3)].unattributed == 2
    nameless = window(3, capability="overflow", attempts=0, fallbacks_total=2)
    rows = {line.capability: line for line in lines_of(whole, part, nameless)}
    assert rows["search"].hours[ago(3)].unattributed == 2


def test_what_is_known_to_be_missing_is_told_in_every_state() -> None:
    evidence = window(3)["evidence"]
    lossy = [{**entry, "state": "PENDING", "causes": ["gap"], "missing": 2} for entry in evidence]
    (found,) = lines_of(*hour(3, evidence=lossy))
    assert found.hours[ago(3)].lost
    assert found.hours[ago(3)].state is Evidence.PENDING


def test_an_unreadable_record_is_every_row_s() -> None:
    (found,) = lines_of(*hour(3), unreadable=(ago(3), ago(2)))
    assert not found.hours[ago(3)].readable
    assert not found.hours[ago(2)].readable


def test_another_combination_is_a_row_of_its_own_and_seen_from_this_one() -> None:
    rows = lines_of(*hour(3), window(5, scope=OTHER, capability=None), window(5, scope=OTHER, capability="search"))
    assert {row.scope for row in rows} == {LINE, OTHER}
    mine = next(row for row in rows if row.scope == LINE)
    assert mine.others == (Sighting(ago(5), OTHER),)


def test_rows_can_be_chosen_and_a_capability_that_was_asked_for_is_never_left_out() -> None:
    both = [*hour(3), window(3, scope=OTHER, capability=None), window(3, scope=OTHER, capability="search")]
    assert len(lines_of(*both, wanted=Wanted(composition=OTHER.composition[:6]))) == 1
    assert [row.scope for row in lines_of(*both, wanted=Wanted(release_line="1999.1", capabilities=("search",)))] == [
        None
    ]
    asked = lines_of(*both, wanted=Wanted(("unheard-of",)))
    assert [(row.capability, row.scope) for row in asked] == [("unheard-of", None)]


def test_what_was_counted_before_the_policy_s_days_alone_is_no_row() -> None:
    assert lines_of(*hour(28 * 24 + 1)) == []
    assert len(lines_of(*hour(28 * 24))) == 1


def test_the_current_hour_of_a_combination_without_a_record_yet_is_unknown_and_not_absent() -> None:
    pending = [{**entry, "state": "PENDING"} for entry in window(0)["evidence"]]
    (found,) = lines_of(*hour(3), window(0, scope=None, capability=None, evidence=pending))
    assert CURRENT not in found.hours


def test_a_run_that_cannot_be_read_is_known_by_its_key() -> None:
    run = from_avro(ParityRun, sample("parity"))
    good, bad, line = parity_facts(ParityRecords((run,), ("golden|2026.1|*", "odd")))
    assert (good.suite, good.tests, good.readable) == ("suite-1", 1, True)
    assert (bad.suite, bad.release_line, bad.composition, bad.readable) == ("golden", "2026.1", None, False)
    assert not line.readable


@pytest.mark.parametrize("label", sorted(NAMELESS))
def test_what_was_counted_under_no_name_is_no_row_also_where_it_is_asked_for(label: str) -> None:
    windows = [*hour(3), window(3, capability=label, attempts=9_000)]
    assert [found.capability for found in lines_of(*windows)] == ["search"]
    (named,) = lines_of(*windows, wanted=Wanted((label,)))
    assert (named.capability, named.scope) == (label, None)
