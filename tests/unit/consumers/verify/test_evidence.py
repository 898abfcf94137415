"""Evidence: what the log proves of a window as of the time through which it was read."""

import pytest
from tests.unit.consumers.verify.hosts import BLUE, GREEN, Host, Log, at, window_at
from tests.unit.consumers.verify.recounting import recount_of

from unmask.consumers.verify.chain import Chain
from unmask.consumers.verify.evidence import AsOf, EvidenceBook, standing_of
from unmask.consumers.verify.rules import RecountRules
from unmask.consumers.verify.strict import ALWAYS_TOLD
from unmask.schemas.codes import Evidence, FlawCause
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS

GRACE = 5 * MICROS


def book_of(log: Log, through: float, rules: RecountRules | None = None, **keep: int) -> EvidenceBook:
    partitions = range(log.partitions)
    as_of = AsOf(dict.fromkeys(partitions, at(through)), dict.fromkeys(partitions, GRACE))
    return EvidenceBook(recount_of(log, rules, None, **keep), as_of, 60)


def state(book: EvidenceBook, second: float, scope: Scope | None = BLUE, family: str = "route_attempt") -> Evidence:
    start = window_at(second)
    scopes = {BLUE, GREEN} if scope is None else {scope}
    witnesses = sum(book.witnesses(start, known) for known in scopes)
    return book.prove(start, scope, witnesses)[family].state


def living(*cuts: float, closing: bool = False, scope: Scope = BLUE, name: str = "e-1") -> Log:
    host, log = Host(name, scope), Log()
    for number, second in enumerate(cuts, start=1):
        host.attempt(second - 0.1)
        log.append(second, host.cut(second, closing=closing and number == len(cuts)))
    return log


def test_a_window_is_pending_until_its_end_and_grace_and_every_living_emitters_account() -> None:
    log = living(1, 30, 61)
    assert state(book_of(log, 64.9), 30) is Evidence.PENDING
    assert state(book_of(log, 65), 30) is Evidence.COMPLETE
    assert state(book_of(living(1, 30, 50), 65), 30) is Evidence.PENDING


def test_a_partition_that_tells_no_time_closes_nothing() -> None:
    log = living(1, 61)
    as_of = AsOf({0: at(1_000)}, {0: GRACE})
    assert EvidenceBook(recount_of(log), as_of, 60).closed_through == -1
    assert as_of.closed_through([0]) == at(995)


def test_a_closed_emitter_holds_nothing_back_and_a_window_without_witnesses_is_absent() -> None:
    book = book_of(living(1, 30, closing=True), 200)
    assert state(book, 30) is Evidence.COMPLETE
    assert state(book, 90) is Evidence.ABSENT
    assert state(book, 30, GREEN) is Evidence.ABSENT


def test_a_loss_spoils_its_own_family_and_scope_alone() -> None:
    host, log = Host("e-1"), Log()
    log.append(1, host.cut(1))
    host.drop("kernel_fallback", 2)
    log.append(61, host.cut(61))
    log.append(62, host.cut(62, closing=True))
    log.records += living(1, 70, closing=True, scope=GREEN, name="e-2").records
    book = book_of(log, 200)
    assert [state(book, s, family="kernel_fallback") for s in (30, 61)] == [Evidence.LOSSY, Evidence.LOSSY]
    assert state(book, 30) is Evidence.COMPLETE
    assert state(book, 30, GREEN, "kernel_fallback") is Evidence.COMPLETE
    assert state(book, 30, None, "kernel_fallback") is Evidence.LOSSY
    proof = book.prove(window_at(30), BLUE, 1)["kernel_fallback"]
    assert (set(proof.causes), proof.missing, proof.dropped) == ({"dropped"}, 0, {"buffer_full": 2})


def test_an_emitter_that_falls_silent_spoils_from_its_last_cut_until_it_is_given_up() -> None:
    log = living(1, 50)
    assert state(book_of(log, 79), 50) is Evidence.PENDING
    book = book_of(log, 200)
    assert [state(book, second) for second in (50, 70, 130)] == [Evidence.LOSSY, Evidence.LOSSY, Evidence.ABSENT]
    assert book.prove(window_at(70), BLUE, 0)["masked_error"].causes == {"silent"}
    longer = book_of(log, 400, RecountRules(write_off=120 * MICROS))
    assert [state(longer, second) for second in (190, 250)] == [Evidence.LOSSY, Evidence.ABSENT]


def test_the_first_batch_after_a_silence_accounts_for_it() -> None:
    assert state(book_of(living(1, 50, 170), 180), 70) is Evidence.COMPLETE


