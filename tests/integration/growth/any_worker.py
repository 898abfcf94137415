"""Runs a worker of any version, with the arguments of `unmask stream`; says first where its code was loaded from."""

import json
import sys

import typer

import unmask.schemas
import unmask.streams
from unmask.streams.cli import stream

if __name__ == "__main__":
    sys.stderr.write(json.dumps([unmask.schemas.__file__, unmask.streams.__file__]) + "\n")
    typer.run(stream)
