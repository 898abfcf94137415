"""On whose behalf offsets are handed over; the bytes are those of the client, as it writes them."""

from typing import Any

import pytest

from unmask.streams.ledger.membership import Membership, is_same_member

MEMBER = b"rdkafka-c004eada-a51a-4f7f-ad1f-f5353a6da8ea"


def _bytes(generation: int, member: bytes = MEMBER, group: bytes = b"ns.ledger") -> bytes:
    return b"CGMDv2:" + generation.to_bytes(4, "little", signed=True) + group + b"\0" + member + b"\0\1"


class _Consumer:
    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)

    def consumer_group_metadata(self) -> Any:
        return self._answers.pop(0)


def _membership(*answers: Any) -> Membership:
    return Membership(_Consumer(*answers))  # type: ignore[arg-type]


def test_a_newer_generation_of_the_same_member_is_taken() -> None:
    membership = _membership(_bytes(6), _bytes(7))
    membership.assigned()
    assert membership() == _bytes(7)


@pytest.mark.parametrize(
    "lost",
    [
        _bytes(6, member=b""),
        _bytes(-1, member=b""),
        _bytes(7, member=b"rdkafka-cb1b3fa5-2f3d-4466-9c0b-dcf1b4a0a630"),
        _bytes(7, group=b"ns.other_"),
        b"CGMDv3:" + _bytes(7)[7:],
        b"",
        object(),
    ],
)
def test_a_client_that_is_no_longer_that_member_is_not_believed(lost: Any) -> None:
    membership = _membership(_bytes(6), lost)
    membership.assigned()
    assert membership() == _bytes(6)


def test_a_membership_that_is_over_is_none() -> None:
    membership = _membership(_bytes(6), _bytes(6))
    membership.assigned()
    membership.lost()
    assert membership() is None


def test_members_are_compared_only_in_a_layout_that_is_known() -> None:
    assert is_same_member(_bytes(1), _bytes(2))
    assert not is_same_member(b"CGMDv2:", b"CGMDv2:")
    assert not is_same_member(b"other-1", b"other-1")
