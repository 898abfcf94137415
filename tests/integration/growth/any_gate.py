"""Asks a gate of any version: python any_gate.py BOOTSTRAP NAMESPACE SESSION...; prints JSON of answers by session."""

import json
import sys

import unmask.consumers.gate
from unmask.consumers.gate import Gate

if __name__ == "__main__":
    bootstrap, namespace, *sessions = sys.argv[1:]
    with Gate(bootstrap, namespace) as gate:
        answers = {session: str(gate.admit(session, timeout=30).answer) for session in sessions}
    print(json.dumps({"from": unmask.consumers.gate.__file__, "answers": answers}))  # noqa: T201
