"""Nothing is dispatched before the gate has answered, and no refusal is remembered."""

import asyncio
import threading
import time

import pytest
from tests.unit.consumers.gate.asking import SESSION, StubGate

from unmask.consumers.gate import Halted, NotReady, NoVerdict, Passage, ReconcileFirst
from unmask.consumers.testing import clean_verdict, degraded_verdict, failed_verdict


def test_the_gate_is_asked_once_for_many_requests() -> None:
    gate = StubGate(clean_verdict(SESSION))
    passage = Passage(gate, SESSION)
    assert all(passage.check(mutating=mutating).admitted for mutating in (True, False, True))
    assert gate.asked == [(SESSION, True)]


def test_a_refusal_is_asked_about_anew_with_the_next_request() -> None:
    gate = StubGate()
    passage = Passage(gate, SESSION)
    for _ in range(2):
        with pytest.raises(NoVerdict):
            passage.check()
    gate.now = clean_verdict(SESSION)
    assert passage.check().admitted
    assert len(gate.asked) == 3


def test_an_admission_is_asked_for_again_after_a_while() -> None:
    now = [0.0]
    gate = StubGate(clean_verdict(SESSION))
    passage = Passage(gate, SESSION, recheck=60.0, clock=lambda: now[0])
    passage.check()
    gate.now = failed_verdict(SESSION)
    now[0] = 59.9
    assert passage.check().admitted
    now[0] = 60.0
    with pytest.raises(Halted):
        passage.check()


def test_what_was_admitted_for_reads_does_not_cover_changes() -> None:
    gate = StubGate(degraded_verdict(SESSION, operations=100, degraded=5, equivalent=True))
    passage = Passage(gate, SESSION)
    assert passage.check_method("get").admitted
    assert passage.check_method("HEAD").admitted
    for method in ("POST", "DELETE", "PATCH", "PUT", "BREW"):
        with pytest.raises(ReconcileFirst):
            passage.check_method(method)
    assert passage.check_method("GET").admitted


def test_a_directive_is_carried_out_first_where_a_probe_is_given() -> None:
    gate = StubGate(degraded_verdict(SESSION))
    passage = Passage(gate, SESSION, probe=lambda owed: owed.upstreams == ("prices",))
    assert passage.check().admitted
    assert gate.kept == ["RECONCILED"]
    assert passage.check().admitted
    assert gate.kept == ["RECONCILED"]


def test_requests_of_many_threads_and_tasks_share_one_question() -> None:
    gate = StubGate(clean_verdict(SESSION))
    admit = gate.admit

    def slowly(session_id: str, **question: object) -> object:
        time.sleep(0.05)
        return admit(session_id, **question)  # type: ignore[arg-type]

    gate.admit = slowly  # type: ignore[method-assign,assignment]
    passage = Passage(gate, SESSION)
    threads = [threading.Thread(target=passage.check) for _ in range(8)]
    for thread in threads:
        thread.start()

    async def ask_all() -> None:
        await asyncio.gather(*(passage.acheck() for _ in range(8)))

    asyncio.run(ask_all())
    for thread in threads:
        thread.join()
    assert len(gate.asked) == 1


def test_an_asynchronous_refusal_is_raised_too() -> None:
    passage = Passage(StubGate("The broker is down."), SESSION)

    async def ask() -> None:
        await passage.acheck_method("GET")

    with pytest.raises(NotReady, match=r"The broker is down\."):
        asyncio.run(ask())


def test_those_who_wait_at_the_same_time_are_refused_by_one_question_that_began_after_they_came() -> None:
    """A broker that does not answer costs each of them two questions at most, and not one for everybody before it."""
    gate = StubGate("The broker is down.")
    admit, asking, answer = gate.admit, threading.Event(), threading.Event()

    def slowly(session_id: str, **question: object) -> object:
        asking.set()
        assert answer.wait(10)
        return admit(session_id, **question)  # type: ignore[arg-type]

    gate.admit = slowly  # type: ignore[method-assign,assignment]
    passage = Passage(gate, SESSION)

    async def ask_all() -> list[object]:
        first = asyncio.create_task(passage.acheck())
        await asyncio.to_thread(asking.wait, 10)
        others = [asyncio.create_task(passage.acheck()) for _ in range(100)]
        await asyncio.sleep(0)
        answer.set()
        return list(await asyncio.gather(first, *others, return_exceptions=True))

    outcomes = asyncio.run(ask_all())
    assert {type(outcome) for outcome in outcomes} == {NotReady}
    assert len(gate.asked) == 2


def test_a_gate_that_does_not_answer_leaves_the_loop_its_own_threads() -> None:
    gate = StubGate("The broker is down.")
    admit, answer = gate.admit, threading.Event()

    def slowly(session_id: str, **question: object) -> object:
        assert answer.wait(10)
        return admit(session_id, **question)  # type: ignore[arg-type]

    gate.admit = slowly  # type: ignore[method-assign,assignment]

    async def ask() -> str:
        waiting = [asyncio.create_task(Passage(gate, SESSION).acheck()) for _ in range(100)]
        await asyncio.sleep(0)
        found = await asyncio.wait_for(asyncio.to_thread(lambda: "looked up"), 5)
        answer.set()
        await asyncio.gather(*waiting, return_exceptions=True)
        return found

    assert asyncio.run(ask()) == "looked up"
