"""What stands beside a verdict, as the recount sees it, and what the log cannot tell of it."""

from collections.abc import Callable

import pytest
from tests.unit.consumers.verify.hosts import Host, Log, at
from tests.unit.consumers.verify.recounting import recount_of
from tests.unit.consumers.verify.stream_in_memory import InMemoryStream

from unmask.consumers.verify.beside import BESIDE
from unmask.consumers.verify.evidence import AsOf
from unmask.consumers.verify.judgement import Judgement, NotJudged, judge, verdict_fields
from unmask.consumers.verify.rules import RecountRules
from unmask.schemas.testing import sample

Act = Callable[[Host], None]


def told(*acts: Act, together: bool = True) -> Log:
    """A session that each of these hosts tells of in its first 10 s and ends at 20 s."""
    log, hosts = Log(), [Host(f"e-{number}") for number in range(len(acts))]
    for second in (1, 10, 20):
        for number, (host, act) in enumerate(zip(hosts, acts, strict=True)):
            if second == 1:
                host.opening(1, "s-1")
            elif second == 10:
                act(host)
            else:
                host.teardown(20, "s-1")
            log.append(second + number * 0.1, host.cut(second), 0 if together else number)
    return log


def judged(log: Log) -> Judgement | NotJudged:
    recount = recount_of(log, RecountRules(), None)
    as_of = AsOf({0: at(30), 1: at(30)}, {0: 0, 1: 0})
    return judge(recount, as_of, recount.sessions["s-1"], threshold=0.05, inherited=())


def beside(log: Log) -> dict[str, object]:
    found = judged(log)
    assert isinstance(found, Judgement), found
    return {name: found.fields[name] for name in BESIDE if name in found.fields}


def test_of_a_session_without_choices_and_delegations_nothing_is_found() -> None:
    assert beside(told(lambda _: None)) == {
        "recoveries": "", "recovery_findings": "", "user_profile": None, "delegations": "", "delegation_findings": "",
    }  # fmt: skip


def test_a_drift_is_found_with_its_life_and_the_users_own_choice() -> None:
    def drift(host: Host) -> None:
        host.selection(2, "s-1", turn=1, profile="large", source="user", scope="session", reason_code=None)
        host.selection(3, "s-1", turn=2)
        host.selection(4, "s-1", turn=2, timeline="persisted")

    found = beside(told(drift))
    assert found["recovery_findings"] == "PREFERENCE_DRIFT"
    assert found["user_profile"] == "large"
    assert '"state": "open"' in str(found["recoveries"])


@pytest.mark.parametrize(
    ("act", "finding"),
    [
        (lambda host: [host.call(2, "s-1", state_digest=s, measure=None) for s in "abbbbbbbbbb"], "STALLED_DELEGATION"),
        (lambda host: [host.call(2, "s-1", budget_calls=1) for _ in range(2)], "BUDGET_EXCEEDED"),
        (lambda host: [host.effect(2, "s-1", turn=turn) for turn in range(1, 21)], "ENFORCEMENT_BLOCKED"),
        (
            lambda host: [
                host.effect(2, "s-1", step="committed", effect_key="k", fencing_token=token) for token in (1, 2)
            ],
            "DUPLICATE_EFFECT",
        ),
        (lambda host: [host.call(2, "s-1", signal=None) for _ in range(8)], "INADEQUATE_SIGNAL"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_delegation_is_found(act: Act, finding: str) -> None:
    found = beside(told(act))
    assert found["delegations"] == f"d-1: {finding}"
    assert found["delegation_findings"] == finding


@pytest.mark.parametrize(
    "act",
    [
        lambda host: [host.effect(2, "s-1", turn=turn) for turn in range(1, 20)],
        lambda host: [
            host.effect(2, "s-1", step="committed", effect_key="k", fencing_token=1, receipt=receipt)
            for receipt in (None, "r", None)
        ],
    ],
)
def test_what_is_not_enough_or_told_twice_is_not_found(act: Act) -> None:
    assert beside(told(act))["delegations"] == ""


def test_a_run_that_two_emitters_tell_of_leaves_a_doubt() -> None:
    found = judged(told(lambda host: host.call(2, "s-1"), lambda host: host.call(2, "s-1")))
    assert isinstance(found, Judgement)
    assert found.fields["delegation_findings"] == "IDENTITY_CONFLICT"
    assert found.fields["evidence"] == "LOSSY"


def test_among_more_runs_than_the_stream_keeps_the_doubt_itself_is_in_doubt() -> None:
    def many(host: Host) -> None:
        for number in range(40):
            host.call(2, "s-1", invocation_id=f"i-{number}")

    found = judged(told(many, many))
    assert isinstance(found, NotJudged)
    assert "one run of a delegation" in found.why


def test_more_selections_than_the_stream_keeps_are_not_compared_and_that_is_said() -> None:
    def choose(host: Host) -> None:
        for turn in range(300):
            host.selection(2 + turn / 100, "s-1", turn=turn)

    log = told(choose)
    assert set(beside(log)) == {"delegations", "delegation_findings"}
    skipped = _compared(log)
    assert skipped == {("verdicts", "its recoveries: more selections than the stream keeps"): 1}


def test_delegations_on_several_partitions_are_not_compared_and_that_is_said() -> None:
    log = told(
        lambda host: host.call(2, "s-1", invocation_id="i-1"), lambda host: host.call(3, "s-1", invocation_id="i-2"),
        together=False,
    )  # fmt: skip
    found = judged(log)
    assert isinstance(found, Judgement)
    assert not {"delegations", "delegation_findings"} & found.fields.keys()
    assert [why for _, why in _compared(log)] == list(found.unknown)
    assert "several partitions" in found.unknown[0]


def _compared(log: Log) -> dict[tuple[str, str], int]:
    stream = InMemoryStream()
    stream.feed(log.records)
    stream.publish(at(90))
    stream.publish(at(91))
    examined = stream.compare(log)
    assert examined.mismatches == []
    assert examined.verdicts == 1
    return {(what, why): n for (what, why), n in examined.not_checked.items() if what == "verdicts"}


def test_a_verdict_that_tells_other_work_is_different() -> None:
    """As one that a worker published which had no words for it."""
    record = sample("verdict", recoveries=[], delegations=[], user_profile=None, findings=["PREFERENCE_DRIFT"])
    fields = verdict_fields(record)
    assert {name: fields[name] for name in BESIDE} == {
        "recoveries": "", "recovery_findings": "PREFERENCE_DRIFT", "user_profile": None, "delegations": "",
        "delegation_findings": "",
    }  # fmt: skip
    assert verdict_fields(sample("verdict"))["delegations"] != ""
