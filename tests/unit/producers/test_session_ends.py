"""How sessions end: by hand, by an exception that nobody caught, and with word of their teardown's delivery."""

import subprocess
import sys
import textwrap
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
    before = sys.excepthook, threading.excepthook, uncaught._in_place
    threading.excepthook = lambda args: None
    uncaught._in_place = False
    yield
    sys.excepthook, threading.excepthook, uncaught._in_place = before


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


def test_a_program_dies_of_its_exception_as_ever_and_its_session_is_torn_down() -> None:
    program = textwrap.dedent(
        """
        import sys
        from unmask.producers import Emitter, EmitterSettings
        from unmask.producers.store import MemoryStore
        sys.excepthook = lambda kind, error, traceback: print("hook", kind.__name__)
        emitter = Emitter(
            EmitterSettings(bootstrap_servers="127.0.0.1:1", close_timeout_ms=0), stores=lambda owner: MemoryStore()
        )
        before = emitter.close_session
        emitter.close_session = lambda claims: (print("failed", claims.failed), before(claims))
        emitter.session("s-1").begin()
        raise RuntimeError("text")
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split("\n")[:2] == ["hook RuntimeError", "failed True"]
    assert done.returncode == 1
