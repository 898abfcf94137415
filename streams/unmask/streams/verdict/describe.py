"""`python -m unmask.streams.verdict.describe`: how the rules decide, as a table, by trying them."""

import sys
from typing import Any

from unmask.schemas.codes import Directive, Evidence, SessionOutcome
from unmask.schemas.describe.decisions import decision_table
from unmask.schemas.scope import Scope
from unmask.streams.verdict.adjudicate import adjudicate
from unmask.streams.verdict.obligation import Obligation

__all__ = ["verdict_table"]

_NOT_SAID = "nobody says"
_NONE, _REACHABLE, _UNREACHABLE = "none", "upstream reachable", "upstream unreachable or exhausted"
_INHERITED = ("nothing", *(str(directive) for directive in Directive if directive is not Directive.NONE))
_CONDITIONS = {
    "objective reached": ("yes", "no", _NOT_SAID),
    "evidence": (str(Evidence.COMPLETE), str(Evidence.LOSSY), str(Evidence.PENDING)),
    "operations through a fallback": (_NONE, _REACHABLE, _UNREACHABLE),
    "host contradicted": ("no", "yes"),
    "left open by the predecessor": _INHERITED,
}
_AT = 1_767_225_600_000_000


def verdict_table() -> str:
    """The decision table of the verdict, as Markdown."""
    return decision_table(_CONDITIONS, ("verdict", "directive"), _decide)


def _decide(reached: str, evidence: str, fallbacks: str, contradicted: str, inherited: str) -> tuple[str, ...] | None:
    # A session that nobody ended has said nothing that could be contradicted, and nobody's account is waited for.
    if reached == _NOT_SAID and (contradicted == "yes" or evidence != Evidence.LOSSY):
        return None
    parts = [_part(reached, evidence, fallbacks, contradicted)]
    if evidence == Evidence.PENDING:
        parts.append({**_part(_NOT_SAID, str(Evidence.COMPLETE), _NONE, "no"), "partition": 1, "abandoned_at": None})
    obligations = [] if inherited == "nothing" else [Obligation("predecessor", Directive(inherited))]
    verdict = adjudicate(parts, threshold=0.05, obligations=obligations)
    assert verdict is not None  # it was ended, or left
    assert verdict["evidence"] == evidence
    return verdict["verdict"], verdict["directive"]


def _part(reached: str, evidence: str, fallbacks: str, contradicted: str) -> dict[str, Any]:
    """What one source partition knows of such a session."""
    degraded = [] if fallbacks == _NONE else ["operation-1"]
    outcome = str(SessionOutcome.SUCCESS if reached == "yes" else SessionOutcome.FAILURE)
    teardowns = [_teardown(outcome, 20, len(degraded), _AT - 1)] if contradicted == "yes" else []
    teardowns += [_teardown(outcome, 40, len(degraded), _AT)] if reached != _NOT_SAID else []
    return {
        "session_id": "session",
        "partition": 0,
        "offset": 1,
        "scope": Scope("line", "contract", "backend", "redaction", "board")._asdict(),
        "emitters": ["emitter-1"] if reached != _NOT_SAID else ["emitter-2"],
        "opened_at": _AT - 100,
        "last_seen_at": _AT - 1,
        "predecessor_session_id": "predecessor",
        "fallbacks": len(degraded),
        "masked_errors": len(degraded),
        "degraded_operations": degraded,
        "degraded_operations_total": len(degraded),
        "masked": [],
        "unreachable": int(fallbacks == _UNREACHABLE),
        "exhausted": 0,
        "not_equivalent": len(degraded),
        "shape_drifts": 0,
        "teardowns": teardowns,
        "evidence": evidence if evidence != Evidence.PENDING else str(Evidence.COMPLETE),
        "abandoned_at": _AT if reached == _NOT_SAID else None,
        "selections": [],
        "selections_total": None,
        "delegations": [],
        "identity_conflicts": [],
    }


def _teardown(outcome: str, operations: int, degraded: int, at: int) -> dict[str, Any]:
    return {
        "emitter_id": "emitter-1",
        "occurred_at": at,
        "outcome": outcome,
        "operations": operations,
        "degraded_operations": degraded,
        "claims": [],
    }


if __name__ == "__main__":
    sys.stdout.write(f"{verdict_table()}\n")
