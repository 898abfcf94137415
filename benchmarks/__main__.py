"""Runs the benchmarks one after the other, each in a process of its own, on a broker that it starts if need be.

    python -m benchmarks [NAME ...]

Without names all of them run. Each prints its own table; what it measures is at the top of its file.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from unmask.consumers.devbroker import resolve_broker

HERE = Path(__file__).parent
NEEDS_BROKER = {"record_call", "gate"}
NAMES = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))


def run(name: str, *arguments: str) -> int:
    """Runs one benchmark; its exit code."""
    print(f"\n== {name} ==", flush=True)
    return subprocess.run([sys.executable, str(HERE / f"{name}.py"), *arguments], check=False).returncode


def main() -> int:
    """The number of benchmarks that failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *NAMES], metavar="NAME", help=", ".join(NAMES))
    names: list[str] = parser.parse_args().names or NAMES
    failed = sum(run(name) != 0 for name in names if name not in NEEDS_BROKER)
    online = [name for name in names if name in NEEDS_BROKER]
    if online:
        with tempfile.TemporaryDirectory(prefix="unmask-bench-") as folder:
            broker = resolve_broker(Path(folder), tethered=True)
            try:
                failed += sum(run(name, "--broker", broker.bootstrap) != 0 for name in online)
            finally:
                broker.stop(wipe=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