@pytest.mark.parametrize(
    ("through", "closed", "alive", "cause", "until"),
    [
        (80.0, False, True, None, 0.0),
        (80.1, False, False, FlawCause.BEHIND, 80.1),
        (130.0, False, False, FlawCause.BEHIND, 130.0),
        (130.1, False, False, FlawCause.SILENT, 130.0),
        (999.0, True, False, None, 0.0),
    ],
)
def test_an_emitter_is_behind_while_it_still_sends_and_silent_afterwards(
    through: float, closed: bool, alive: bool, cause: FlawCause | None, until: float
) -> None:
    chain = Chain.begun_by(batch := Host("e-1").cut(50), 0, at(100))
    chain.add(batch, at(100))
    chain.closed = closed
    standing = standing_of(chain, at(through), RecountRules())
    assert (standing.alive, standing.cause) == (alive, cause)
    if cause is not None:
        assert standing.until == at(until)


def test_an_unreadable_record_spoils_every_scope_since_its_emitters_last_cut() -> None:
    log = living(1, 50)
    log.append(130, b"garbage", key="e-1")
    log.append(140, b"garbage", key="nobody")
    host = Host("e-1", seq=2)
    host.recorded["route_attempt"] = 2
    log.append(200, host.cut(200, closing=True))
    book = book_of(log, 300)
    assert [state(book, second, GREEN) for second in (10, 70, 130, 190)] == [
        Evidence.LOSSY,
        Evidence.LOSSY,
        Evidence.LOSSY,
        Evidence.ABSENT,
    ]
    assert [book.unreadable(window_at(second)) for second in (10, 70, 130, 190)] == [1, 1, 2, 0]


def test_an_unreadable_record_of_an_emitter_that_was_away_for_days_spoils_an_hour_for_everybody() -> None:
    days = 3 * 86_400
    log = living(1, 50)
    log.append(days, b"garbage", key="e-1")
    (unclear,) = recount_of(log).unclear
    assert (unclear.first, unclear.last) == (at(days - 3_600), at(days))


def test_a_record_that_the_stream_put_aside_is_unreadable_here_too() -> None:
    recount, (record, *_) = recount_of(Log()), living(1).records
    recount.take(0, 0, record.arrival, record.key, record.value, aside=True)
    assert (recount.totals.unreadable, recount.totals.readable_now, recount.totals.events) == (1, 1, 0)
    assert [unclear.cause for unclear in recount.unclear] == [FlawCause.QUARANTINED]


def test_every_emitter_witnesses_the_windows_of_its_life() -> None:
    log = living(1, 130, closing=True)
    log.records += living(70, 80, closing=True, name="e-2").records
    book = book_of(log, 300)
    # The second began at 0 as well: a host says when it started, not when it sent.
    assert [book.witnesses(window_at(second), BLUE) for second in (0, 70, 130, 190)] == [2, 2, 1, 0]
    assert sorted(book.known_windows()) == [window_at(second) for second in (0, 60, 120)]


def test_a_host_that_claims_to_have_started_ages_ago_witnesses_a_week_at_most() -> None:
    log = Log()
    log.append(1, Host("e-1", started=-40 * 86_400).cut(1, closing=True))
    book = book_of(log, 100)
    assert min(book.known_windows()) == window_at(1 - 7 * 86_400)


def test_what_may_have_stood_in_a_deleted_head_is_blind_and_nothing_is_held_against_it() -> None:
    host, log = Host("e-1"), Log()
    for second in range(0, 1_000, 100):
        host.attempt(second)
        log.append(second, host.cut(second))
    log.append(1_000, host.cut(1_000, closing=True))
    book = book_of(log, 2_000, p0=3)
    # The oldest record that is left came at 300; a clock may be five minutes ahead.
    assert [book.blind(window_at(second)) for second in (0, 300, 599, 600, 661)] == [True, True, True, True, False]
    assert state(book, 700) is Evidence.COMPLETE
    assert not book_of(log, 2_000).blind(window_at(0))


def test_a_family_that_not_everybody_tells_of_has_evidence_from_where_somebody_does() -> None:
    host, log = Host("e-1"), Log()
    host.attempt(10)
    log.append(30, host.cut(30))
    host.selection(100, "s-1")
    host.witnesses.add("route_selection")
    log.append(110, host.cut(110))
    log.append(200, host.cut(200, closing=True))
    book = book_of(log, 400)
    first, second, third = (window_at(second) for second in (0, 60, 180))
    # It told of it with the batch of the second minute, and the stretch before that began in the first.
    assert [book.told(start, [BLUE])["route_selection"] for start in (first, second, third)] == [1, 1, 1]
    proof = book.prove(first, BLUE, 1, book.told(first, [BLUE]))
    assert proof["route_selection"].state is Evidence.COMPLETE
    assert "delegation_progress" not in proof
    assert set(book.prove(first, GREEN, 0, book.told(first, [GREEN]))) == set(ALWAYS_TOLD)


def test_what_is_known_to_be_lost_of_such_a_family_is_told_without_a_witness() -> None:
    host, log = Host("e-1"), Log()
    host.drop("delegation_effect", 2)
    log.append(30, host.cut(30, closing=True))
    book = book_of(log, 400)
    proof = book.prove(window_at(0), BLUE, 1, book.told(window_at(0), [BLUE]))["delegation_effect"]
    assert (proof.state, proof.dropped) == (Evidence.LOSSY, {"buffer_full": 2})
