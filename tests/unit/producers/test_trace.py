"""Swallowed errors are attributed to an upstream where that is certain, and nowhere else."""

import asyncio
import gc
import logging
import threading
import types
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from tests.unit.producers.recorded import RecordingHost, fails

from unmask.producers import Session, Substitute, TraceHandler
from unmask.producers.trace import TRACE_LIMIT

log = logging.getLogger("agent.worker")
UNATTRIBUTED = ["UNATTRIBUTED"]


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)


class HttpError(Exception):
    def __init__(self, status: int, text: str = "text that stays here") -> None:
        super().__init__(text)
        self.status_code = status


def swallow(error: Exception, how: Callable[..., None] | None = None) -> None:
    try:
        raise error
    except Exception:
        (log.exception if how is None else how)("the primary path failed")


# -- what is found


@pytest.mark.parametrize(
    ("error", "signature"),
    [
        (TimeoutError("no answer after 5000 ms"), "TIMEOUT_5000ms"),
        (HttpError(503), "HTTP_503"),
        (ConnectionRefusedError(), "CONNECTION_REFUSED"),
        (RuntimeError("429 Too Many Requests"), "HTTP_429"),
        (Exception("insufficient quota"), "QUOTA_EXHAUSTED"),
    ],
)
def test_an_error_that_was_logged_and_swallowed_names_the_cause(
    host: RecordingHost, error: Exception, signature: str
) -> None:
    with host.session() as session, session.operation() as operation:
        swallow(error)
        operation.fell_back("openai", "cache")
    assert host.signatures(session) == [signature]


def _wrapped() -> Exception:
    try:
        try:
            raise HttpError(502)
        except HttpError as error:
            raise LookupError("no answer") from error
    except LookupError as error:
        return error


def _while_handling() -> Exception:
    try:
        try:
            raise TimeoutError
        except TimeoutError:
            raise LookupError("no answer")  # noqa: B904
    except LookupError as error:
        return error


@pytest.mark.parametrize(("error", "signature"), [(_wrapped(), "HTTP_502"), (_while_handling(), "TIMEOUT")])
def test_causes_and_contexts_are_followed(host: RecordingHost, error: Exception, signature: str) -> None:
    with host.session() as session, session.operation() as operation:
        log.error("failed", exc_info=error)
        operation.fell_back("openai", "cache")
    assert host.signatures(session) == [signature]


@pytest.mark.parametrize(
    "how",
    [
        lambda error: log.error("failed: %s", error),
        lambda error: log.warning("%(name)s: %(error)r", {"name": "x", "error": error}),
        lambda error: log.error(error),
        lambda error: log.debug("failed", exc_info=error),
        lambda error: log.log(35, "failed", exc_info=(type(error), error, None)),
    ],
)
def test_an_exception_is_found_wherever_a_log_call_carries_it(
    host: RecordingHost, how: Callable[[Exception], None]
) -> None:
    with host.session() as session, session.operation() as operation:
        how(HttpError(503))
        operation.fell_back("openai", "cache")
    assert host.signatures(session) == ["HTTP_503"]


def test_loggers_that_do_not_propagate_and_have_no_handler_are_heard(host: RecordingHost) -> None:
    alone = logging.getLogger("alone")
    alone.propagate = False
    with host.session() as session, session.operation() as operation:
        swallow(HttpError(503), alone.exception)
        operation.fell_back("openai", "cache")
    assert host.signatures(session) == ["HTTP_503"]


def test_an_exception_that_is_being_handled_is_the_cause(host: RecordingHost) -> None:
    with host.session() as session:
        try:
            raise HttpError(503)
        except HttpError:
            session.fell_back("openai", "cache")
        with session.operation() as operation:
            try:
                raise TimeoutError
            except TimeoutError:
                operation.failed("openai")
            operation.answered("cache")
    assert host.signatures(session) == ["HTTP_503", "TIMEOUT"]


