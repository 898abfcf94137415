"""What a successor can do with an answer: carry a directive out, be overridden, or be stopped by name."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from unmask.consumers.gate import (
    EXIT_CODES,
    Admission,
    AdmissionAnswer,
    AdmissionRefused,
    AdmissionStep,
    Entry,
    Guard,
    Halted,
    NoRecord,
    NothingToAppeal,
    NotReady,
    NoVerdict,
    Obligation,
    OverrideNotNamed,
    ReconcileFirst,
    Recorded,
    Tombstone,
    Undecodable,
    Unproven,
    Unread,
    Unverifiable,
    VerdictFacts,
    Withdrawn,
    decide,
    exit_code_table,
)
from unmask.consumers.gate.recorder import admission_record
from unmask.consumers.testing import clean_verdict, degraded_verdict, failed_verdict
from unmask.schemas.codec import decode, encode
from unmask.schemas.codes import Directive

SESSION = "session-1"


@dataclass
class Desk:
    """Stands in for a gate: says what the topic holds now, and keeps what it is given, or cannot."""

    now: dict[str, Any]
    cannot: str | None = None
    kept: list[dict[str, Any]] = field(default_factory=list)

    def look_again(self, admission: Admission) -> Admission:
        answer = decide(Recorded(SESSION, SESSION, self.now), mutating=admission.mutating)
        return replace(answer, admission_id=admission.admission_id, desk=self)

    def keep(
        self,
        admission: Admission,
        *,
        about: VerdictFacts | None,
        by: str | None = None,
        reason_code: str | None = None,
    ) -> str | None:
        if self.cannot is None:
            self.kept.append(admission_record(admission, 1, about=about, by=by, reason_code=reason_code))
        return self.cannot


def asked(verdict: dict[str, Any], desk: Desk, *, mutating: bool = True) -> Admission:
    answer = decide(Recorded(SESSION, SESSION, verdict), mutating=mutating)
    return replace(answer, admission_id="question-1", desk=desk)


def test_a_directive_that_was_carried_out_admits_and_is_recorded() -> None:
    verdict = degraded_verdict(SESSION)
    desk = Desk(verdict)
    seen: list[Obligation] = []

    def probe(obligation: Obligation) -> bool:
        seen.append(obligation)
        return True

    admission = asked(verdict, desk).reconcile(probe)
    assert admission.answer is AdmissionAnswer.ADMITTED
    assert seen[0].directive is Directive.PROBE_UPSTREAM_BEFORE_ACTION
    assert seen[0].upstreams == ("prices",)
    assert seen[0].signatures == ("HTTP_503",)
    assert [(r["step"], r["answer"], r["verdict_digest"]) for r in desk.kept] == [
        ("RECONCILED", "ADMITTED", verdict["digest"])
    ]


@pytest.mark.parametrize("outcome", [False, None, 1, "yes", object()])
def test_only_true_means_that_a_probe_succeeded(outcome: Any) -> None:
    verdict = degraded_verdict(SESSION)
    desk = Desk(verdict)
    admission = asked(verdict, desk).reconcile(lambda _: outcome)
    assert admission.answer is AdmissionAnswer.RECONCILE_FIRST
    assert [r["step"] for r in desk.kept] == ["RECONCILE_FAILED"]


def test_a_probe_that_raises_failed_and_its_text_is_not_kept() -> None:
    verdict = degraded_verdict(SESSION)
    desk = Desk(verdict)

    def probe(obligation: Obligation) -> bool:
        raise ConnectionError("sk-live-canary at https://example.invalid")

    admission = asked(verdict, desk).reconcile(probe)
    assert admission.answer is AdmissionAnswer.RECONCILE_FIRST
    assert "ConnectionError" in admission.reason
    assert "canary" not in admission.reason + repr(desk.kept)


def test_a_failed_directive_can_be_tried_again() -> None:
    verdict = degraded_verdict(SESSION)
    desk = Desk(verdict)
    admission = asked(verdict, desk).reconcile(lambda _: False).reconcile(lambda _: True)
    assert admission.admitted
    assert [r["step"] for r in desk.kept] == ["RECONCILE_FAILED", "RECONCILED"]


@pytest.mark.parametrize("succeeds", [True, False])
def test_what_cannot_be_recorded_does_not_admit(succeeds: bool) -> None:
    verdict = degraded_verdict(SESSION)
    admission = asked(verdict, Desk(verdict, cannot="The broker is down.")).reconcile(lambda _: succeeds)
    assert admission.answer is AdmissionAnswer.NOT_READY
    assert "The broker is down." in admission.reason


def test_an_answer_without_a_gate_behind_it_cannot_be_raised() -> None:
    admission = decide(Recorded(SESSION, SESSION, degraded_verdict(SESSION)))
    assert admission.reconcile(lambda _: True).answer is AdmissionAnswer.NOT_READY
    assert admission.override(by="ana", reason_code="drill").answer is AdmissionAnswer.NOT_READY


def test_a_verdict_that_changed_meanwhile_decides_anew() -> None:
    verdict = degraded_verdict(SESSION)
    desk = Desk(failed_verdict(SESSION))
    admission = asked(verdict, desk).reconcile(lambda _: True)
    assert admission.answer is AdmissionAnswer.HALTED
    assert desk.kept[0]["verdict_digest"] == verdict["digest"]


def test_nothing_is_carried_out_where_nothing_is_owed() -> None:
    verdict = clean_verdict(SESSION)
    admission = asked(verdict, Desk(verdict))
    assert admission.reconcile(lambda _: pytest.fail("called")) is admission


@pytest.mark.parametrize(
    ("entry", "refusal"),
    [
        (Recorded(SESSION, SESSION, degraded_verdict(SESSION)), ReconcileFirst),
        (Recorded(SESSION, SESSION, failed_verdict(SESSION)), Halted),
        (NoRecord(SESSION), NoVerdict),
        (Tombstone(SESSION), Withdrawn),
        (Recorded(SESSION, SESSION, clean_verdict(SESSION, evidence="LOSSY")), Unproven),
        (Undecodable(SESSION, "BAD_MAGIC"), Unverifiable),
        (Unread(SESSION, "The broker is down."), NotReady),
    ],
)
def test_each_refusal_is_a_type_of_its_own_and_stops_the_body(entry: Entry, refusal: type[AdmissionRefused]) -> None:
    admission = decide(entry)
    with pytest.raises(refusal) as stopped:
        admission.raise_for_refusal()
    assert type(stopped.value) is refusal
    assert stopped.value.admission is admission
    assert str(admission.answer) in str(stopped.value)
    with pytest.raises(refusal), Guard(lambda: admission):
        pytest.fail("the body ran")


def test_a_halted_session_cannot_be_reconciled() -> None:
    verdict = failed_verdict(SESSION)
    with pytest.raises(Halted):
        asked(verdict, Desk(verdict)).reconcile(lambda _: pytest.fail("called"))


def test_a_read_only_admission_stays_when_its_probe_fails() -> None:
    verdict = degraded_verdict(SESSION, operations=100, degraded=5, equivalent=True)
    desk = Desk(verdict)
    admission = asked(verdict, desk, mutating=False)
    assert admission.answer is AdmissionAnswer.ADMITTED_READ_ONLY
    assert admission.reconcile(lambda _: False).answer is AdmissionAnswer.ADMITTED_READ_ONLY
    assert admission.reconcile(lambda _: True).answer is AdmissionAnswer.ADMITTED


def test_an_operator_may_let_a_failed_session_pass_by_name() -> None:
    verdict = failed_verdict(SESSION)
    desk = Desk(verdict)
    admission = asked(verdict, desk).override(by="ana", reason_code="false_alarm")
    assert admission.admitted
    assert admission.step is AdmissionStep.OVERRIDDEN
    assert [(r["step"], r["by"], r["reason_code"]) for r in desk.kept] == [("OVERRIDDEN", "ana", "false_alarm")]


@pytest.mark.parametrize(("by", "reason_code"), [("", "drill"), ("ana", ""), ("ana@example.org", "x"), ("ana", "a b")])
def test_an_override_without_name_and_reason_is_not_possible(by: str, reason_code: str) -> None:
    verdict = failed_verdict(SESSION)
    desk = Desk(verdict)
    with pytest.raises(OverrideNotNamed):
        asked(verdict, desk).override(by=by, reason_code=reason_code)
    assert desk.kept == []


def test_an_asynchronous_probe_is_awaited() -> None:
    verdict = degraded_verdict(SESSION)

    async def probe(obligation: Obligation) -> bool:
        await asyncio.sleep(0)
        return True

    assert asyncio.run(asked(verdict, Desk(verdict)).areconcile(probe)).admitted


def test_an_asynchronous_probe_given_to_the_synchronous_way_fails_instead_of_passing() -> None:
    verdict = degraded_verdict(SESSION)

    async def probe(obligation: Obligation) -> bool:
        return True

    admission = asked(verdict, Desk(verdict)).reconcile(probe)  # type: ignore[arg-type]
    assert not admission.admitted
    assert "areconcile" in admission.reason


def test_a_guard_carries_the_directive_out_first_and_then_runs_functions_and_coroutines() -> None:
    verdict = degraded_verdict(SESSION)
    desk = Desk(verdict)
    guard = Guard(lambda: asked(verdict, desk), probe=lambda _: True)

    @guard
    def work(number: int) -> int:
        return number + 1

    @guard
    async def work_async(number: int) -> int:
        return number + 2

    assert work(1) == 2
    assert asyncio.run(work_async(1)) == 3
    assert len(desk.kept) == 2


def test_a_guarded_function_of_a_refused_session_does_not_run() -> None:
    ran: list[int] = []
    guard = Guard(lambda: decide(NoRecord(SESSION)))
    with pytest.raises(NoVerdict):
        guard(ran.append)(1)

    async def work() -> None:
        ran.append(2)

    with pytest.raises(NoVerdict):
        asyncio.run(guard(work)())

    async def items() -> AsyncIterator[int]:
        ran.append(3)
        yield 3

    async def read() -> None:
        async for _ in guard(items)():
            pass

    with pytest.raises(NoVerdict):
        asyncio.run(read())
    assert ran == []


def test_a_guarded_stream_of_an_admitted_session_delivers_its_items() -> None:
    verdict = clean_verdict(SESSION)
    guard = Guard(lambda: asked(verdict, Desk(verdict)))

    @guard
    async def items(count: int) -> AsyncIterator[int]:
        for number in range(count):
            yield number

    async def read() -> list[int]:
        return [item async for item in items(3)]

    assert asyncio.run(read()) == [0, 1, 2]


def test_a_successor_that_changes_things_is_never_admitted_for_reads_only() -> None:
    with pytest.raises(ValueError, match="reads only"):
        Admission(AdmissionAnswer.ADMITTED_READ_ONLY, SESSION, "", mutating=True)


def test_every_answer_has_an_exit_code_of_its_own_and_only_admitted_is_zero() -> None:
    assert set(EXIT_CODES) == set(AdmissionAnswer)
    assert len(set(EXIT_CODES.values())) == len(EXIT_CODES)
    assert [answer for answer, code in EXIT_CODES.items() if code == 0] == [AdmissionAnswer.ADMITTED]
    # 1 and 2 mean a failed or misused command.
    assert not {1, 2} & set(EXIT_CODES.values())
    assert [code for code, _, _ in exit_code_table()] == sorted(EXIT_CODES.values())


@pytest.mark.parametrize("verdict", [clean_verdict(SESSION), degraded_verdict(SESSION), failed_verdict(SESSION)])
def test_an_admission_is_json_and_a_record_of_the_contract(verdict: dict[str, Any]) -> None:
    admission = asked(verdict, Desk(verdict))
    assert json.loads(json.dumps(admission.as_dict(), allow_nan=False))["exit_code"] == admission.exit_code
    record = admission_record(admission, 1_700_000_000_000_000, about=admission.verdict)
    assert decode("admission", encode("admission", record)) == record


def test_an_override_may_be_awaited() -> None:
    verdict = failed_verdict(SESSION)
    desk = Desk(verdict)
    assert asyncio.run(asked(verdict, desk).aoverride(by="ana", reason_code="drill")).admitted
    assert [(record["step"], record["by"]) for record in desk.kept] == [("OVERRIDDEN", "ana")]


@pytest.mark.parametrize(("act", "step"), [("appeal", "APPEALED"), ("vindicate", "VINDICATED")])
def test_a_refusal_can_be_held_to_be_wrong_by_name_and_stays_a_refusal(act: str, step: str) -> None:
    verdict = degraded_verdict(SESSION)
    desk = Desk(verdict)
    admission = getattr(asked(verdict, desk), act)(by="ana", reason_code="stale_data")
    assert (admission.answer, admission.admitted) == (AdmissionAnswer.RECONCILE_FIRST, False)
    (kept,) = desk.kept
    assert (kept["step"], kept["answer"], kept["by"], kept["reason_code"]) == (
        step, "RECONCILE_FIRST", "ana", "stale_data",
    )  # fmt: skip
    assert (kept["admission_id"], kept["verdict_digest"]) == ("question-1", verdict["digest"])
    assert decode("admission", encode("admission", kept)) == kept
    # What was owed is owed still, and can be carried out.
    assert admission.reconcile(lambda _: True).admitted


def test_what_is_admitted_cannot_be_appealed() -> None:
    verdict = clean_verdict(SESSION)
    with pytest.raises(NothingToAppeal, match="ADMITTED"):
        asked(verdict, Desk(verdict)).appeal(by="ana", reason_code="why_not")


@pytest.mark.parametrize("part", ["by", "reason_code"])
def test_an_appeal_needs_a_name_and_a_reason(part: str) -> None:
    verdict = degraded_verdict(SESSION)
    named = {"by": "ana", "reason_code": "stale", part: "not a token"}
    with pytest.raises(OverrideNotNamed, match=f"{part}.*an appeal"):
        asked(verdict, Desk(verdict)).appeal(**named)


def test_an_appeal_that_cannot_be_recorded_says_so_and_admits_nobody() -> None:
    verdict = degraded_verdict(SESSION)
    admission = asked(verdict, Desk(verdict, cannot="The broker is down.")).appeal(by="ana", reason_code="stale")
    assert admission.answer is AdmissionAnswer.NOT_READY


def test_appeals_do_not_block_the_loop() -> None:
    verdict = degraded_verdict(SESSION)
    desk = Desk(verdict)

    async def both() -> None:
        admission = await asked(verdict, desk).aappeal(by="ana", reason_code="stale")
        await admission.avindicate(by="bo", reason_code="batch_came")

    asyncio.run(both())
    assert [record["step"] for record in desk.kept] == ["APPEALED", "VINDICATED"]


def test_the_successor_is_told_which_profile_the_user_chose_last() -> None:
    chosen = clean_verdict(SESSION, user_profile="large")
    assert decide(Recorded(SESSION, SESSION, chosen)).user_profile == "large"
    assert decide(Recorded(SESSION, SESSION, chosen)).as_dict()["user_profile"] == "large"
    # A refusal may tell it as well: who carries a directive out begins from intent too.
    refused = degraded_verdict(SESSION, user_profile="large")
    assert decide(Recorded(SESSION, SESSION, refused)).user_profile == "large"


@pytest.mark.parametrize(
    "entry",
    [
        Recorded(SESSION, SESSION, clean_verdict(SESSION)),
        # A later choice may be among what is missing.
        Recorded(SESSION, SESSION, degraded_verdict(SESSION, evidence="LOSSY", user_profile="large")),
        # It is part of what the digest proves.
        Recorded(SESSION, SESSION, {**clean_verdict(SESSION, user_profile="large"), "user_profile": "other"}),
        Recorded(SESSION, SESSION, {**clean_verdict(SESSION), "user_profile": "large"}),
        NoRecord(SESSION),
        Unread(SESSION, "The broker is down."),
    ],
)
def test_no_profile_is_told_where_nothing_is_proven(entry: Entry) -> None:
    assert decide(entry).user_profile is None


def test_a_profile_that_is_no_token_makes_the_verdict_unverifiable() -> None:
    admission = decide(Recorded(SESSION, SESSION, clean_verdict(SESSION, user_profile="not a token")))
    assert (admission.answer, admission.user_profile) == (AdmissionAnswer.UNVERIFIABLE, None)
