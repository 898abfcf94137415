"""The packed standing: what goes in comes out, and nothing else does."""

from hypothesis import given
from hypothesis import strategies as st

from unmask.producers.account import Totals
from unmask.producers.outbox.standing import STANDING_BYTES, Standing, newest
from unmask.producers.report import FAMILIES
from unmask.schemas.codes import DropCause, Family

_counts = st.integers(1, 2**62)
_families = st.dictionaries(st.sampled_from(FAMILIES), _counts)
_causes = [cause for cause in DropCause if cause is not DropCause.UNKNOWN_CAUSE]
_drops = st.dictionaries(st.tuples(st.sampled_from(FAMILIES), st.sampled_from(_causes)), _counts)
_standings = st.builds(
    Standing,
    version=st.integers(1, 2**62),
    last_seq=_counts,
    last_cut=_counts,
    alive=_counts,
    partition=st.none() | st.integers(0, 10_000),
    closing_delivered=st.booleans(),
    told=_counts,
    totals=st.builds(Totals, cut=_families, uncut=_drops, given_up=_drops),
    in_file=_families,
    unsaved=_families,
)


@given(_standings)
def test_every_standing_is_read_back_as_it_was(standing: Standing) -> None:
    assert Standing.unpack(standing.pack()) == standing
    assert len(standing.pack()) == STANDING_BYTES


@given(_standings, _standings, st.integers(1, STANDING_BYTES - 1))
def test_a_torn_one_is_none_at_all(old: Standing, new: Standing, written: int) -> None:
    torn = new.pack()[:written] + old.pack()[written:]
    assert Standing.unpack(torn) is None or torn in (old.pack(), new.pack())


@given(_standings, st.integers(0, STANDING_BYTES - 1), st.integers(1, 255))
def test_one_changed_byte_is_noticed(standing: Standing, place: int, change: int) -> None:
    packed = bytearray(standing.pack())
    packed[place] ^= change
    assert Standing.unpack(bytes(packed)) is None


def test_nothing_and_zeros_are_no_standing() -> None:
    assert Standing.unpack(b"") is None
    assert Standing.unpack(bytes(STANDING_BYTES)) is None


def test_every_cause_that_a_host_may_send_has_its_place() -> None:
    drops: dict[tuple[Family, DropCause], int] = {(Family.ROUTE_ATTEMPT, cause): 1 for cause in _causes}
    standing = Standing(1, totals=Totals(uncut=drops))
    assert Standing.unpack(standing.pack()) == standing


def test_the_newest_has_the_highest_version() -> None:
    assert newest(Standing(3), None, Standing(7), Standing(5)) == Standing(7)
    assert newest(None, None) is None
