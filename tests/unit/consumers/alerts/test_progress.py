"""What may be committed: never past a record that still owes something."""

from hypothesis import given
from hypothesis import strategies as st

from unmask.consumers.alerts.change import Place
from unmask.consumers.alerts.progress import Progress

OFFSETS = st.lists(st.integers(0, 200), min_size=1, max_size=40, unique=True).map(sorted)


@given(OFFSETS, st.data())
def test_the_position_is_the_first_offset_that_owes_something_whatever_the_order(
    offsets: list[int], data: st.DataObject
) -> None:
    progress = Progress()
    progress.begin(0, offsets[0])
    for offset in offsets:
        progress.read(Place(0, offset))
    done: set[int] = set()
    for offset in data.draw(st.permutations(offsets)):
        owed = [other for other in offsets if other not in done]
        assert progress.positions() == {0: owed[0]}
        progress.done(Place(0, offset))
        done.add(offset)
    assert progress.positions() == {0: offsets[-1] + 1}


def test_partitions_do_not_wait_for_one_another() -> None:
    progress = Progress()
    for partition in (0, 1):
        progress.begin(partition, 5)
        progress.read(Place(partition, 5))
    progress.done(Place(1, 5))
    assert progress.positions() == {0: 5, 1: 6}


def test_before_anything_is_read_the_position_is_where_reading_begins() -> None:
    progress = Progress()
    progress.begin(3, 17)
    assert progress.positions() == {3: 17}


def test_what_is_done_of_a_partition_that_was_given_away_does_not_matter() -> None:
    progress = Progress()
    progress.begin(0, 0)
    progress.read(Place(0, 0))
    progress.forget([0])
    progress.done(Place(0, 0))
    assert progress.positions() == {}
    assert not progress.has(0)
