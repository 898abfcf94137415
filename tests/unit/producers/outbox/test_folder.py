"""Folders of lives: locks decide who is dead, and whoever finds one is alone with it."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from unmask.producers.outbox.folder import LifeFolder

_HOLDS = r"""
import os, sys, time
from pathlib import Path
from unmask.producers.outbox.folder import LifeFolder
folder = LifeFolder.create(Path(sys.argv[1]), "held")
if len(sys.argv) > 2:
    pid = os.fork()
    if pid == 0:
        folder.leave()
        os.write(1, f"child {os.getpid()}\n".encode())
        time.sleep(60)
os.write(1, f"held {os.getpid()}\n".encode())
time.sleep(60)
"""


def _dead(above: Path) -> list[str]:
    found = []
    for folder in LifeFolder.of_the_dead(above):
        found.append(folder.name)
        folder.leave()
    return found


def test_a_life_that_goes_on_is_not_found_and_one_that_left_is(tmp_path: Path) -> None:
    folder = LifeFolder.create(tmp_path / "box" / "unmask.events", "e1")
    assert folder.path.is_dir()
    assert folder.there()
    assert _dead(folder.path.parent) == []
    folder.leave()
    assert _dead(folder.path.parent) == ["e1"]


def test_two_emitters_of_one_process_do_not_take_each_other_for_dead(tmp_path: Path) -> None:
    first, second = LifeFolder.create(tmp_path, "e1"), LifeFolder.create(tmp_path, "e2")
    assert _dead(tmp_path) == []
    first.leave()
    assert _dead(tmp_path) == ["e1"]
    second.leave()


def test_a_killed_process_gives_its_lock_back(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", _HOLDS, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline().startswith("held")
    assert _dead(tmp_path) == []
    child.kill()
    child.wait()
    child.stdout.close()
    assert _dead(tmp_path) == ["held"]


def test_a_forked_child_does_not_hold_its_dead_parents_lock(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", _HOLDS, str(tmp_path), "fork"], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    said = dict(parent.stdout.readline().split() for _ in range(2))
    try:
        # What the child closed is its own: the parent is still alive.
        assert _dead(tmp_path) == []
        parent.kill()
        parent.wait()
        os.kill(int(said["child"]), 0)
        assert _dead(tmp_path) == ["held"]
    finally:
        os.kill(int(said["child"]), signal.SIGKILL)
        parent.stdout.close()


def test_of_many_that_look_at_once_one_gets_each_folder(tmp_path: Path) -> None:
    for number in range(20):
        LifeFolder.create(tmp_path, f"e{number}").leave()
    won: list[str] = []
    start = threading.Barrier(6)

    def look() -> None:
        start.wait()
        for folder in LifeFolder.of_the_dead(tmp_path):
            won.append(folder.name)
            folder.remove()

    threads = [threading.Thread(target=look) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == sorted(f"e{number}" for number in range(20))
    assert os.listdir(tmp_path) == []


def test_a_folder_that_was_removed_while_its_lock_was_waited_for_is_nobodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    LifeFolder.create(tmp_path, "e1").leave()
    real = os.open

    def slow(path: Path, *arguments: int) -> int:
        opened = real(path, *arguments)
        if path == tmp_path / "e1":
            # Another adopter finishes between the opening and the lock.
            (tmp_path / "e1").rename(tmp_path / ".done-e1")
        return opened

    monkeypatch.setattr(os, "open", slow)
    assert _dead(tmp_path) == []


def test_what_dying_processes_left_half_made_or_half_removed_is_tidied_up(tmp_path: Path) -> None:
    for name in (".new-e1-0", ".done-e2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "page").write_bytes(b"x")
    (tmp_path / ".other").mkdir()
    (tmp_path / "a-file").write_text("not a folder")
    (tmp_path / "a-link").symlink_to(tmp_path / ".other")
    assert _dead(tmp_path) == []
    assert sorted(os.listdir(tmp_path)) == [".other", "a-file", "a-link"]


def test_removing_is_one_step_for_whoever_looks(tmp_path: Path) -> None:
    folder = LifeFolder.create(tmp_path, "e1")
    (folder.path / "page").write_bytes(b"x")
    folder.remove()
    assert os.listdir(tmp_path) == []
    assert not folder.there()


def test_a_folder_that_was_deleted_or_replaced_is_not_there(tmp_path: Path) -> None:
    folder = LifeFolder.create(tmp_path, "e1")
    folder.path.rmdir()
    assert not folder.there()
    (tmp_path / "e1").mkdir()
    assert not folder.there()
    folder.remove()
    assert (tmp_path / "e1").exists()


def test_a_place_where_nothing_can_be_made_is_an_error_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        LifeFolder.create(tmp_path / "file" / "box", "e1")
    assert _dead(tmp_path / "nowhere") == []
