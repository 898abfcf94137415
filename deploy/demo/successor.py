"""A successor: asks the gate before it sends traffic, takes no for an answer, and carries one directive out."""

import argparse
import json
import sys

from demo.client import ask
from unmask.consumers.gate import Gate, Obligation
from unmask.schemas.codes import AdmissionAnswer

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Ask for each session, reconcile one of them; a line of JSON for each answer."""
    parser = argparse.ArgumentParser(prog="demo.successor")
    parser.add_argument("--upstream", required=True, help="address of the upstream, for the probe")
    parser.add_argument("--capability", required=True, help="what the probe asks the upstream for")
    parser.add_argument("--reconcile", required=True, help="the session whose directive is carried out")
    parser.add_argument("sessions", nargs="+")
    given = parser.parse_args(arguments)

    def probe(obligation: Obligation) -> bool:
        # Whatever the client raises is a failed probe; the gate sees to that.
        return ask(given.upstream, given.capability) == {"answer": given.capability}

    with Gate() as gate:
        for session_id in given.sessions:
            admission = gate.admit(session_id, successor="successor-1")
            _say(session_id, "asked", admission.answer, admission.reason)
            if session_id == given.reconcile and admission.answer is AdmissionAnswer.RECONCILE_FIRST:
                admission = admission.reconcile(probe)
                _say(session_id, "reconciled", admission.answer, admission.reason)


def _say(session_id: str, step: str, answer: AdmissionAnswer, reason: str) -> None:
    line = {"session": session_id, "step": step, "answer": answer, "reason": reason}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
