"""What a verdict says of a session's recoveries and delegations, beside its kind and its directive."""

import hashlib
from typing import Any

import pytest
from tests.session_parts import commit, delegation, selection
from tests.table_records import at, masked, session_tally, teardown

from unmask.schemas.codec import decode, encode
from unmask.schemas.verdict_digest import verify_digest
from unmask.streams.verdict import adjudicate

DRIFT = [
    selection("fast", 1, source="user", scope="session"),
    selection("safe", 2, reason_code="timeout"),
    selection("safe", 3),
]
"""What was chosen in turn 2 after a fault is used in turn 3, which has none."""


def judged(*tallies: dict[str, Any], accounts: dict[int, int] | None = None) -> dict[str, Any]:
    verdict = adjudicate(tallies, threshold=0.05, accounts=accounts)
    assert verdict is not None
    assert verify_digest(verdict)
    assert decode("verdict", encode("verdict", verdict)) == verdict
    return verdict


def ended(**parts: Any) -> dict[str, Any]:
    settings = {"teardowns": [teardown(40)], **parts}
    if "selections" in settings:
        settings.setdefault("selections_total", len(settings["selections"]))
    return session_tally(**settings)


def test_a_verdict_of_a_session_with_nothing_new_is_what_it_was_to_the_byte() -> None:
    """As the code before selections and delegations were known had it."""
    clean, two = (
        judged(ended()),
        judged(
            session_tally(last_seen_at=at(2)),
            session_tally(partition=1, emitters=["e2"], teardowns=[teardown(10, emitter="e2")]),
        ),
    )
    degraded = judged(
        session_tally(
            degraded=["a", "b"], masked=[masked("a"), masked("b")], unreachable=2, teardowns=[teardown(40, 2)]
        )
    )
    assert [hashlib.sha256(encode("verdict", verdict)).hexdigest() for verdict in (clean, degraded, two)] == [
        "739ba33989b33934aceaab140c2bde43c30b4998664d1bf830f024ad0ecb25f2",
        "75e7e0bbf43a394bc3cae7c0bd4f8da0dd704dec8f388309219d792abb271057",
        "1d9805f83c5c6d0ce2ac37fa7129672cedcea1c88a7f54666c925b3c1ee58f9e",
    ]


def test_a_drift_stands_beside_a_clean_success() -> None:
    verdict = judged(ended(selections=DRIFT))
    assert (verdict["verdict"], verdict["directive"]) == ("CLEAN_SUCCESS", "NONE")
    assert verdict["findings"] == ["PREFERENCE_DRIFT"]
    assert verdict["user_profile"] == "fast"
    (recovery,) = verdict["recoveries"]
    assert (recovery["profile"], recovery["turn"], recovery["state"]) == ("safe", 2, "open")
    assert recovery["findings"] == ["PREFERENCE_DRIFT"]


def test_a_recovery_that_ended_with_its_turn_is_told_and_nothing_is_found() -> None:
    verdict = judged(ended(selections=DRIFT[:2]))
    assert (verdict["findings"], verdict["user_profile"]) == ([], "fast")
    assert [recovery["state"] for recovery in verdict["recoveries"]] == ["expired"]


def test_selections_of_all_partitions_are_one_story() -> None:
    resumed = session_tally(last_seen_at=at(2), selections=DRIFT[:2], selections_total=2)
    rest = ended(partition=1, emitters=["e2"], teardowns=[teardown(40, emitter="e2")], selections=DRIFT[2:])
    verdict = judged(resumed, rest, accounts={0: at(9), 1: at(9)})
    assert verdict["findings"] == ["PREFERENCE_DRIFT"]


def test_where_events_are_missing_nothing_is_concluded_from_what_is_not_there() -> None:
    verdict = judged(ended(selections=DRIFT, evidence="LOSSY"))
    assert verdict["findings"] == ["LOSSY_EVIDENCE"]
    assert verdict["user_profile"] is None
    assert [recovery["profile"] for recovery in verdict["recoveries"]] == ["safe"]


