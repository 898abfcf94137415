"""Two different things never share a key."""

from unmask.schemas.keys import (
    effect_id,
    effect_key,
    effect_route,
    flaw_key,
    mark_key,
    parity_key,
    session_key,
    tally_key,
    upstream_route,
    window_key,
    window_route,
)
from unmask.schemas.scope import Scope
from unmask.schemas.tokens import is_token

A = Scope("1.0", "v1", "kafka", "strict", "x")
B = A._replace(switchboard="y")
START = 1_767_225_600_000_000


def test_each_part_of_a_cell_is_in_its_key() -> None:
    keys = {
        tally_key(0, START, 60, A, "kernel_fallback", "search", "timeout"),
        tally_key(1, START, 60, A, "kernel_fallback", "search", "timeout"),
        tally_key(0, START + 60_000_000, 60, A, "kernel_fallback", "search", "timeout"),
        tally_key(0, START, 3600, A, "kernel_fallback", "search", "timeout"),
        tally_key(0, START, 60, B, "kernel_fallback", "search", "timeout"),
        tally_key(0, START, 60, A, "route_attempt", "search", "timeout"),
        tally_key(0, START, 60, A, "kernel_fallback", "fetch", "timeout"),
        tally_key(0, START, 60, A, "kernel_fallback", "search", "rate_limited"),
        tally_key(0, START, 60, A, "kernel_fallback", "search", "timeout", ("e1", 2)),
        tally_key(0, START, 60, A, "kernel_fallback", "search", "timeout", ("e1", 3)),
    }
    assert len(keys) == 10


def test_each_part_of_a_flaw_is_in_its_key() -> None:
    keys = {
        flaw_key(0, START, 60, A, "e1", 1, 3, "gap"),
        flaw_key(0, START, 60, None, "e1", 1, 3, "gap"),
        flaw_key(0, START, 60, A, None, 1, 3, "gap"),
        flaw_key(0, START, 60, A, "e1", 2, 3, "gap"),
        flaw_key(0, START, 60, A, "e1", 1, 4, "gap"),
        flaw_key(0, START, 60, A, "e1", 1, 3, "dropped"),
    }
    assert len(keys) == 6


def test_cells_flaws_and_marks_of_one_topic_do_not_meet() -> None:
    firsts = {
        tally_key(0, START, 60, A, "m", "c", "x")[0],
        flaw_key(0, START, 60, A, "e", 1, 2, "gap")[0],
        mark_key(0)[0],
    }
    assert firsts == {"c", "f", "m"}


def test_all_of_a_window_has_one_route() -> None:
    assert window_route(START, 60) == "w|60|1767225600"
    assert upstream_route("search-api") == "u|search-api"


def test_all_scopes_and_all_capabilities_are_written_as_stars() -> None:
    assert window_key(START, 60, None, None) == "60|1767225600|*|*|*"
    assert window_key(START, 60, A, None) == f"60|1767225600|1.0|{A.composition}|*"
    assert session_key("s1", 3) == "s1|3"


def test_each_part_of_a_parity_run_is_in_its_key_and_any_composition_is_a_star() -> None:
    assert parity_key("golden", "1.0", None) == "golden|1.0|*"
    keys = {
        parity_key("golden", "1.0", A.composition),
        parity_key("golden", "1.0", B.composition),
        parity_key("golden", "1.0", None),
        parity_key("golden", "1.1", None),
        parity_key("replay", "1.0", None),
    }
    assert len(keys) == 5


def test_an_effect_is_routed_by_tenant_and_budget_and_named_by_the_whole_of_its_key() -> None:
    parts = ("acme", "quota", "refund", "v2", "order-7")
    assert effect_route("acme", "order-7") == "acme|order-7"
    assert effect_key(*parts) == "acme|quota|refund|v2|order-7"
    assert is_token(effect_id(*parts))
    others = [[*parts] for _ in parts]
    for place, other in enumerate(others):
        other[place] = "other"
    assert len({effect_id(*each) for each in (parts, *others)}) == 6, "each part counts"
