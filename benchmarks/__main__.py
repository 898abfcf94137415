"""Runs benchmarks, each in a process of its own, on one broker that is started if need be.

    python -m benchmarks [--quick]              all of them, with --quick those that are done within minutes
    python -m benchmarks NAME [ARGUMENT ...]    one, with its own arguments (--help tells them)
    python -m benchmarks draw                   the tables and curves of docs/performance.md from the last full results

What each measures is at the top of its file. Results go to build/bench. The comparison, the latencies and the growth
curves go on where they were broken off; --fresh begins anew.
"""

import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from unmask.consumers.devbroker import resolve_broker

HERE = Path(__file__).parent
PARTS = {
    "compare": "benchmarks.compare.run",
    "latency": "benchmarks.latency.run",
    "growth": "benchmarks.growth.run",
}
"""Benchmarks of several files."""
DRAW = "benchmarks.draw"
NOT_QUICK = {"growth"}
"""Knows --quick, and takes minutes all the same."""


def scripts() -> dict[str, str]:
    """Benchmarks of one file, with their text."""
    texts = {path.stem: path.read_text("utf-8") for path in sorted(HERE.glob("*.py")) if path.stem != "draw"}
    return {name: text for name, text in texts.items() if 'if __name__ == "__main__":' in text and name != "__main__"}


def run_all(*, quick: bool) -> int:
    """Runs every benchmark in a process of its own; how many failed."""
    failed = 0
    known = scripts()
    for name in (*PARTS, *known):
        if quick and (name in NOT_QUICK or (name in known and '"--quick"' not in known[name])):
            continue
        print(f"\n== {name} ==", flush=True)
        command = [sys.executable, "-m", "benchmarks", name, *(["--quick"] if quick else [])]
        if quick and name in PARTS:
            command.append("--fresh")
        failed += subprocess.run(command, check=False).returncode != 0
    return failed


def run_one(name: str, arguments: list[str], bootstrap: str) -> int:
    """Runs one benchmark; its exit code."""
    if name in PARTS:
        return int(importlib.import_module(PARTS[name]).main(arguments, bootstrap) > 0)
    if '"--broker"' in scripts()[name] and "--broker" not in arguments:
        arguments = [*arguments, "--broker", bootstrap]
    return subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *arguments], check=False).returncode


def main(arguments: list[str]) -> int:
    """The exit code: how many benchmarks failed."""
    name = arguments[0] if arguments and not arguments[0].startswith("-") else ""
    known = [*PARTS, *scripts(), "draw"]
    if (not name and arguments not in ([], ["--quick"])) or (name and name not in known):
        print(f"{__doc__}\nNames: {', '.join(known)}", file=sys.stderr)
        return 2
    if name == "draw":
        return int(importlib.import_module(DRAW).main(arguments[1:]))
    if name and {"-h", "--help"} & set(arguments):
        return run_one(name, arguments[1:], "")
    with tempfile.TemporaryDirectory(prefix="unmask-bench-") as folder:
        broker = resolve_broker(Path(folder), tethered=True)
        os.environ["KAFKA_BOOTSTRAP_SERVERS"] = broker.bootstrap
        try:
            return run_one(name, arguments[1:], broker.bootstrap) if name else run_all(quick="--quick" in arguments)
        finally:
            broker.stop(wipe=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