def test_nor_from_what_was_cut_from_the_snapshot() -> None:
    # The fault of turn 3 may have been told before the oldest selection that is kept.
    verdict = judged(ended(selections=DRIFT[2:], selections_total=900))
    assert verdict["findings"] == []
    assert judged(ended(selections=DRIFT, selections_total=900))["findings"] == ["PREFERENCE_DRIFT"]


def test_recoveries_are_the_newest_where_there_are_many() -> None:
    many = [selection(f"p{n}", n, reason_code="timeout") for n in range(1, 101)]
    recoveries = judged(ended(selections=many, last_seen_at=at(20), teardowns=[teardown(9, minute=20)]))["recoveries"]
    assert [recovery["turn"] for recovery in recoveries] == list(range(37, 101))


def test_delegations_with_findings_are_listed_by_name_and_leave_the_kind_alone() -> None:
    stuck = delegation("b", tripped=True, trips=1)
    twice = delegation("a", committed=2, repeated_commits=1, commits=[commit("k", 1), commit("k", 2)])
    verdict = judged(ended(delegations=[stuck, twice, delegation("c")]))
    assert (verdict["verdict"], verdict["directive"]) == ("CLEAN_SUCCESS", "NONE")
    assert verdict["findings"] == ["STALLED_DELEGATION", "DUPLICATE_EFFECT"]
    assert verdict["delegations"] == [
        {"delegation_id": "a", "findings": ["DUPLICATE_EFFECT"]},
        {"delegation_id": "b", "findings": ["STALLED_DELEGATION"]},
    ]


def test_of_too_many_delegations_those_that_were_heard_of_last_are_listed() -> None:
    many = [delegation(f"d{n:03}", tripped=True, trips=1, last_step_at=at(n)) for n in range(100)]
    listed = [entry["delegation_id"] for entry in judged(ended(delegations=many))["delegations"]]
    assert listed == [f"d{n:03}" for n in range(36, 100)]


@pytest.mark.parametrize("parts", [{"identity_conflicts": ["e1"]}, {"delegations": [delegation(identity_conflicts=1)]}])
def test_where_two_claim_one_identity_the_evidence_is_not_complete(parts: dict[str, Any]) -> None:
    verdict = judged(ended(**parts))
    assert (verdict["verdict"], verdict["evidence"]) == ("DEGRADED_SUCCESS", "LOSSY")
    assert verdict["findings"] == ["LOSSY_EVIDENCE", "IDENTITY_CONFLICT"]


def test_an_emitter_that_tells_on_two_partitions_is_two_and_their_sum_is_no_answer() -> None:
    """Each emitter keeps the partition that it chose at its start, so that each partition takes its own for the one."""
    large, small = (selection(profile, 1, source="user", scope="session") for profile in ("large", "small"))
    here, accounts = ended(selections=[large]), {0: at(9), 1: at(9)}
    verdict = judged(here, ended(partition=1, selections=[small], teardowns=[]), accounts=accounts)
    assert (verdict["verdict"], verdict["evidence"]) == ("DEGRADED_SUCCESS", "LOSSY")
    assert verdict["findings"] == ["LOSSY_EVIDENCE", "IDENTITY_CONFLICT"]
    assert verdict["user_profile"] is None
    apart = judged(here, ended(partition=1, emitters=["e2"], selections=[small], teardowns=[]), accounts=accounts)
    assert (apart["evidence"], apart["findings"]) == ("COMPLETE", [])


def test_findings_never_make_a_failure_of_a_success_nor_lift_one() -> None:
    everything = {"selections": DRIFT, "delegations": [delegation(tripped=True, trips=1, repeated_commits=1)]}
    assert judged(ended(**everything))["verdict"] == "CLEAN_SUCCESS"
    failed = judged(ended(**everything, teardowns=[teardown(40, outcome="failure")]))
    assert (failed["verdict"], failed["directive"]) == ("HARD_FAILURE", "HALT_AND_ALERT_DEVELOPER")


def test_how_many_blocked_turns_are_too_many_is_a_rule_of_the_worker() -> None:
    blocked = ended(delegations=[delegation(blocked_turns=7, longest_blocked=7)])
    assert judged(blocked)["findings"] == []
    found = adjudicate([blocked], threshold=0.05, blocked_turns=7)
    assert found is not None
    assert found["findings"] == ["ENFORCEMENT_BLOCKED"]
