"""What a status means: taken, later, or never."""

from datetime import UTC, datetime

import pytest

from unmask.consumers.alerts.answer import Accepted, Failed, Refused, asked_for, read_status

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_any_success_is_taken(status: int) -> None:
    assert read_status(status, None, NOW) == Accepted(status)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 522, 599])
def test_what_may_pass_is_tried_again(status: int) -> None:
    assert read_status(status, None, NOW) == Failed(f"HTTP {status}")


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 425, 451])
def test_what_does_not_pass_by_itself_is_refused(status: int) -> None:
    assert read_status(status, "5", NOW) == Refused(status)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        (" 7 ", 7.0),
        ("999999999999999999999", 300.0),
        ("Thu, 01 Jan 2026 12:00:30 GMT", 30.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
        ("Fri, 01 Jan 2027 00:00:00 GMT", 300.0),
        ("soon", None),
        ("-3", None),
        ("1.5", None),
        ("²", None),
        ("", None),
    ],
)
def test_the_pause_that_a_receiver_asks_for_is_read_and_bounded(header: str | None, seconds: float | None) -> None:
    assert asked_for(header, NOW) == seconds
    assert read_status(503, header, NOW) == Failed("HTTP 503", seconds)
