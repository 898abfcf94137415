"""Accounts over processes: shared, killed, forked, and on disks that fail."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from unmask.producers.delegation.account import Account, Entry
from unmask.producers.delegation.book import Book
from unmask.producers.delegation.keeper import Keeper
from unmask.schemas.breaker import Budget, Spent, Step

_WORKS = r"""
import os, sys
from pathlib import Path
from unmask.producers.delegation.account import Entry
from unmask.producers.delegation.keeper import Keeper
from unmask.schemas.breaker import Budget
keeper = Keeper(Path(sys.argv[1]))
keeper.enter("d-1")
os.write(1, b"ready\n")
sys.stdin.readline()
for n in range(int(sys.argv[2])):
    spent = keeper.post("d-1", Entry(calls=1, tokens=10)).spent
    os.write(1, f"{spent.calls}\n".encode())
"""


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _call(state: object = None, tokens: int = 1) -> Entry:
    step = Step("succeeded", "tree", None if state is None else f"s-{state}", delegation_id="d-1")
    return Entry(calls=1, tokens=tokens, attempt=1, step=step)


def _problem(keeper: Keeper) -> str | None:
    return keeper.problem


def _worker(folder: Path, calls: int) -> "subprocess.Popen[str]":
    made = subprocess.Popen(
        [sys.executable, "-c", _WORKS, str(folder), str(calls)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert made.stdout is not None
    assert made.stdout.readline() == "ready\n"
    return made


def _go(worker: "subprocess.Popen[str]") -> None:
    assert worker.stdin is not None
    worker.stdin.write("go\n")
    worker.stdin.flush()


def test_what_several_processes_spend_at_once_adds_up_exactly(tmp_path: Path) -> None:
    workers = [_worker(tmp_path, 100) for _ in range(3)]
    for worker in workers:
        _go(worker)
    for worker in workers:
        seen = [int(line) for line in worker.communicate(timeout=60)[0].split()]
        assert worker.returncode == 0
        # Nothing is ever taken back.
        assert seen == sorted(set(seen))
        assert len(seen) == 100
    assert Keeper(tmp_path).look("d-1").spent == Spent(300, 3_000, 0)


def test_a_killed_process_leaves_what_it_has_spent_and_the_next_one_goes_on(tmp_path: Path) -> None:
    worker = _worker(tmp_path, 1_000_000)
    assert worker.stdout is not None
    _go(worker)
    told = [int(worker.stdout.readline()) for _ in range(50)]
    worker.send_signal(signal.SIGKILL)
    # Not communicate(), which passes over what the lines above have left in the buffer. A line may be cut by the kill.
    told += [int(line) for line in worker.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    worker.communicate(timeout=60)
    left = Keeper(tmp_path).look("d-1").spent
    # What it was told is there; one more may be, of which it was not told any more.
    assert told[-1] <= left.calls <= told[-1] + 1
    assert left.tokens == left.calls * 10
    after = _worker(tmp_path, 1)
    _go(after)
    assert int(after.communicate(timeout=60)[0]) == left.calls + 1


def test_budgets_breaker_and_retries_go_on_in_the_next_process(tmp_path: Path) -> None:
    first = Keeper(tmp_path)
    first.enter("d-1")
    first.post("d-1", Entry(budget=Budget(calls=9)), _call(1), _call(2), _call(2))
    first.post("d-1", Entry(calls=1, attempt=2, step=Step("failed")))
    first.leave("d-1")
    second = Keeper(tmp_path)
    account = second.post("d-1", Entry(budget=Budget(calls=20, tokens=7)))
    assert account.budget == Budget(calls=9, tokens=7)
    assert (account.tries, account.breaker.unchanged, account.breaker.moved) == (2, 1, ("tree",))
    # Another delegation of this host may rely on the same signal.
    assert second.post("d-2", _call(5)).breaker.moved == ("tree",)


def test_accounts_of_two_emitters_of_one_process_are_one(tmp_path: Path) -> None:
    one, other = Keeper(tmp_path), Keeper(tmp_path)
    for keeper in (one, other):
        keeper.enter("d-1")
    for _ in range(5):
        one.post("d-1", _call())
        assert other.post("d-1", _call()).spent == one.look("d-1").spent
    assert one.look("d-1").spent.calls == 10


def test_threads_share_an_account(tmp_path: Path) -> None:
    for keeper in (Keeper(tmp_path), Keeper(None)):
        keeper.enter("d-1")
        threads = [
            threading.Thread(target=lambda keeper=keeper: [keeper.post("d-1", _call()) for _ in range(50)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert keeper.look("d-1").spent.calls == 200


def test_no_file_is_open_while_nobody_works(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path)
    keeper.enter("d-1")
    keeper.post("d-1", _call())
    assert (tmp_path / "book.db-wal").exists()
    keeper.leave("d-1")
    assert [path.name for path in tmp_path.iterdir()] == ["book.db"]
    keeper.post("d-1", _call())
    assert [path.name for path in tmp_path.iterdir()] == ["book.db"]


def test_a_forked_child_and_its_parent_go_on_with_one_account(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path)
    keeper.enter("d-1")
    keeper.post("d-1", _call())
    child = os.fork()
    if not child:
        good = False
        try:
            for _ in range(20):
                keeper.post("d-1", _call())
            good = keeper.problem is None
        finally:
            os._exit(0 if good else 1)
    for _ in range(20):
        keeper.post("d-1", _call())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert keeper.look("d-1").spent.calls == 41
    keeper.leave("d-1")
    assert Keeper(tmp_path).look("d-1").spent.calls == 41


def test_a_child_that_was_forked_inside_of_the_book_works_in_memory_and_says_so(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path)
    keeper.enter("d-1")
    keeper.post("d-1", _call())
    began, done = threading.Event(), threading.Event()

    def holding() -> None:
        began.set()
        done.wait(30)

    holder = threading.Thread(target=keeper._locked, args=(holding,))
    holder.start()
    began.wait(30)
    child = os.fork()
    if not child:
        good = False
        try:
            good = keeper.post("d-1", _call()).spent.calls == 2 and keeper.problem == "FORKED_INSIDE_DATABASE"
        finally:
            os._exit(0 if good else 1)
    done.set()
    holder.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert keeper.post("d-1", _call()).spent.calls == 2
    assert _problem(keeper) is None


def test_a_call_that_comes_in_the_middle_of_another_one_counts_and_does_not_wait(tmp_path: Path) -> None:
    """As a signal handler's does."""
    keeper = Keeper(tmp_path)
    keeper.enter("d-1")
    inner: list[Account] = []
    assert keeper._locked(lambda: inner.append(keeper.post("d-1", _call())))
    assert inner[0].spent.calls == 1
    assert keeper.post("d-1", _call()).spent.calls == 2


