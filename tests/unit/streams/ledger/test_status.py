"""When a ledger whose lives fail counts as ready again, and for how long it counts as stuck."""

from unmask.streams.ledger.status import Progress


def test_the_first_life_is_ready_once_it_has_its_partitions() -> None:
    progress = Progress()
    assert progress.reason == "starting"
    progress.began()
    assert progress.reason == ""


def test_after_a_failure_it_is_ready_only_once_a_life_has_held() -> None:
    progress = Progress()
    progress.began()
    progress.failed("LifeEnded: fenced", 100.0)
    progress.began()
    assert progress.reason == "LifeEnded: fenced"
    progress.held()
    assert (progress.reason, progress.failing_since) == ("", None)


def test_lives_that_commit_and_fail_one_after_the_other_are_stuck_since_the_first_of_them() -> None:
    """A record that no life survives, after marks that each of them commits."""
    progress = Progress(moved_at=0.0)
    for now in (100.0, 101.0, 160.0):
        progress.moved_at = now - 0.5
        stuck = progress.failed("ZeroDivisionError: ", now)
        progress.began()
    assert stuck == 60.0


def test_a_failure_long_after_another_is_a_failure_of_its_own() -> None:
    progress = Progress(moved_at=99.0)
    progress.failed("LifeEnded: fenced", 100.0)
    progress.held()
    progress.moved_at = 3_699.5
    assert progress.failed("LifeEnded: fenced", 3_700.0) == 0.5


def test_a_ledger_that_cannot_commit_at_all_is_stuck_since_its_last_commit() -> None:
    progress = Progress(moved_at=40.0)
    assert progress.failed("KafkaException: _TIMED_OUT", 100.0) == 60.0