def test_outside_of_an_operation_the_session_itself_is_asked(host: RecordingHost) -> None:
    with host.session() as session:
        swallow(HttpError(503))
        session.fell_back("openai", "cache")
        session.fell_back("openai", "cache")
        swallow(TimeoutError())
        host.emitter.record_masked_error(session.session_id, "op-9", "openai", None, "cache")
    assert host.signatures(session) == ["HTTP_503", "UNATTRIBUTED", "TIMEOUT"]


def test_an_answer_that_is_none_is_explained_by_what_its_try_swallowed(host: RecordingHost) -> None:
    def primary() -> None:
        swallow(HttpError(503))

    async def async_primary() -> None:
        await asyncio.to_thread(swallow, TimeoutError())

    with host.session() as session:
        swallow(ConnectionRefusedError())
        options: dict[str, Any] = {"accept": lambda answer: answer is not None}
        assert session.call("openai", primary, lambda: "cached", **options) == "cached"
        assert asyncio.run(session.acall("openai", async_primary, lambda: "cached", **options)) == "cached"
        assert session.call("openai", lambda: None, lambda: "cached", **options) == "cached"
    assert host.signatures(session) == ["HTTP_503", "TIMEOUT", "UNATTRIBUTED"]


def test_a_sentence_without_an_exception_counts_inside_of_a_try_alone(host: RecordingHost) -> None:
    def primary() -> None:
        log.error("gave up: timed out after %d ms", 700)

    with host.session() as session:
        session.call("openai", primary, lambda: 1, accept=bool)
        session.call("openai", lambda: log.warning("almost timed out"), lambda: 1, accept=bool)
        with session.operation() as operation:
            log.error("gave up: timed out after 700 ms")
            operation.fell_back("openai", "cache")
    assert host.signatures(session) == ["TIMEOUT_700ms", "UNATTRIBUTED", "UNATTRIBUTED"]


def test_a_try_that_raised_is_marked_with_what_it_raised(host: RecordingHost) -> None:
    with host.session() as session, session.operation() as operation:
        try:
            with operation.trying("openai"):
                raise HttpError(503)
        except HttpError:
            pass
        operation.answered("cache", receipt="cache.v2")
    (masked,) = host.masked(session)
    assert (masked["masked_upstream_signature"], masked["fallback_execution_receipt"]) == ("HTTP_503", "cache.v2")


def test_a_timeout_told_with_and_without_its_time_is_one(host: RecordingHost) -> None:
    with host.session() as session, session.operation() as operation:
        swallow(TimeoutError())
        swallow(TimeoutError("timed out after 5 s"))
        operation.fell_back("openai", "cache")
    assert host.signatures(session) == ["TIMEOUT_5000ms"]


# -- what is not


def test_without_a_trace_nothing_is_attributed(host: RecordingHost) -> None:
    with host.session(trace=False) as session, session.operation() as operation:
        swallow(HttpError(503))
        operation.fell_back("openai", "cache")
    assert host.signatures(session) == UNATTRIBUTED


def test_an_error_from_before_the_operation_is_not_its_own(host: RecordingHost) -> None:
    with host.session() as session:
        swallow(HttpError(503))
        with session.operation() as operation:
            operation.fell_back("openai", "cache")
        with session.operation("op-7"):
            swallow(HttpError(503))
        with session.operation("op-7") as operation:
            operation.fell_back("openai", "cache")
    assert host.signatures(session) == UNATTRIBUTED * 2


def test_an_error_that_was_being_handled_before_is_not_its_own(host: RecordingHost) -> None:
    with host.session() as session:
        try:
            raise TimeoutError
        except TimeoutError as older:
            with session.operation() as operation:
                operation.fell_back("openai", "cache")
                log.error("told again", exc_info=older)
                operation.fell_back("openai", "cache")
                try:
                    raise LookupError("nothing to do with it, but raised while the old one is handled")
                except LookupError:
                    log.exception("failed")
                    operation.fell_back("openai", "cache")
                operation.fell_back("openai", "cache")
                with suppress(LookupError), operation.trying("openai"):
                    raise LookupError  # noqa: B904
                operation.answered("cache")
                swallow(HttpError(503))
                operation.fell_back("openai", "cache")
            assert session.call("openai", fails(LookupError()), lambda: 1) == 1
    assert host.signatures(session) == [*UNATTRIBUTED * 5, "HTTP_503", "UNATTRIBUTED"]


