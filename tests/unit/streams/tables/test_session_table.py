"""Sessions of one table partition: verdicts, their alerts, and what they inherit."""

from itertools import count
from typing import Any

from tests.table_records import at, masked, session_tally, teardown

from unmask.schemas.codes import Directive
from unmask.schemas.keys import session_key
from unmask.streams.tables.obligations import ObligationBook
from unmask.streams.tables.rules import TableRules
from unmask.streams.tables.session_table import JudgedSession, SessionTable
from unmask.streams.tables.standing_verdict import StandingVerdict
from unmask.streams.verdict import Obligation, adjudicate


class Known:
    """What is known of other sessions, from a book that the test fills."""

    def __init__(self) -> None:
        self.book = ObligationBook()

    def knows(self, session_id: str) -> bool:
        return self.book.verdict_of(session_id) is not None

    def open_obligation(self, session_id: str) -> Obligation | None:
        return self.book.open_obligation(session_id)

    def cuts_circle(self, session_id: str, predecessor: str) -> bool:
        return self.book.cuts_circle(session_id, predecessor)

    def discharged_at(self, session_id: str, digest: str) -> int | None:
        return self.book.discharged_at(session_id, digest)

    def withdrawn_at(self, session_id: str) -> int | None:
        return self.book.withdrawn_at(session_id)


def table(known: Known, *tallies: dict[str, Any]) -> SessionTable:
    made = SessionTable(TableRules(table_partitions=1), known)
    for tally in tallies:
        made.apply(session_key(tally["session_id"], tally["partition"]), tally)
    return made


def take(made: SessionTable, standing: StandingVerdict | None = None) -> dict[str, JudgedSession]:
    return {judged.session_id: judged for judged in made.take_judged(lambda _: standing)}


def firing(judged: JudgedSession) -> list[str]:
    return [alert["kind"] for alert in judged.alerts if alert["state"] == "FIRING"]


def degraded(session_id: str = "s1", **parts: Any) -> dict[str, Any]:
    settings = {"teardowns": [teardown(10, 2)], **parts}
    return session_tally(session_id, degraded=["a", "b"], masked=[masked("a"), masked("b")], unreachable=2, **settings)


def verdict_of(tally: dict[str, Any]) -> dict[str, Any]:
    verdict = adjudicate([tally], threshold=0.05)
    assert verdict is not None
    return verdict


def discharge(verdict: dict[str, Any], step: str = "RECONCILED", *, mutating: bool = True) -> dict[str, Any]:
    return {
        "session_id": verdict["session_id"], "step": step, "verdict_digest": verdict["digest"], "occurred_at": at(30),
        "mutating": mutating,
    }  # fmt: skip


def test_a_degraded_session_fires_before_its_teardown() -> None:
    judged = take(table(Known(), degraded(teardowns=[])))["s1"]
    assert judged.verdict is None
    assert firing(judged) == ["DEGRADED_SESSION"]
    assert judged.alerts[0]["since"] == at(0)


def test_a_clean_session_fires_nothing() -> None:
    judged = take(table(Known(), session_tally(teardowns=[teardown(10)])))["s1"]
    assert judged.verdict is not None
    assert (judged.verdict["verdict"], firing(judged)) == ("CLEAN_SUCCESS", [])


def test_a_failed_session_fires_as_a_failure() -> None:
    judged = take(table(Known(), session_tally(abandoned_at=at(9))))["s1"]
    assert firing(judged) == ["HARD_FAILURE"]
    assert judged.alerts[1]["directive"] == "HALT_AND_ALERT_DEVELOPER"


def test_a_contradicted_host_fires_beside_the_degraded_session() -> None:
    judged = take(table(Known(), degraded(teardowns=[teardown(10, 0)])))["s1"]
    assert firing(judged) == ["DEGRADED_SESSION", "CONTRADICTION"]
    assert judged.alerts[2]["causes"] == ["degraded_operations"]


def test_a_discharged_session_fires_nothing_any_more() -> None:
    known = Known()
    assert known.book.apply_admission(discharge(verdict_of(degraded())))
    judged = take(table(known, degraded()))["s1"]
    assert firing(judged) == []
    assert judged.alerts[0]["until"] == at(30)


