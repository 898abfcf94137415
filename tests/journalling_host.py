"""A host that is there to be killed: it records all it can, and journals each call before and after it.

    python -m tests.journalling_host BOOTSTRAP NAMESPACE OUTBOX JOURNALS [THREADS] [PAUSE_S] [setting=value ...]

The journal of an emitter is JOURNALS/<emitter_id>.<thread>: a letter of the family before the call, the same letter as
a capital when it has returned. Journals are files opened for appending: what was written is the kernel's.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.outbox_rig import dropped, held

from unmask.producers import Emitter, EmitterSettings
from unmask.producers.testing import account_faults
from unmask.schemas.codes import Family

LETTERS = {
    "a": Family.ROUTE_ATTEMPT,
    "f": Family.KERNEL_FALLBACK,
    "m": Family.MASKED_ERROR,
    "t": Family.SESSION_TEARDOWN,
}


class KillableHost:
    """Such a host as a process."""

    def __init__(
        self, bootstrap: str, namespace: str, outbox: Path, journals: Path, *, threads: int = 1, pause_s: float = 0.002,
        **settings: Any,
    ) -> None:  # fmt: skip
        journals.mkdir(parents=True, exist_ok=True)
        words = [f"{name}={value}" for name, value in settings.items()]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.journalling_host", bootstrap, namespace, str(outbox), str(journals),
             str(threads), str(pause_s), *words],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self.emitter_id = self._process.stdout.readline().strip()
        assert self.emitter_id

    def kill(self) -> None:
        """SIGKILL."""
        self._process.send_signal(signal.SIGKILL)
        self._reap()

    def end(self) -> None:
        """SIGTERM: it closes its emitter, and says how that went."""
        self._process.terminate()
        self._reap()

    def _reap(self) -> None:
        self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()


def journalled(journals: Path) -> dict[str, tuple[Counter[str], Counter[str]]]:
    """Per emitter: calls that had begun and calls that had returned, per family."""
    found: dict[str, tuple[Counter[str], Counter[str]]] = {}
    for path in journals.iterdir():
        begun, returned = found.setdefault(path.name.split(".")[0], (Counter(), Counter()))
        written = path.read_bytes()
        for letter, family in LETTERS.items():
            begun[str(family)] += written.count(letter.encode())
            returned[str(family)] += written.count(letter.upper().encode())
    return found


def assert_journals_are_accounted_for(
    journals: Path, batches: dict[str, list[dict[str, Any]]], threads: int = 1
) -> Counter[str]:
    """Every emitter's journal is what was delivered plus what was dropped, to the last event. Gives what was dropped.

    Only a call that the kill interrupted may be in either.
    """
    lost: Counter[str] = Counter()
    for emitter_id, (begun, returned) in journalled(journals).items():
        assert sum(begun.values()) - sum(returned.values()) <= threads
        series = batches[emitter_id]
        assert account_faults(series) == []
        assert series[-1]["closing"]
        recorded = Counter({each["family"]: each["recorded"] for each in series[-1]["accounts"]})
        assert held(series) + dropped(series[-1]) == recorded
        for family in map(str, LETTERS.values()):
            assert returned[family] <= recorded[family] <= begun[family]
        for account in series[-1]["accounts"]:
            for each in account["dropped"]:
                lost[each["cause"]] += each["count"]
    return lost


def _main(
    bootstrap: str, namespace: str, outbox: str, journals: str, threads: str = "1", pause_s: str = "0.002",
    *words: str,
) -> None:  # fmt: skip
    given: dict[str, Any] = dict(word.split("=", 1) for word in words)
    emitter = Emitter(
        EmitterSettings(bootstrap_servers=bootstrap, namespace=namespace, outbox_dir=Path(outbox), release_line="r1",
                        **{"flush_interval_ms": 50, "heartbeat_ms": 1_000, **given})
    )  # fmt: skip
    running = True

    def stop(*_: object) -> None:
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, stop)

    def work(slot: int) -> None:
        path = Path(journals) / f"{emitter.emitter_id}.{slot}"
        journal = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        number = 0
        while running:
            number += 1
            for _ in range(20):
                os.write(journal, b"a")
                emitter.record_route_attempt("answer", "api", f"run-{number}")
                os.write(journal, b"A")
            os.write(journal, b"f")
            emitter.record_fallback("answer", "timed out", run_id=f"run-{number}")
            os.write(journal, b"F")
            os.write(journal, b"m")
            emitter.record_masked_error(f"s-{slot}", f"o-{number}", "openai", 503, "cache")
            os.write(journal, b"M")
            if number % 5 == 0:
                session = emitter.session(f"s-{slot}-{number}")
                session.__enter__()
                os.write(journal, b"t")
                session.__exit__(None, None, None)
                os.write(journal, b"T")
            if float(pause_s):
                time.sleep(float(pause_s))

    others: Iterable[threading.Thread] = [
        threading.Thread(target=work, args=(slot,), daemon=True) for slot in range(1, int(threads))
    ]
    for thread in others:
        thread.start()
    os.write(1, f"{emitter.emitter_id}\n".encode())
    work(0)
    for thread in others:
        thread.join()
    emitter.close()


if __name__ == "__main__":
    _main(*sys.argv[1:])