def test_an_error_of_the_session_around_is_not_that_of_the_session_inside(host: RecordingHost) -> None:
    with host.session() as outer:
        with host.session() as inner:
            swallow(HttpError(503))
            outer.fell_back("openai", "cache")
        swallow(TimeoutError())
        inner.fell_back("openai", "cache")
    assert host.signatures(outer) == host.signatures(inner) == UNATTRIBUTED


def test_an_error_of_another_thread_is_not_this_ones(host: RecordingHost) -> None:
    def in_thread(work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    with host.session() as session, session.operation() as operation:
        in_thread(lambda: swallow(HttpError(503)))
        operation.fell_back("openai", "cache")
        in_thread(session.carry(lambda: swallow(HttpError(503))))
        operation.fell_back("openai", "cache")
    assert host.signatures(session) == UNATTRIBUTED * 2


def test_an_error_of_another_task_is_not_this_ones(host: RecordingHost) -> None:
    async def swallower() -> None:
        await asyncio.sleep(0)
        swallow(HttpError(503))

    async def faller(session: Session) -> None:
        await asyncio.sleep(0.01)
        session.fell_back("openai", "cache")

    async def work(session: Session) -> None:
        await asyncio.gather(swallower(), faller(session))
        with session.operation():
            await asyncio.gather(swallower(), faller(session))

    with host.session() as session:
        asyncio.run(work(session))
    assert host.signatures(session) == UNATTRIBUTED * 2


def test_an_error_of_a_try_of_another_upstream_is_not_this_ones(host: RecordingHost) -> None:
    with host.session() as session, session.operation() as operation:
        with operation.trying("prices"):
            swallow(HttpError(503))
        operation.fell_back("openai", "cache")
        operation.fell_back("prices", "cache")
    assert host.signatures(session) == ["UNATTRIBUTED", "HTTP_503"]


def test_an_error_of_a_nested_call_is_not_the_outer_ones(host: RecordingHost) -> None:
    def primary(session: Session) -> None:
        session.call("prices", lambda: swallow(HttpError(503)), lambda: 1, accept=bool)

    with host.session() as session:
        session.call("openai", lambda: primary(session), lambda: 1, accept=bool)
    found = {each["upstream"]: each["masked_upstream_signature"] for each in host.masked(session)}
    assert found == {"prices": "HTTP_503", "openai": "UNATTRIBUTED"}


OWN_FAULTS = [
    ValueError("timeout must be positive"), KeyError("connection reset"), FileNotFoundError("503"),
    PermissionError(13, "Permission denied"), IndexError(), ZeroDivisionError(), NotImplementedError("rate limit"),
    AssertionError("timed out"), OSError(28, "No space left on device"), asyncio.CancelledError(), SystemExit(503),
    UnicodeDecodeError("utf-8", b"x", 0, 1, "invalid"),
]  # fmt: skip


@pytest.mark.parametrize("error", OWN_FAULTS, ids=repr)
def test_a_fault_of_the_program_itself_is_no_upstreams(host: RecordingHost, error: BaseException) -> None:
    with host.session() as session, session.operation() as operation:
        log.error("failed", exc_info=error)
        operation.fell_back("openai", "cache")
    assert host.signatures(session) == UNATTRIBUTED


@pytest.mark.parametrize("logger", ["opentelemetry.exporter.otlp", "statsd", "asyncio", "concurrent.futures"])
def test_what_a_host_is_observed_with_is_no_upstream(host: RecordingHost, logger: str) -> None:
    with host.session() as session, session.operation() as operation:
        swallow(ConnectionRefusedError(), logging.getLogger(logger).exception)
        operation.fell_back("openai", "cache")
    assert host.signatures(session) == UNATTRIBUTED


def test_a_host_says_what_else_is_none(host: RecordingHost) -> None:
    with host.session(bystanders=["app.metrics"]) as session, session.operation() as operation:
        swallow(ConnectionRefusedError(), logging.getLogger("app.metrics.push").exception)
        operation.fell_back("openai", "cache")
        swallow(ConnectionRefusedError(), logging.getLogger("app.metricsystem").exception)
        operation.fell_back("openai", "cache")
    assert host.signatures(session) == ["UNATTRIBUTED", "CONNECTION_REFUSED"]


def test_two_different_errors_prove_nothing(host: RecordingHost) -> None:
    with host.session() as session, session.operation() as operation:
        swallow(ConnectionRefusedError())
        swallow(HttpError(503))
        operation.fell_back("openai", "cache")
    assert host.signatures(session) == UNATTRIBUTED


def test_errors_that_made_room_might_have_been_different(host: RecordingHost) -> None:
    with host.session() as session:
        with session.operation() as operation:
            for _ in range(TRACE_LIMIT + 1):
                swallow(HttpError(503))
            operation.fell_back("openai", "cache")
        with session.operation() as operation:
            swallow(HttpError(503))
            operation.fell_back("openai", "cache")
        for _ in range(TRACE_LIMIT + 1):
            swallow(HttpError(502))
        session.fell_back("openai", "cache")
        swallow(HttpError(502))
        session.fell_back("openai", "cache")
    assert host.signatures(session) == ["UNATTRIBUTED", "HTTP_503", "UNATTRIBUTED", "HTTP_502"]


def test_an_error_is_attributed_once(host: RecordingHost) -> None:
    with host.session() as session, session.operation() as operation:
        swallow(HttpError(503))
        operation.failed("openai")
        operation.failed("azure")
        operation.answered("cache")
    assert host.signatures(session) == ["HTTP_503", "UNATTRIBUTED"]


@pytest.mark.parametrize(
    "notice",
    ["Retrying request to %s in %f seconds", "will retry", "attempt failed, retry in 5 s", "Backing off for 3 s"],
)
def test_an_error_before_a_retry_was_answered_for_by_the_retry(host: RecordingHost, notice: str) -> None:
    def primary() -> None:
        swallow(HttpError(503))
        log.info(notice, *(["x", 1.0] if "%" in notice else []))

    def twice() -> None:
        primary()
        swallow(TimeoutError())

    with host.session() as session:
        session.call("openai", primary, lambda: 1, accept=bool)
        session.call("openai", twice, lambda: 1, accept=bool)
    assert host.signatures(session) == ["UNATTRIBUTED", "TIMEOUT"]


def test_giving_up_after_retries_is_no_retry(host: RecordingHost) -> None:
    def primary() -> None:
        log.error("giving up after retrying 3 times: %s", HttpError(503))

    with host.session() as session:
        session.call("openai", primary, lambda: 1, accept=bool)
    assert host.signatures(session) == ["HTTP_503"]


# -- names


def test_an_error_that_names_the_upstream_is_its_own_among_others(host: RecordingHost) -> None:
    with host.session() as session, session.operation() as operation:
        swallow(HttpError(503), logging.getLogger("price_service.client").exception)
        swallow(ConnectionRefusedError())
        operation.fell_back("Price-Service", "cache")
    assert host.signatures(session) == ["HTTP_503"]


def test_an_error_that_names_another_upstream_of_the_session_is_not_its_own(host: RecordingHost) -> None:
    with host.session() as session:
        session.call("prices", lambda: 1)
        with session.operation() as operation:
            swallow(HttpError(503), logging.getLogger("prices").exception)
            operation.fell_back("openai", "cache")
    assert host.signatures(session) == UNATTRIBUTED


def _module(name: str, source: str) -> Any:
    module = types.ModuleType(name)
    exec(source, module.__dict__)  # a package of its own, as far as tracebacks tell
    return module


def test_the_packages_that_an_error_came_through_name_it(host: RecordingHost) -> None:
    sdk = _module("openai._client", "def ask():\n    raise ConnectionRefusedError")
    with host.session() as session, session.operation() as operation:
        swallow(HttpError(503))
        try:
            sdk.ask()
        except ConnectionRefusedError:
            log.exception("failed")
        operation.fell_back("openai", "cache")
    assert host.signatures(session) == ["CONNECTION_REFUSED"]


def test_the_package_that_caught_an_error_names_only_itself(host: RecordingHost) -> None:
    source = """
def fail(error):
    raise error
def swallow(log, error):
    try:
        fail(error)
    except Exception:
        log.exception("failed")
"""
    agent = _module("agent.main", source)
    with host.session() as session, session.operation() as operation:
        agent.swallow(logging.getLogger("x"), ConnectionRefusedError())
        agent.swallow(logging.getLogger("x"), HttpError(503))
        operation.fell_back("agent", "cache")
    assert host.signatures(session) == UNATTRIBUTED


# -- the host is left alone


def test_a_log_record_is_unchanged_and_the_hosts_factory_stays_in_charge(
    host: RecordingHost, caplog: pytest.LogCaptureFixture
) -> None:
    class Special(logging.LogRecord):
        pass

    before = logging.getLogRecordFactory()
    logging.setLogRecordFactory(Special)
    try:
        plain = vars(logging.getLogger("x").makeRecord("x", 40, "f", 1, "m", (), None))
        with host.session() as session, session.operation() as operation:
            swallow(HttpError(503))
            record = caplog.records[-1]
            operation.fell_back("openai", "cache")
        assert type(record) is Special
        assert set(vars(record)) - set(plain) <= {"message", "asctime"}
    finally:
        logging.setLogRecordFactory(before)
    assert host.signatures(session) == ["HTTP_503"]


def test_listening_leaves_the_hosts_handlers_alone(host: RecordingHost) -> None:
    handlers, level = list(logging.root.handlers), logging.root.level
    with host.session():
        assert logging.root.handlers == handlers
        assert logging.root.level == level


def test_what_a_log_call_raises_it_still_raises_and_what_is_hostile_disturbs_nothing(host: RecordingHost) -> None:
    class Hostile(Exception):
        def __str__(self) -> str:
            raise RuntimeError

        def __getattr__(self, name: str) -> Any:
            raise RuntimeError

    unheard = logging.getLogger("unheard")
    unheard.addFilter(lambda _: False)
    with host.session() as session, session.operation() as operation:
        with pytest.raises(KeyError, match="overwrite"):
            log.error("x", extra={"name": "y"})
        unheard.error("failed", exc_info=Hostile())
        operation.fell_back("openai", "cache")
    assert host.signatures(session) == UNATTRIBUTED


def test_no_exception_and_no_frame_is_kept_alive(host: RecordingHost) -> None:
    class Local:
        pass

    def fail(kept: list[weakref.ref[Any]]) -> None:
        local, error = Local(), HttpError(503)
        kept += [weakref.ref(local), weakref.ref(error)]
        try:
            raise error
        finally:
            del error  # or this frame and its exception would keep each other

    def failing(kept: list[weakref.ref[Any]]) -> list[Any]:
        fail(kept)
        return []

    def swallowing(kept: list[weakref.ref[Any]]) -> None:
        try:
            fail(kept)
        except HttpError:
            log.info("failed", exc_info=False)
            logging.getLogger("unheard").exception("failed")

    logging.getLogger("unheard").addFilter(lambda _: False)
    kept: list[weakref.ref[Any]] = []
    gc.collect()
    gc.disable()
    try:
        with host.session() as session, session.operation() as operation:
            swallowing(kept)
            session.call("openai", lambda: fail(kept), lambda: 1)
            list(session.stream("openai", partial(failing, kept), Substitute("x", lambda: [1])))
            with pytest.raises(ZeroDivisionError):
                session.call("openai", lambda: fail(kept), fails(ZeroDivisionError()))
            assert len(kept) == 8
            assert [ref() for ref in kept] == [None] * 8
            operation.fell_back("openai", "cache")
    finally:
        gc.enable()
    assert host.signatures(session)[-1] == "HTTP_503"


def test_a_handler_listens_to_records_of_other_libraries(host: RecordingHost) -> None:
    record = logging.LogRecord("loguru", 40, "f", 1, "failed", (), (HttpError, HttpError(503), None))
    with host.session() as session, session.operation() as operation:
        TraceHandler().handle(record)
        operation.fell_back("openai", "cache")
    assert host.signatures(session) == ["HTTP_503"]