def test_a_session_is_judged_once_until_something_changes() -> None:
    made = table(Known(), degraded())
    assert list(take(made)) == ["s1"]
    assert take(made) == {}
    made.apply(session_key("s1", 0), degraded(offset=11))
    assert list(take(made)) == ["s1"]


def test_an_older_snapshot_changes_nothing() -> None:
    made = table(Known(), degraded(offset=20))
    take(made)
    made.apply(session_key("s1", 0), session_tally(offset=19))
    assert take(made) == {}


def test_a_predecessor_s_open_directive_is_inherited_whichever_verdict_comes_first() -> None:
    known = Known()
    made = table(known, session_tally("s2", predecessor_session_id="s1", teardowns=[teardown(10)]))
    first = take(made)["s2"].verdict
    assert first is not None
    assert first["verdict"] == "CLEAN_SUCCESS"
    known.book.apply_verdict("s1", verdict_of(degraded()))
    made.touch("s1")
    second = take(made)["s2"].verdict
    assert second is not None
    assert (second["verdict"], second["inherited_from"]) == ("DEGRADED_SUCCESS", ["s1"])


def test_what_was_carried_out_is_no_longer_inherited() -> None:
    known = Known()
    known.book.apply_verdict("s1", verdict_of(degraded()))
    made = table(known, session_tally("s2", predecessor_session_id="s1", teardowns=[teardown(10)]))
    take(made)
    known.book.apply_admission(discharge(verdict_of(degraded())))
    made.touch("s1")
    verdict = take(made)["s2"].verdict
    assert verdict is not None
    assert (verdict["verdict"], verdict["inherited_from"]) == ("CLEAN_SUCCESS", [])


def test_a_failed_attempt_to_carry_it_out_discharges_nothing() -> None:
    book = ObligationBook()
    book.apply_verdict("s1", verdict_of(degraded()))
    assert not book.apply_admission(discharge(verdict_of(degraded()), step="RECONCILE_FAILED"))
    assert book.open_obligation("s1") is not None


def test_an_earlier_discharge_does_not_cover_a_verdict_that_grew_worse() -> None:
    book = ObligationBook()
    book.apply_admission(discharge(verdict_of(degraded())))
    book.apply_verdict("s1", verdict_of(degraded(shape_drifts=1)))
    assert book.open_obligation("s1") is not None


def test_a_worker_that_knows_nothing_of_the_predecessor_does_not_turn_a_verdict_clean() -> None:
    tally = session_tally("s2", predecessor_session_id="s1", teardowns=[teardown(10)])
    left = Obligation("s1", Directive.PROBE_UPSTREAM_BEFORE_ACTION, ("s0",))
    stood = adjudicate([tally], threshold=0.05, obligations=[left])
    assert stood is not None
    standing = StandingVerdict.of(stood)
    made = table(Known(), tally)
    verdict = take(made, standing)["s2"].verdict
    assert verdict is not None
    assert verdict["inherited_from"] == ["s1", "s0"]
    assert verdict["directive"] == "PROBE_UPSTREAM_BEFORE_ACTION"


def test_a_session_that_the_ledger_gave_up_is_forgotten() -> None:
    made = table(Known(), degraded(predecessor_session_id="s0"))
    made.apply(session_key("s1", 0), None)
    assert "s1" not in made
    made.touch("s0")
    assert take(made) == {}


def test_a_session_of_two_partitions_is_kept_until_both_gave_it_up() -> None:
    made = table(Known(), degraded(), degraded(partition=1))
    made.apply(session_key("s1", 0), None)
    assert "s1" in made
    made.apply(session_key("s1", 1), None)
    assert "s1" not in made


def test_a_verdict_of_the_predecessor_that_was_replayed_discharges_nothing() -> None:
    book = ObligationBook()
    clean = adjudicate([session_tally(teardowns=[teardown(10)])], threshold=0.05)
    assert clean is not None
    book.apply_verdict("s1", {**clean, "sequence": 7})
    book.apply_verdict("s1", {**verdict_of(degraded()), "sequence": 8})
    book.apply_verdict("s1", {**clean, "sequence": 7})
    assert book.open_obligation("s1") is not None


