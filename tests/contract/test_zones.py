"""The same events give the same bytes and the same windows, whatever the host's zone is. Case C06."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

PROGRAM = """
import hashlib, time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo
from unmask.schemas.codec import decode, encode
from unmask.schemas.instants import from_micros, iso, to_micros
from unmask.schemas.models import Quarantined, from_avro, to_avro
from unmask.schemas.testing import sample
from unmask.schemas.windowing import window_start

time.tzset()
new_york = ZoneInfo("America/New_York")
first = datetime(2026, 11, 1, 1, 30, tzinfo=new_york)
instants = [first, first.replace(fold=1), datetime(2026, 7, 1, 8, tzinfo=ZoneInfo("Asia/Shanghai"))]
for instant in instants:
    micros = to_micros(instant)
    model = from_avro(Quarantined, sample("quarantine", broker_time=micros))
    data = encode("quarantine", to_avro(model))
    again = from_avro(Quarantined, decode("quarantine", data))
    print(micros, iso(micros), model.model_dump_json(), hashlib.sha256(data).hexdigest())
    print(iso(window_start(micros, 60)), iso(window_start(micros, 3600)), to_micros(again.broker_time) == micros)
try:
    to_micros(datetime(2026, 11, 1, 1, 30))
except ValueError as error:
    print(type(error).__name__)
"""
ZONES = ["UTC", "America/New_York", "Asia/Shanghai", "Pacific/Chatham"]


def report(zone: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "TZ": zone},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


@pytest.fixture(scope="module")
def in_utc() -> str:
    return report("UTC")


@pytest.mark.parametrize("zone", ZONES[1:])
def test_bytes_and_windows_are_the_same_in_every_zone(zone: str, in_utc: str) -> None:
    assert report(zone) == in_utc


def test_the_repeated_hour_falls_into_two_windows_and_a_naive_value_into_none(in_utc: str) -> None:
    lines = in_utc.splitlines()
    assert lines[1] == "2026-11-01T05:30:00Z 2026-11-01T05:00:00Z True"
    assert lines[3] == "2026-11-01T06:30:00Z 2026-11-01T06:00:00Z True"
    assert lines[-1] == "NaiveDatetime"


def test_the_zones_of_this_test_do_differ() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert len({noon.astimezone(ZoneInfo(zone)).hour for zone in ZONES}) == len(ZONES)
