"""Calls leave what the host's functions return and raise as it is, and notice what is no fallback."""

import asyncio
import sys
from functools import partial
from types import MethodType
from typing import Any

import pytest
from tests.unit.producers.recorded import RecordingHost, fails

from unmask.producers import NotAttempted, Substitute


class Client:
    def __init__(self, name: str = "") -> None:
        self.answers: list[Any] = ["answer"] if name else [TimeoutError(), "answer"]

    def ask(self, *_: object, **__: object) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def other(self, *_: object, **__: object) -> Any:
        return self.ask()


def test_a_bound_method_that_is_looked_up_again_is_the_same_call(host: RecordingHost) -> None:
    client, prompt = Client(), "prompt"
    with host.session() as session:
        assert session.call("openai", client.ask, client.ask) == "answer"
        client.answers = [TimeoutError(), "answer"]
        assert session.call("openai", partial(client.ask, prompt, n=1), partial(client.ask, prompt, n=1)) == "answer"
    assert host.masked(session) == []
    assert host.teardown(session)["degraded_operations"] == 0


@pytest.mark.parametrize(
    "second",
    [
        lambda client: client.other,
        lambda client: Client("other").ask,
        lambda client: partial(client.ask, "a", n=2),
        lambda client: partial(client.ask, "b", n=1),
        lambda client: partial(client.ask, "a"),
        lambda client: partial(client.ask, "a", [], n=1),
        lambda client: lambda: client.ask(),
    ],
)
def test_a_call_that_only_looks_alike_is_a_fallback(host: RecordingHost, second: Any) -> None:
    client = Client()
    first: Any = client.ask if isinstance(second(client), MethodType) else partial(client.ask, "a", n=1)
    with host.session() as session:
        assert session.call("openai", first, second(client)) == "answer"
    assert len(host.masked(session)) == 1


def test_answers_are_the_hosts_own_objects(host: RecordingHost) -> None:
    answer = object()

    async def later() -> object:
        return answer

    with host.session() as session:
        assert session.call("openai", lambda: answer) is answer
        assert session.call("openai", fails(TimeoutError()), lambda: answer) is answer
        assert asyncio.run(session.acall("openai", later)) is answer
        assert asyncio.run(session.acall("openai", lambda: answer)) is answer


def test_an_error_keeps_its_cause_context_and_notes(host: RecordingHost) -> None:
    def primary() -> None:
        try:
            raise KeyError("inner")
        except KeyError:
            error = TimeoutError("outer")
            error.add_note("noted")
            raise error  # noqa: B904

    with host.session() as session:
        try:
            raise ValueError("what the host was handling")
        except ValueError:
            with pytest.raises(TimeoutError) as raised:
                session.call("openai", fails(ConnectionResetError()), primary)
    error = raised.value
    assert isinstance(error.__context__, KeyError)
    assert isinstance(error.__context__.__context__, ValueError)
    assert error.__cause__ is None
    assert error.__notes__ == ["noted"]
    assert sys.exception() is None


def test_an_answer_that_is_none_is_looked_for_elsewhere(host: RecordingHost) -> None:
    def filled(answer: Any) -> bool:
        return bool(answer)

    with host.session() as session:
        assert session.call("openai", lambda: "", lambda: "cached", accept=filled) == "cached"
        assert session.call("openai", lambda: "", lambda: None, accept=filled) is None
        assert session.call("openai", lambda: "", accept=filled) == ""
        assert session.call("openai", lambda: "full", lambda: "cached", accept=filled) == "full"
    assert host.signatures(session) == ["UNATTRIBUTED"] * 2
    assert host.teardown(session)["operations"] == 4


def test_what_the_hosts_own_judgement_raises_is_raised(host: RecordingHost) -> None:
    error = LookupError("mine")
    with host.session() as session, pytest.raises(LookupError) as raised:
        session.call("openai", lambda: 1, lambda: 2, accept=fails(error))
    assert raised.value is error
    assert host.masked(session) == []


def test_a_primary_that_may_not_be_called_is_not_attempted(host: RecordingHost) -> None:
    with host.session() as session:
        assert session.call("openai", None, lambda: "cached", capability="calls-open") == "cached"
        assert asyncio.run(session.acall("openai", None, lambda: "cached")) == "cached"
        with pytest.raises(NotAttempted, match="nothing stands in"):
            session.call("openai", None)
        with pytest.raises(NotAttempted, match="nothing stands in"):
            asyncio.run(session.acall("openai", None))
    assert host.signatures(session) == ["NOT_ATTEMPTED"] * 2
    (fallback,) = host.fallbacks(session)
    assert fallback["reason_code"] == "circuit_open"
    assert host.attempts("calls-open") == 1


def test_an_unknown_option_is_the_callers_mistake(host: RecordingHost) -> None:
    with host.session() as session, pytest.raises(TypeError, match="capabilty"):
        session.call("openai", lambda: 1, capabilty="x")  # type: ignore[call-overload]


class Hostile:
    """Raises whatever is done with it."""

    def _raise(self, *_: object) -> Any:
        raise RuntimeError

    __str__ = __eq__ = __hash__ = __bool__ = __len__ = _raise


def test_hostile_labels_and_answers_do_not_disturb_a_call(host: RecordingHost) -> None:
    hostile: Any = Hostile()
    with host.session() as session:
        assert session.call(hostile, fails(TimeoutError()), lambda: hostile, capability=hostile) is hostile
        assert session.call("openai", fails(TimeoutError()), Substitute(hostile, lambda: hostile)) is hostile
        assert session.call("openai", lambda: hostile, request=hostile, receipt=hostile, run_id=hostile) is hostile
        assert next(session.stream(hostile, lambda: [hostile], capability=hostile)) is hostile
        with session.operation(hostile, capability=hostile) as operation:
            operation.failed(hostile, hostile)
            operation.answered(hostile, answer=hostile, request=hostile)
            with operation.trying(hostile):
                pass
        session.fell_back(hostile, hostile, hostile)
    assert host.teardown(session)["outcome"] == "success"
