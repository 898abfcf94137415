"""How sessions end: by hand, by an exception that nobody caught, and with word of their teardown's delivery."""

import sys
import threading
from collections.abc import Iterator

import pytest
from tests.unit.producers.recorded import RecordingHost

from unmask.producers import current_session, uncaught


def test_a_session_may_be_opened_and_ended_by_hand(host: RecordingHost) -> None:
    session = host.session().begin()
    assert current_session() is session
    session.call("openai", lambda: 1)
    session.end()
    assert current_session() is None
    teardown = host.teardown(session)
    assert (teardown["outcome"], teardown["operations"]) == ("success", 1)
    session.end()
    assert host.teardown(session)["operations"] == 1


def test_a_session_that_is_ended_with_an_error_has_failed(host: RecordingHost) -> None:
    session = host.session().begin()
    session.end(ValueError("the text stays here"))
    assert host.teardown(session)["outcome"] == "failure"


def test_a_teardown_that_the_broker_has_not_is_not_called_delivered(host: RecordingHost) -> None:
    session = host.session().begin()
    delivery = session.end(wait=0.01)
    assert not delivery.acknowledged
    assert delivery.lost == 0
    assert delivery.pending >= 1


def test_a_session_that_goes_on_has_no_delivered_teardown(host: RecordingHost) -> None:
    with host.session() as session:
        assert not session.delivery(0).acknowledged
        with session:  # a second layer
            pass
        assert not session.delivery(0).acknowledged


@pytest.fixture
def hooks() -> Iterator[None]:
    before = threading.excepthook, uncaught._watched
    threading.excepthook = lambda args: None
    uncaught._watched = False
    yield
    threading.excepthook, uncaught._watched = before


@pytest.mark.usefixtures("hooks")
def test_an_exception_that_nobody_catches_in_a_thread_ends_its_session(host: RecordingHost) -> None:
    seen: list[object] = []
    threading.excepthook = lambda args: seen.append(args.exc_value)
    session, error = host.session(), RuntimeError("dies of it")

    def work() -> None:
        session.begin()
        raise error

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [error]
    assert host.teardown(session)["outcome"] == "failure"


@pytest.mark.usefixtures("hooks")
def test_a_thread_that_dies_beside_a_session_leaves_it_alone(host: RecordingHost) -> None:
    session = host.session().begin()
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    session.end()
    assert host.teardown(session)["outcome"] == "success"


@pytest.mark.usefixtures("hooks")
def test_a_hook_that_fails_fails_as_before_and_the_session_is_ended(host: RecordingHost) -> None:
    session, args = host.session(), threading.ExceptHookArgs((KeyError, KeyError("mine"), None, None))

    def failing(_: threading.ExceptHookArgs) -> None:
        raise RuntimeError("the hook's own")

    threading.excepthook = failing
    session.begin()
    with pytest.raises(RuntimeError, match="the hook's own"):
        threading.excepthook(args)
    assert host.teardown(session)["outcome"] == "failure"


def test_the_hook_of_the_main_thread_is_left_alone(host: RecordingHost) -> None:
    before = sys.excepthook
    host.session().begin().end()
    assert sys.excepthook is before


def test_two_threads_may_use_one_session_as_their_context(host: RecordingHost) -> None:
    session, both_in, found = host.session(), threading.Barrier(2, timeout=10), []

    def work() -> None:
        with session:
            both_in.wait()
            found.append(current_session())
            both_in.wait()
        found.append(current_session())

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [session, session, None, None]
    assert host.teardown(session)["outcome"] == "success"
