"""`python -m tests.chaos.effects`: a soak of the effects ledger. Exits with 0 when everything agrees, else with 1."""

import argparse
import secrets
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType

from rich.console import Console
from tests.chaos.effects.plan import DEFAULT_SECONDS, make_plan
from tests.chaos.effects.report import as_markdown, show
from tests.chaos.effects.soak import soak

__all__ = ["main"]

_WIDTH = 170


def main(arguments: list[str] | None = None) -> int:
    """Run it; the exit code."""
    parser = argparse.ArgumentParser(
        prog="effects", description="Kill everything while effects are claimed and committed, then check the history."
    )
    parser.add_argument("--seconds", type=int, default=DEFAULT_SECONDS, help=f"of load (default: {DEFAULT_SECONDS})")
    parser.add_argument("--seed", type=int, default=None, help="of the plan (default: a random one, which is printed)")
    parser.add_argument("--keep", action="store_true", help="leave journals and logs where they are")
    parser.add_argument("--table", type=Path, default=None, help="also write the report's table as Markdown, to a file")
    given = parser.parse_args(arguments)
    seed = secrets.randbelow(1_000_000) if given.seed is None else given.seed
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    signal.signal(signal.SIGTERM, _stop)
    folder = Path(tempfile.mkdtemp(prefix="unmask-effects-"))
    say(f"Soak of {given.seconds} s with seed {seed}: again with `make chaos-effects SECONDS={given.seconds} "
        f"SEED={seed}`")  # fmt: skip
    good = False
    try:
        result = soak(make_plan(given.seconds, seed), folder, say)
        show(console, result)
        if given.table is not None:
            given.table.write_text(as_markdown(result), encoding="utf-8")
        good = result.good
    finally:
        if good and not given.keep:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            say(f"Journals and logs are in {folder}")
    return 0 if good else 1


def _stop(number: int, frame: FrameType | None) -> None:
    # As by Ctrl-C, so that everything is cleaned up.
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
