"""Chains: what an emitter's batches prove, whatever the order in which they came."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.consumers.verify.hosts import Host, at

from unmask.consumers.verify.account import Loss
from unmask.consumers.verify.chain import Chain, Placed
from unmask.schemas.codes import FlawCause
from unmask.schemas.windowing import MICROS


def chain_of(batches: list[dict[str, Any]], arrivals: list[float] | None = None) -> Chain:
    seconds = arrivals or [1_000.0] * len(batches)
    chain = Chain.begun_by(batches[0], 0, at(seconds[0]))
    for batch, second in zip(batches, seconds, strict=True):
        assert chain.add(batch, at(second)) is not None
    return chain


def told(chain: Chain) -> list[tuple[int, int, FlawCause, dict[str, Loss]]]:
    return sorted((s.after, s.before, s.cause, s.losses) for s in chain.lossy())


def five() -> list[dict[str, Any]]:
    """Five batches with one attempt in each."""
    host = Host("e-1")
    batches = []
    for second in range(1, 6):
        host.attempt(second - 0.5)
        batches.append(host.cut(second))
    return batches


def test_nothing_is_lost_while_every_batch_is_there() -> None:
    assert told(chain_of(five())) == []


def test_what_is_missing_from_a_gap_is_counted_and_lies_between_its_neighbours_cuts() -> None:
    one, two, _, _, five_ = five()
    chain = chain_of([one, two, five_])
    (stretch,) = chain.lossy()
    assert (stretch.after, stretch.before, stretch.cause) == (2, 5, FlawCause.GAP)
    assert stretch.losses == {"route_attempt": Loss(2, {})}
    assert (stretch.cut_after, stretch.cut_before) == (at(2), at(5))


def test_a_batch_that_fills_a_gap_leaves_what_is_still_missing_on_its_other_side() -> None:
    one, two, three, _, five_ = five()
    chain = chain_of([one, two, five_, three])
    assert told(chain) == [(3, 5, FlawCause.GAP, {"route_attempt": Loss(1, {})})]


def test_a_batch_is_new_once() -> None:
    one, two, three, _, _ = five()
    chain = chain_of([one, three, two])
    assert [chain.add(batch, at(9)) for batch in (one, two, three)] == [None, None, None]
    assert chain.last_arrival == at(1_000)


def test_a_first_batch_that_is_not_number_one_tells_of_those_before_it() -> None:
    assert told(chain_of(five()[2:])) == [(0, 3, FlawCause.GAP, {"route_attempt": Loss(2, {})})]


def test_missing_heartbeats_lose_nothing() -> None:
    host = Host("e-1")
    batches = [host.cut(second) for second in (1, 2, 3)]
    assert told(chain_of([batches[0], batches[2]])) == []


def test_what_a_host_drops_is_lost_where_it_says_so() -> None:
    host = Host("e-1")
    first = host.cut(1)
    host.drop("kernel_fallback", 3)
    assert told(chain_of([first, host.cut(2)])) == [
        (1, 2, FlawCause.DROPPED, {"kernel_fallback": Loss(0, {"buffer_full": 3})})
    ]


def test_what_was_cut_into_a_batch_and_given_up_later_is_lost_once_where_that_batch_is_missing() -> None:
    host = Host("e-1")
    first = host.cut(1)
    host.attempt(1.5, 1.6)
    host.cut(2)
    third = host.cut(3)
    host.drop("route_attempt", 2, "outbox_expired")
    host.recorded["route_attempt"] -= 2
    fourth = host.cut(4)
    assert told(chain_of([first, third, fourth])) == [(1, 3, FlawCause.GAP, {"route_attempt": Loss(2, {})})]


def test_an_account_that_says_less_than_was_received_is_a_miscount() -> None:
    host = Host("e-1")
    first = host.cut(1)
    host.attempt(1.5)
    host.recorded.clear()
    assert told(chain_of([first, host.cut(2)])) == [(1, 2, FlawCause.MISCOUNT, {"route_attempt": Loss(-1, {})})]


@pytest.mark.parametrize(("ahead", "cut"), [(299, 1_299.0), (301, 1_000.0)])
def test_a_clock_that_is_too_far_ahead_accounts_for_no_time_that_has_not_come(ahead: float, cut: float) -> None:
    host = Host("e-1", started=990 + ahead)
    chain = Chain.begun_by(batch := host.cut(1_000 + ahead), 0, at(1_000))
    assert chain.add(batch, at(1_000)) == Placed(at(cut), ahead > 300, filled=False)


def test_a_cut_that_fills_a_gap_stays_between_its_neighbours() -> None:
    host = Host("e-1")
    one, two, three = host.cut(1), host.cut(2), host.cut(3)
    chain = chain_of([one, three])
    assert chain.add(two | {"sent_at": at(50)}, at(60)) == Placed(at(3), ahead=False, filled=True)


def test_a_gap_that_begins_in_a_deleted_part_of_the_log_is_unsure_and_not_lossy() -> None:
    chain = chain_of(five()[2:])
    assert [s.before for s in chain.unsure(at(0))] == [3]
    assert chain.lossy(at(0)) == []
    assert chain.unsure(at(0) - 1) == []


@given(st.data())
def test_the_same_batches_prove_the_same_in_every_order(data: st.DataObject) -> None:
    """Against the plain definition: every known batch compared with the known one before it."""
    host = Host("e-1")
    batches, recorded = [], 0
    events = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12))
    for second, (attempts, drops) in enumerate(events, start=1):
        if attempts:
            host.attempt(*[second - 0.5] * attempts)
        if drops:
            host.drop("route_attempt", drops)
        batches.append(host.cut(second))
    known = data.draw(st.lists(st.sampled_from(range(len(batches))), min_size=1, unique=True))
    chain = chain_of([batches[index] for index in data.draw(st.permutations(known))])
    expected, before = [], 0
    for index in sorted(known):
        (said,) = batches[index]["accounts"] or [{"recorded": 0, "dropped": []}]
        held = sum(len(group["occurred_at"]) for group in batches[index]["route_attempts"])
        lost = said["recorded"] - held - recorded
        if lost:
            expected.append((before, index + 1, lost))
        before, recorded = index + 1, said["recorded"]
    losses = [(stretch.after, stretch.before, stretch.losses["route_attempt"]) for stretch in chain.lossy()]
    found = sorted((after, before, loss.missing + sum(loss.dropped.values())) for after, before, loss in losses)
    assert found == expected
    assert chain.last_cut == max(batches[index]["sent_at"] for index in known)


def test_the_heartbeat_is_the_newest_batchs() -> None:
    host = Host("e-1", heartbeat_ms=1_000)
    first = host.cut(1)
    host.heartbeat_ms = 5_000
    assert chain_of([first, host.cut(2)]).heartbeat == 5 * MICROS
