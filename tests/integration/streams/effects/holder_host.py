"""A host in a process of its own, to be paused: `python holder_host.py BOOTSTRAP NAMESPACE CLAIM_JSON`.

Claims, tells the answer, waits for a line on standard input, commits with that line as its receipt, tells the answer.
"""

import json
import sys

from unmask.producers.effects import EffectsClient


def _tell(**said: object) -> None:
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def main() -> None:
    bootstrap, namespace, claim = sys.argv[1:]
    with EffectsClient(bootstrap, namespace=namespace) as client:
        claimed = client.claim(**json.loads(claim), timeout=30)
        _tell(answer=claimed.answer, token=claimed.fencing_token, remaining=claimed.remaining())
        receipt = sys.stdin.readline().strip()
        settled = client.commit(claimed, receipt, timeout=30)
        _tell(answer=settled.answer, reason=settled.reason, remaining=claimed.remaining())


if __name__ == "__main__":
    main()
