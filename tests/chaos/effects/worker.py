"""A worker of the soak: `unmask stream --only effects`, which ends when the soak is gone.

`python -m tests.chaos.effects.worker <options of unmask stream>`.
"""

import sys

from tests.chaos.soak.processes import end_with_parent

from unmask.consumers.cli.main import main as unmask

__all__ = ["main"]


def main() -> None:
    """Run until told to stop."""
    end_with_parent()
    sys.argv = ["unmask", "stream", "--only", "effects", *sys.argv[1:]]
    unmask()


if __name__ == "__main__":
    main()
