"""Every way in which a history can break its promises must be found, or a history that passes proves nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.consumers.effects_check.small_history import Small

from unmask.consumers.effects_check import Breach, Decided, History, Rules, check_history
from unmask.schemas.windowing import MICROS

Body = dict[str, Any]


def a_good_one() -> Small:
    """Two tenants with equal names, a commit each way, a lease that is given back, one that ends, a spent budget."""
    small = Small()
    first = small.claim()  # 0
    small.claim(holder="h2")  # 1: held
    small.commit(first["fencing_token"])  # 2
    small.claim(holder="h2")  # 3: already committed
    other = small.claim(tenant="u")  # 4: the same names, another tenant
    small.spoilt()  # 5
    small.commit(other["fencing_token"], tenant="u", receipt="of-u")  # 6
    small.wait(1)
    lost = small.claim("slow", lease_s=2)  # 7
    small.wait(3)
    small.commit(lost["fencing_token"], "slow", "late")  # 8: fenced
    again = small.claim("slow", lease_s=2)  # 9
    small.ask("renew", "slow", fencing_token=again["fencing_token"], lease_ms=4_000)  # 10
    small.ask("release", "slow", fencing_token=again["fencing_token"])  # 11
    small.claim("few", budget="two", limit=2)  # 12
    small.claim("few-2", budget="two", limit=2)  # 13
    small.claim("few-3", budget="two", limit=2)  # 14: spent
    small.wait(10)
    for offset, key in ((12, "few"), (13, "few-2")):
        small.ask("expire", key, budget="two", fencing_token=offset + 1)  # 15, 16
    small.claim("slow", fingerprint="another")  # 17: abstains
    return small


def decision(history: History, offset: int) -> Body:
    return next(d.body for d in history.partitions[0].decided if d.body["offset"] == offset)


def breaches(history: History, **rules: Any) -> set[Breach]:
    return {problem.breach for problem in check_history(history, Rules(**rules)).problems}


def test_a_history_in_which_nothing_is_wrong_is_found_so() -> None:
    account = check_history(a_good_one().history())
    assert account.problems == []
    assert (account.keys, account.tenants, account.unreadable, account.leases) == (5, 2, 1, 6)
    assert account.ends == {"committed": 2, "released": 1, "over": 3}
    assert sorted(receipt or "" for _, receipt in account.commits.values()) == ["of-u", "r"]
    assert account.answers["claim BUDGET_SPENT"] == account.answers["claim HELD_BY_ANOTHER"] == 1


def _second_commit(history: History) -> None:
    decision(history, 3).update(kind="commit")
    asked = history.partitions[0].asked
    body = {**(asked[3].body or {}), "kind": "commit", "fencing_token": 1, "receipt": "r2"}
    asked[3] = type(asked[3])(3, asked[3].appended_at, body)
    decision(history, 3).update(answer="COMMITTED", fencing_token=1)


def _second_commit_out_of_place(history: History) -> None:
    history.partitions[0].decided.append(Decided(99, {**decision(history, 2), "offset": 2, "receipt": "r2"}))


def _forgotten_commit(history: History) -> None:
    decision(history, 3).update(answer="HELD_BY_ANOTHER", fencing_token=None, receipt=None, committed_at=None)


def _commit_refused_again(history: History) -> None:
    decision(history, 3).update(answer="ABSTAIN", reason="tenant_full")


def _granted_after_commit(history: History) -> None:
    decision(history, 3).update(answer="GRANTED", fencing_token=4, lease_until=decision(history, 3)["decided_at"] + 1)


def _overlapping_lease(history: History) -> None:
    held = decision(history, 1)
    held.update(answer="GRANTED", fencing_token=2, lease_until=held["decided_at"] + 5 * MICROS)


def _late_commit(history: History) -> None:
    late = decision(history, 8)
    late.update(answer="COMMITTED", reason=None, receipt="late", committed_at=late["decided_at"], late_receipt=None)


def _commit_of_an_older_token(history: History) -> None:
    asked = history.partitions[0].asked
    body = {**(asked[10].body or {}), "kind": "commit", "fencing_token": 8, "receipt": "late", "lease_ms": None}
    asked[10] = type(asked[10])(10, asked[10].appended_at, body)
    decision(history, 10).update(kind="commit", answer="COMMITTED", fencing_token=8)


def _token_back(history: History) -> None:
    decision(history, 9)["fencing_token"] = 7


def _token_again(history: History) -> None:
    decision(history, 9)["fencing_token"] = 8


def _over_budget(history: History) -> None:
    spent = decision(history, 14)
    spent.update(
        answer="GRANTED", fencing_token=15, attempts=1, fingerprint="f", budget_used=3,
        lease_until=spent["decided_at"] + 5 * MICROS,
    )  # fmt: skip


def _budget_miscounted(history: History) -> None:
    decision(history, 13)["budget_used"] = 1


def _budget_spent_too_early(history: History) -> None:
    decision(history, 13).update(answer="BUDGET_SPENT", fencing_token=None, lease_until=None, attempts=0)


def _missing(history: History) -> None:
    del history.partitions[0].decided[4]


def _twice(history: History) -> None:
    first = history.partitions[0].decided[0]
    history.partitions[0].decided.append(Decided(99, first.body))


def _swapped(history: History) -> None:
    decided = history.partitions[0].decided
    decided[2], decided[3] = decided[3], decided[2]


def _unasked(history: History) -> None:
    body = {**history.partitions[0].decided[-1].body, "offset": 5}
    history.partitions[0].decided.insert(5, Decided(11, body))


def _of_nothing(history: History) -> None:
    history.partitions[0].decided.append(Decided(99, {**decision(history, 17), "offset": 40}))


def _other_partition(history: History) -> None:
    decision(history, 17)["partition"] = 1


def _tenants_mixed_in_state(history: History) -> None:
    # The first claim of u is answered with what t has committed.
    of_t = decision(history, 3)
    decision(history, 4).update(
        answer="ALREADY_COMMITTED", receipt="r", committed_at=of_t["committed_at"], fencing_token=1, lease_until=None
    )


def _tenants_mixed_in_name(history: History) -> None:
    decision(history, 4)["tenant"] = "t"


def _at_another_time(history: History) -> None:
    decision(history, 17)["decided_at"] += 1


def _attempts_forgotten(history: History) -> None:
    decision(history, 9)["attempts"] = 1


def _unsettled_forgotten(history: History) -> None:
    decision(history, 9)["unsettled"] = 0


def _late_receipt_forgotten(history: History) -> None:
    decision(history, 9)["late_receipt"] = None


def _lease_shortened(history: History) -> None:
    decision(history, 10)["lease_until"] -= 1


def _refused_for_nothing(history: History) -> None:
    decision(history, 2).update(answer="FENCED", reason="lease_over", receipt=None, committed_at=None)


def _granted_without_a_lease(history: History) -> None:
    decision(history, 1).update(answer="GRANTED")


def _without_its_receipt(history: History) -> None:
    decision(history, 2)["receipt"] = None


def _unreadable_decision(history: History) -> None:
    history.partitions[0].unreadable = 1


@pytest.mark.parametrize(
    ("spoil", "breach"),
    [
        (_second_commit, Breach.SECOND_COMMIT),
        (_second_commit_out_of_place, Breach.SECOND_COMMIT),
        (_forgotten_commit, Breach.LOST_COMMIT),
        (_commit_refused_again, Breach.LOST_COMMIT),
        (_granted_after_commit, Breach.GRANT_AFTER_COMMIT),
        (_overlapping_lease, Breach.LEASE_OVERLAP),
        (_late_commit, Breach.LATE_COMMIT),
        (_commit_of_an_older_token, Breach.LATE_COMMIT),
        (_token_back, Breach.TOKEN_WENT_BACK),
        (_token_again, Breach.TOKEN_WENT_BACK),
        (_over_budget, Breach.OVER_BUDGET),
        (_budget_miscounted, Breach.WRONG_FACTS),
        (_budget_spent_too_early, Breach.UNFOUNDED),
        (_missing, Breach.MISSING_DECISION),
        (_twice, Breach.DECISION_ORDER),
        (_swapped, Breach.DECISION_ORDER),
        (_unasked, Breach.DECISION_ORDER),
        (_of_nothing, Breach.DECISION_ORDER),
        (_other_partition, Breach.DECISION_ORDER),
        (_tenants_mixed_in_state, Breach.TENANTS_MIXED),
        (_tenants_mixed_in_name, Breach.TENANTS_MIXED),
        (_at_another_time, Breach.WRONG_TIME),
        (_attempts_forgotten, Breach.WRONG_FACTS),
        (_unsettled_forgotten, Breach.WRONG_FACTS),
        (_late_receipt_forgotten, Breach.WRONG_FACTS),
        (_lease_shortened, Breach.WRONG_FACTS),
        (_refused_for_nothing, Breach.UNFOUNDED),
        (_granted_without_a_lease, Breach.LEASE_OVERLAP),
        (_without_its_receipt, Breach.WRONG_FACTS),
        (_unreadable_decision, Breach.UNREADABLE),
    ],
)
def test_a_history_that_breaks_a_promise_is_found(spoil: Callable[[History], None], breach: Breach) -> None:
    history = a_good_one().history()
    spoil(history)
    assert breach in breaches(history)


def test_a_lease_that_nobody_ends_is_found_at_the_end_of_the_history() -> None:
    small = Small()
    small.claim(lease_s=5)
    assert check_history(small.history(later_s=4)).ends == {"open": 1}
    assert breaches(small.history(later_s=60)) == set()
    assert breaches(small.history(later_s=66)) == {Breach.LEASE_NEVER_ENDED}


def test_a_lease_that_is_ended_long_after_its_time_is_found_where_that_is_asked_for() -> None:
    small = Small()
    small.claim(lease_s=5)
    small.wait(25)
    small.ask("expire", fencing_token=1)
    account = check_history(small.history())
    assert (account.problems, account.longest_overdue) == ([], 20 * MICROS)
    assert breaches(small.history(), ended_within=19 * MICROS) == {Breach.LEASE_NEVER_ENDED}


def test_a_request_at_the_end_of_the_log_may_still_wait_for_its_decision_but_not_for_long() -> None:
    history = a_good_one().history(later_s=30)
    del history.partitions[0].decided[-1]
    account = check_history(history)
    assert (account.good, account.pending) == (True, 1)
    assert breaches(history, decided_within=29 * MICROS) == {Breach.MISSING_DECISION}


def test_one_wrong_decision_is_told_of_with_its_place_key_and_what_would_be_right() -> None:
    history = a_good_one().history()
    _refused_for_nothing(history)
    (problem, *_) = check_history(history).problems
    assert (problem.partition, problem.offset, str(problem.key)) == (0, 2, "t|k|s|1|b")
    assert "answered FENCED lease_over, which must be COMMITTED" in str(problem)


def test_problems_can_be_asked_for_by_tenant() -> None:
    history = a_good_one().history()
    _refused_for_nothing(history)
    account = check_history(history)
    assert account.of("u") == []
    assert account.of("t") == account.problems
