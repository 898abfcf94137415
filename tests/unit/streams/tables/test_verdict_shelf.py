"""What stands on the verdict topic, when others write to it who should not."""

from pathlib import Path
from typing import Any

import pytest
from tests.table_records import masked, session_tally, teardown

from unmask.schemas.codec import decode, encode
from unmask.schemas.signing import sign_verdict
from unmask.schemas.signing_keys import PrivateKey, generate_key
from unmask.schemas.verdict_digest import seal
from unmask.streams.tables.verdict_check import RecordCheck
from unmask.streams.tables.verdict_shelf import DOUBT, VerdictShelf
from unmask.streams.verdict import adjudicate

TOPIC = "unmask.verdicts"


def judged(offset: int = 10, *, errors: int = 0) -> dict[str, Any]:
    names = [f"op{n}" for n in range(errors)]
    found = adjudicate(
        [
            session_tally(
                offset=offset, degraded=names, masked=[masked(name) for name in names],
                teardowns=[teardown(40, errors)],
            )
        ],
        threshold=0.05,
    )  # fmt: skip
    assert found is not None
    return found


def shelf() -> VerdictShelf:
    return VerdictShelf(RecordCheck(TOPIC))


def put(on: VerdictShelf, verdict: dict[str, Any], now: int = 1_000) -> bytes:
    published = on.put(verdict, now)
    assert published is not None
    return encode("verdict", published)


def sequence(value: bytes) -> int:
    return int(decode("verdict", value)["sequence"])


def test_each_verdict_of_a_session_is_numbered_higher_than_the_one_before() -> None:
    on = shelf()
    first = put(on, judged(), now=1_000)
    second = put(on, judged(20, errors=2), now=999_999)
    assert (sequence(first), sequence(second)) == (1_000, 1_001)


def test_its_own_records_come_back_and_change_nothing_however_late() -> None:
    on = shelf()
    first, second = put(on, judged()), put(on, judged(20, errors=2))
    assert on.note("s1", first)
    assert on.note("s1", second)
    assert not on.usurped("s1")
    assert on.put(judged(30, errors=2), 5_000) is None


def test_an_own_record_that_is_written_once_more_is_a_replay() -> None:
    on = shelf()
    first, second = put(on, judged()), put(on, judged(20, errors=2))
    assert on.note("s1", first)
    assert on.note("s1", second)
    assert not on.note("s1", first)
    assert on.take_usurped() == [("s1", "replayed")]
    restored = on.put(judged(30, errors=2), 5_000)
    assert restored is not None
    assert (restored["sequence"], restored["degraded_operations"]) == (1_002, 2)
    assert not on.usurped("s1")


def test_the_newest_record_once_more_is_no_replay() -> None:
    on = shelf()
    first = put(on, judged())
    assert on.note("s1", first)
    assert on.note("s1", first)
    assert on.take_usurped() == []


def test_what_cannot_be_believed_displaces_nothing_and_what_stood_is_published_again() -> None:
    on = shelf()
    on.note("s1", put(on, judged(errors=2)))
    clean = {**judged(99), "sequence": 5_000}
    for value in (b"nonsense", b"", encode("verdict", {**clean, "operations": 41})):
        assert not on.note("s1", value)
        standing = on.get("s1")
        assert standing is not None
        assert standing.degraded_operations == 2
        restored = on.put(judged(errors=2), 9_000)
        assert restored is not None
        on.note("s1", encode("verdict", restored))
    assert on.put(judged(errors=2), 9_000) is None


def test_a_replay_that_was_read_back_at_the_start_is_found_too() -> None:
    writer = shelf()
    first, second = put(writer, judged()), put(writer, judged(20, errors=2))
    reader = shelf()
    assert reader.note("s1", first)
    assert reader.note("s1", second)
    assert not reader.note("s1", first)
    standing = reader.get("s1")
    assert standing is not None
    assert standing.degraded_operations == 2


def test_a_second_writer_under_the_same_number_is_found_whoever_comes_last() -> None:
    one, other = shelf(), shelf()
    value = put(one, judged())
    one.note("s1", value)
    other.note("s1", value)
    mine, theirs = put(one, judged(20, errors=2)), put(other, judged(15, errors=1))
    assert not one.note("s1", theirs)
    assert one.note("s1", mine)
    restored = one.put(judged(20, errors=2), 5_000)
    assert restored is not None
    assert restored["sequence"] == 1_002


def test_a_tombstone_takes_off_what_stood_and_the_next_number_is_still_higher() -> None:
    on = shelf()
    first = put(on, judged(), now=1_000)
    on.note("s1", first)
    assert on.withdraw("s1")
    assert not on.withdraw("s1")
    on.note("s1", None)
    assert on.put(judged(), 2_000) is None
    assert on.due(2_000) == []
    assert on.due(2_000 + DOUBT) == ["s1"]
    assert sequence(put(on, judged(), now=2_000 + DOUBT)) > sequence(first)
    assert on.due(3_000 + DOUBT) == []


def test_what_was_written_before_a_tombstone_is_a_replay_after_it() -> None:
    on = shelf()
    first, second = put(on, judged()), put(on, judged(20, errors=2))
    for value in (first, second, None):
        assert on.note("s1", value)
    for value in (first, second):
        assert not on.note("s1", value)
        assert on.get("s1") is None
    assert on.put(judged(20, errors=2), 5_000) is None
    assert on.due(5_000 + DOUBT) == ["s1"]
    # By a clock that is behind, too, the next number is higher than all that were written.
    assert sequence(put(on, judged(20, errors=2), now=500)) > sequence(second)
    assert not on.usurped("s1")


@pytest.fixture
def key(tmp_path: Path) -> PrivateKey:
    return generate_key(tmp_path / "key.pem")


def test_with_trusted_keys_a_record_that_nobody_signed_counts_for_nothing(key: PrivateKey, tmp_path: Path) -> None:
    on = VerdictShelf(RecordCheck(TOPIC, trust=key.trust()))
    clean = {**judged(), "sequence": 9, "writer": "w"}
    other = generate_key(tmp_path / "other.pem")
    elsewhere = sign_verdict(clean, "staging.verdicts", key)
    for forged in (clean, sign_verdict(clean, TOPIC, other), elsewhere):
        assert not on.note("s1", encode("verdict", forged))
        assert on.get("s1") is None
    assert on.note("s1", encode("verdict", sign_verdict(seal(clean), TOPIC, key)))