def test_a_verdict_that_was_removed_and_written_once_more_discharges_nothing() -> None:
    book = ObligationBook()
    clean = adjudicate([session_tally(teardowns=[teardown(10)])], threshold=0.05)
    assert clean is not None
    book.apply_verdict("s1", {**clean, "sequence": 7})
    book.apply_verdict("s1", {**verdict_of(degraded()), "sequence": 8})
    book.apply_verdict("s1", None)
    # Nobody says to have withdrawn it: what it left to be done is still to be done.
    assert book.open_obligation("s1") is not None
    book.apply_verdict("s1", {**clean, "sequence": 7})
    assert book.open_obligation("s1") is not None


def test_a_verdict_that_an_operator_withdrew_binds_nobody_until_there_is_another_one() -> None:
    book = ObligationBook()
    book.apply_verdict("s1", {**verdict_of(degraded()), "sequence": 8})
    book.apply_verdict("s1", None)
    book.apply_admission({"session_id": "s1", "step": "WITHDRAWN", "occurred_at": at(30)})
    assert book.verdict_of("s1") is None
    assert book.open_obligation("s1") is None
    book.apply_verdict("s1", {**verdict_of(degraded()), "sequence": 9})
    assert book.open_obligation("s1") is not None


def test_what_an_operator_allowed_a_reader_leaves_the_directive_open() -> None:
    book = ObligationBook()
    book.apply_verdict("s1", verdict_of(degraded()))
    assert not book.apply_admission(discharge(verdict_of(degraded()), step="OVERRIDDEN", mutating=False))
    assert book.open_obligation("s1") is not None
    assert book.apply_admission(discharge(verdict_of(degraded()), step="OVERRIDDEN"))
    assert book.open_obligation("s1") is None


def test_sessions_that_continue_one_another_in_a_circle_come_to_rest() -> None:
    """Else each would inherit its own directive, be another verdict for it, and be judged for ever."""
    known = Known()
    circle = [degraded("s1", predecessor_session_id="s2"), degraded("s2", predecessor_session_id="s1")]
    made = table(known, *circle, degraded("s3", predecessor_session_id="s3"))
    stands: dict[str, dict[str, Any]] = {}
    numbers = count(1)

    def settle() -> None:
        for _ in range(10):
            changed = {}
            for name, judged in take(made).items():
                assert judged.verdict is not None
                if stands.get(name, {}).get("digest") != judged.verdict["digest"]:
                    changed[name] = stands[name] = judged.verdict
            if not changed:
                return
            for name, verdict in changed.items():
                known.book.apply_verdict(name, {**verdict, "sequence": next(numbers)})
                made.touch(name)
        raise AssertionError("they are judged for ever")

    settle()
    assert {name: verdict["inherited_from"] for name, verdict in stands.items()} == {"s1": [], "s2": ["s1"], "s3": []}
    for name in ("s1", "s2", "s3"):
        known.book.apply_admission(discharge(stands[name]))
        made.touch(name)
        settle()
    assert {name: verdict["inherited_from"] for name, verdict in stands.items()} == {"s1": [], "s2": [], "s3": []}


def test_a_withdrawn_session_still_alerts_to_what_was_seen_of_it() -> None:
    known = Known()
    known.book.apply_admission({"session_id": "s1", "step": "WITHDRAWN", "occurred_at": at(30)})
    judged = take(table(known, degraded()))["s1"]
    assert judged.withdrawn
    assert firing(judged) == ["DEGRADED_SESSION"]


def test_the_later_of_two_withdrawals_holds() -> None:
    book = ObligationBook()
    for minute in (30, 20):
        assert book.apply_admission({"session_id": "s1", "step": "WITHDRAWN", "occurred_at": at(minute)})
    assert book.withdrawn_at("s1") == at(30)
    assert book.withdrawn_at("s2") is None


def test_a_failure_alerts_although_another_host_has_not_accounted_yet() -> None:
    elsewhere = session_tally(partition=1, emitters=["e2"], last_seen_at=at(2))
    judged = take(table(Known(), session_tally(teardowns=[teardown(10, outcome="failure")]), elsewhere))["s1"]
    assert judged.verdict is not None
    assert judged.verdict["evidence"] == "PENDING"
    assert firing(judged) == ["HARD_FAILURE"]