def test_a_folder_that_cannot_be_made_is_a_problem_that_can_be_seen(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    faults: list[int] = []
    keeper = Keeper(tmp_path / "file" / "below", lambda: faults.append(1))
    keeper.enter("d-1")
    for n in range(5):
        assert keeper.post("d-1", _call()).spent.calls == n + 1
    assert _problem(keeper) == "ENOTDIR"
    assert len(faults) == 1
    keeper.leave("d-1")


def test_what_is_spent_while_the_disk_fails_is_written_when_it_works_again(tmp_path: Path) -> None:
    clock = Clock()
    blocked = tmp_path / "outbox"
    blocked.touch()
    keeper = Keeper(blocked / "book", seconds=clock)
    keeper.enter("d-1")
    for n in range(1_500):
        keeper.post("d-1", _call(n % 3))
    blocked.unlink()
    assert keeper.post("d-1", _call()).spent.calls == 1_501
    assert _problem(keeper) == "ENOTDIR", "the disk is not asked again at once"
    clock.now += 60
    keeper.post("d-1", _call())
    assert _problem(keeper) is None
    assert Keeper(blocked / "book").look("d-1").spent.calls == 1_502


def test_another_process_that_holds_the_book_is_waited_for_a_moment_and_then_done_without(tmp_path: Path) -> None:
    clock = Clock()
    keeper = Keeper(tmp_path, seconds=clock)
    keeper.enter("d-1")
    keeper.post("d-1", _call())
    other = sqlite3.connect(tmp_path / "book.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert keeper.post("d-1", _call()).spent.calls == 2
    assert _problem(keeper) == "SQLITE_BUSY"
    assert keeper.post("d-1", _call()).spent.calls == 3
    other.execute("ROLLBACK")
    other.close()
    clock.now += 60
    keeper.post("d-1", _call())
    assert _problem(keeper) is None
    assert Keeper(tmp_path).look("d-1").spent.calls == 4


def test_a_book_that_is_deleted_is_begun_anew_with_what_the_process_knows(tmp_path: Path) -> None:
    clock = Clock()
    keeper = Keeper(tmp_path / "book", seconds=clock)
    keeper.enter("d-1")
    for _ in range(5):
        keeper.post("d-1", _call())
    for path in (tmp_path / "book").iterdir():
        path.unlink()
    (tmp_path / "book").rmdir()
    clock.now += 60
    assert keeper.post("d-1", _call()).spent.calls == 6
    assert Keeper(tmp_path / "book").look("d-1").spent.calls == 6


def test_a_damaged_book_is_put_aside(tmp_path: Path) -> None:
    (tmp_path / "book.db").write_bytes(b"no database at all" * 1_000)
    keeper = Keeper(tmp_path)
    keeper.enter("d-1")
    keeper.post("d-1", _call())
    assert _problem(keeper) == "SQLITE_NOTADB"
    keeper.post("d-1", _call())
    assert _problem(keeper) is None
    assert (tmp_path / "broken-0.db").exists()
    assert Keeper(tmp_path).look("d-1").spent.calls == 2


def test_an_account_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    book = Book(tmp_path)
    book.write("d-1", Account().after(_call()))
    book._database.execute("UPDATE accounts SET account = '{\"budget\": 7}'")
    assert book.account("d-1") is None
    book.close()


def test_in_memory_the_oldest_of_very_many_are_forgotten_and_never_one_that_is_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("unmask.producers.delegation.keeper._MOST_DESKS", 100)
    keeper = Keeper(None)
    keeper.enter("used")
    keeper.post("used", _call())
    for n in range(500):
        keeper.post(f"d-{n}", _call())
    assert len(keeper._desks) <= 101
    assert keeper.look("used").spent.calls == 1
    assert keeper.look("d-499").spent.calls == 1
    assert keeper.look("d-0").spent.calls == 0


def test_an_account_goes_through_json() -> None:
    account = Account().after(Entry(budget=Budget(tokens=5), limit=3)).after(_call(1)).after(_call(1))
    assert Account.from_json(account.to_json()) == account
    assert account.breaker.limit == 3


def test_the_end_of_the_process_writes_what_no_disk_had_taken(tmp_path: Path) -> None:
    blocked = tmp_path / "outbox"
    blocked.touch()
    keeper = Keeper(blocked / "book")
    keeper.enter("d-1")
    keeper.post("d-1", _call())
    keeper.leave("d-1")
    blocked.unlink()
    keeper.finish_closing(keeper.begin_closing())
    assert Keeper(blocked / "book").look("d-1").spent.calls == 1
