"""The entry point of the `unmask` console script; the only module here that works without the `cli` extra."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; without the `cli` extra, say how to install it and exit with 1."""
    try:
        from unmask.consumers.cli._commands import run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("unmask"):
            raise
        sys.stderr.write(f"unmask: the command line needs {error.name}; install it with: pip install 'unmask[cli]'\n")
        raise SystemExit(1) from None
    run()


if __name__ == "__main__":
    main()
