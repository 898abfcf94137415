"""What a receiver refuses for good: named and counted, and given up only where it takes other things."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.alert_records import alert

from unmask.consumers.alerts.answer import Refused
from unmask.consumers.alerts.change import Place
from unmask.consumers.alerts.outbox import Parcel
from unmask.consumers.alerts.receiver import Receiver, ReceiverKind
from unmask.consumers.alerts.refusals import DeliveryRefused, ReceiverRefusesAll, Refusals
from unmask.consumers.alerts.set_aside import SetAsideFile, SetAsideUnwritable

RECEIVER = Receiver(ReceiverKind.WEBHOOK, "https://hooks.example.org/s3cret?key=k3y")


def parcel(number: int) -> Parcel:
    return Parcel(number, (alert(f"u-{number}"),), 1, (Place(0, number),))


def test_a_refusal_names_the_delivery_the_status_and_what_to_do_and_counts() -> None:
    refusals = Refusals(RECEIVER)
    refusals.refused(parcel(1), Refused(400))
    error = refusals.refused(parcel(2), Refused(403)).error
    assert isinstance(error, DeliveryRefused)
    for part in (
        "UPSTREAM_OUTAGE|u-2", "FIRING", "partition 0, offset 2", "HTTP 403", "UNMASK_WATCH_AUTHORIZATION", "2 so far",
    ):  # fmt: skip
        assert part in str(error)
    assert "s3cret" not in str(error)
    assert "k3y" not in str(error)


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (301, "redirects are not followed"),
        (400, "docs/alerts.md"),
        (401, "credentials"),
        (404, "path"),
        (413, "limit"),
        (418, "receiver's log"),
    ],
)
def test_each_status_has_its_advice(status: int, advice: str) -> None:
    assert advice in str(Refusals(RECEIVER).refused(parcel(1), Refused(status)).error)


def test_what_was_refused_is_given_up_once_the_receiver_takes_something_else() -> None:
    refusals = Refusals(RECEIVER)
    refusals.refused(parcel(1), Refused(400))
    refusals.refused(parcel(2), Refused(400))
    assert refusals.accepted() == [Place(0, 1), Place(0, 2)]
    assert refusals.accepted() == []
    assert refusals.count == 2


def test_a_receiver_that_refuses_everything_ends_the_watcher_and_nothing_is_given_up() -> None:
    refusals = Refusals(RECEIVER, most_in_a_row=3)
    refusals.refused(parcel(1), Refused(404))
    refusals.refused(parcel(2), Refused(404))
    with pytest.raises(ReceiverRefusesAll, match=r"3 deliveries in a row.*HTTP 404.*path.*Nothing was given up"):
        refusals.refused(parcel(3), Refused(404))


def test_refusals_between_others_that_were_taken_never_end_the_watcher() -> None:
    refusals = Refusals(RECEIVER, most_in_a_row=2)
    for number in range(10):
        refusals.refused(parcel(number), Refused(400))
        assert refusals.accepted() == [Place(0, number)]
    assert refusals.count == 10


def test_a_file_holds_each_refused_delivery_with_its_alert_and_no_address(tmp_path: Path) -> None:
    path = tmp_path / "refused.jsonl"
    refusals = Refusals(RECEIVER)
    for number in (1, 2):
        file = SetAsideFile(path)
        file.write(RECEIVER, refusals.refused(parcel(number), Refused(422)), datetime(2026, 1, 1, tzinfo=UTC))
        file.close()
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    assert first == {
        "at": "2026-01-01T00:00:00Z",
        "receiver": "webhook",
        "status": 422,
        "places": [{"partition": 0, "offset": 1}],
        "alert": alert("u-1").model_dump(mode="json"),
    }
    assert second["places"] == [{"partition": 0, "offset": 2}]
    assert "s3cret" not in path.read_text()


def test_a_file_that_cannot_be_written_is_named_with_the_cause(tmp_path: Path) -> None:
    with pytest.raises(SetAsideUnwritable, match=r"no-folder.*No such file.*--set-aside"):
        SetAsideFile(tmp_path / "no-folder" / "x")
