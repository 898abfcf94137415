"""`python -m demo`: performs the plan, shows it, checks it. Exits with 0 when every number agrees, else with 1."""

import argparse
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType

from rich.console import Console

from demo.performance import perform

__all__ = ["main"]

_WIDTH = 164  # where there is no terminal to ask; a window then takes one line


def main(arguments: list[str] | None = None) -> int:
    """Run the demo; the exit code."""
    parser = argparse.ArgumentParser(
        prog="demo", description="Unmask at work on live traffic, with every number checked. Ends by itself."
    )
    parser.add_argument("--short", action="store_true", help="the same story in less time")
    parser.add_argument("--plain", action="store_true", help="lines instead of a live table, as without a terminal")
    parser.add_argument("--keep", action="store_true", help="leave the topics on the broker of KAFKA_BOOTSTRAP_SERVERS")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _stop)
    console = Console()
    live = console.is_terminal and not given.plain
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    folder = Path(tempfile.mkdtemp(prefix="unmask-demo-"))
    code = 1
    try:
        comparison = perform(console, "short" if given.short else "full", folder, live=live, keep=given.keep)
        code = 1 if comparison.mismatches else 0
    except KeyboardInterrupt:
        console.print("Stopped; every process of the demo has ended.")
        code = 130
    except Exception as error:
        console.print(f"The demo could not go on. {type(error).__name__}: {error}", style="bold red", markup=False)
    finally:
        if code == 1:
            console.print(f"The hosts' journals and all logs are in {folder}", highlight=False, markup=False)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return code


def _stop(number: int, frame: FrameType | None) -> None:
    # As by Ctrl-C, so that everything is cleaned up.
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
