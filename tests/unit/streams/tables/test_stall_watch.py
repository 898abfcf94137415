"""A consumer that stops without a word."""

from unmask.streams.tables.stall_watch import StallWatch


def test_a_consumer_that_keeps_up_never_stalls() -> None:
    watch: StallWatch[str] = StallWatch()
    for second in range(100):
        assert watch.observe({"p": second}, {"p": second}, second) is None


def test_an_end_that_is_not_reached_counts_from_when_it_was_first_seen() -> None:
    watch: StallWatch[str] = StallWatch()
    assert watch.observe({"p": 10}, {"p": 4}, 0) == ("p", 0)
    assert watch.observe({"p": 99}, {"p": 4}, 30) == ("p", 30)


def test_a_consumer_that_lags_and_moves_does_not_stall() -> None:
    watch: StallWatch[str] = StallWatch()
    for second in range(0, 100, 10):
        found = watch.observe({"p": 100 * (second + 10)}, {"p": 100 * second}, second)
        assert found is not None
        assert found[1] <= 10


def test_the_partition_that_waits_longest_is_named() -> None:
    watch: StallWatch[str] = StallWatch()
    watch.observe({"p": 10, "q": 5}, {"p": 4, "q": 5}, 0)
    assert watch.observe({"p": 10, "q": 9}, {"p": 4, "q": 5}, 7) == ("p", 7)


def test_a_position_that_is_not_known_says_nothing() -> None:
    watch: StallWatch[str] = StallWatch()
    assert watch.observe({"p": 10}, {"p": None}, 0) is None


def test_a_new_assignment_begins_anew() -> None:
    watch: StallWatch[str] = StallWatch()
    watch.observe({"p": 10}, {"p": 4}, 0)
    watch.forget()
    assert watch.observe({"p": 10}, {"p": 4}, 30) == ("p", 0)
