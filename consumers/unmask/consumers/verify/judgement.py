"""The verdict of a session as the recount sees it, by its own reading of the design's section 6."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unmask.consumers.verify.account import Stretch
from unmask.consumers.verify.beside import beside, beside_fields
from unmask.consumers.verify.chain import Chain
from unmask.consumers.verify.evidence import AsOf, standing_of, sure_from
from unmask.consumers.verify.expected import Fields
from unmask.consumers.verify.recount import Recount
from unmask.consumers.verify.session_facts import SessionFacts
from unmask.schemas.codes import Contradiction, Directive, Evidence, Family, FlawCause, SessionOutcome, VerdictKind

__all__ = ["COMPARED", "Judgement", "NotJudged", "judge", "verdict_fields"]

COMPARED = (
    "verdict", "directive", "evidence", "operations", "degraded_operations", "degraded_operation_ratio",
    "above_threshold", "equivalent", "outcome_claimed", "contradictions", "masked",
)  # fmt: skip
"""The fields that are compared, with those of `beside`. `masked` is how many masked errors there were."""

_STRICTEST_LAST = (
    Directive.NONE, Directive.RE_FETCH_FROM_PRIMARY, Directive.PROBE_UPSTREAM_BEFORE_ACTION,
    Directive.HALT_AND_ALERT_DEVELOPER,
)  # fmt: skip
_FOR_EVER = 1 << 62
_NOTHING_TOLD: frozenset[str] = frozenset()
_NAMED = 1024
_TEARDOWNS = 8


@dataclass(frozen=True, slots=True)
class NotJudged:
    """The session has no verdict yet, or the log does not tell which; `why` in words."""

    why: str
    ended: bool = True
    """False where it goes on, so that no verdict need stand."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the verdict must say."""

    ended_at: int
    fields: Fields
    unknown: tuple[str, ...] = ()
    """Why the log does not tell the fields that are left out."""


def judge(
    recount: Recount, as_of: AsOf, session: SessionFacts, *, threshold: float, inherited: Sequence[Directive]
) -> Judgement | NotJudged:
    """The session's verdict. `inherited` are directives that its predecessor left and nobody carried out."""
    chains = [recount.chains[name] for name in sorted(session.emitters)]
    end = max((teardown["occurred_at"] for teardown in session.teardowns), default=_FOR_EVER)
    if _beyond_the_log(recount, session, chains, end):
        return NotJudged("a part of it lies beyond the log's retained head")
    if session.after_the_end:
        return NotJudged("events of it came so long after its end that its verdict stood")
    if session.disputed or any(_is_disputed(chain, session.opened or 0, end) for chain in chains):
        return NotJudged("two lives claim the identity of an emitter of it")
    if len(session.operations) > _NAMED or len(session.teardowns) > _TEARDOWNS:
        return NotJudged("more degraded operations or teardowns than the stream tells apart")
    work = session.work
    claimed_by_two = work is not None and work.claimed_by_two
    if work is not None and claimed_by_two and work.too_many_runs:
        return NotJudged("two emitters told of one run of a delegation, among more than the stream tells apart")
    standings = [(chain, standing_of(chain, as_of.through.get(chain.partition, 0), recount.rules)) for chain in chains]
    lives = any(standing.alive or standing.cause is FlawCause.BEHIND for _, standing in standings)
    if not session.teardowns:
        if lives:
            return NotJudged("it has not ended", ended=False)
        left = max(chain.last_cut for chain in chains)
        fields, unknown = beside(
            work, left, certain=False, complete=False, blocked_turns=recount.rules.blocked_turns
        )  # fmt: skip
        return Judgement(left, _abandoned(session, threshold) | fields, tuple(unknown))
    if session.last_opened > end:
        return NotJudged("it was opened again after it had ended")
    # Whoever ended it has thereby accounted for it; the others owe an account up to its end.
    enders = {teardown["emitter_id"] for teardown in session.teardowns}
    others = [(chain, at) for chain, at in standings if chain.emitter_id not in enders]
    if any(standing.alive and chain.last_cut < end for chain, standing in others):
        return NotJudged("an emitter of it has not accounted up to its end yet")
    left_early = any(chain.closed and chain.last_cut < end for chain, _ in others)
    if left_early or (others and len({chain.partition for chain in chains}) > 1):
        return NotJudged("an emitter left it open, and another one ended it")
    lacks = _lacks(session, chains, end)
    if lacks and not _lacks(session, chains, min(teardown["occurred_at"] for teardown in session.teardowns)):
        return NotJudged("it ended more than once, and something is lost in between")
    lossy = lacks or any(chain.last_cut < end for chain, _ in others)
    # What is told under an identity that two claim cannot be told apart.
    complete = not (lossy or claimed_by_two)
    fields, unknown = beside(
        work, end, certain=not lossy, complete=complete, blocked_turns=recount.rules.blocked_turns
    )  # fmt: skip
    return Judgement(end, _ended(session, threshold, inherited, lossy=not complete) | fields, tuple(unknown))


def _lacks(session: SessionFacts, chains: list[Chain], end: int) -> bool:
    """Whether events of sessions are lost in a stretch of its emitters that touches its time up to `end`."""
    begin = session.opened or 0
    stretches = (
        stretch
        for chain in chains
        for stretch in chain.lossy()
        if stretch.concerns(session.told.get(chain.emitter_id, _NOTHING_TOLD))
    )
    return any(_reaches(stretch, begin, end) for stretch in stretches)


def _is_disputed(chain: Chain, begin: int, end: int) -> bool:
    return any(begin <= disputed.last and disputed.first <= end for disputed in chain.disputed)


def _beyond_the_log(recount: Recount, session: SessionFacts, chains: list[Chain], end: int) -> bool:
    sure = max((sure_from(recount, partition) for partition in recount.partitions), default=-1)
    begin = session.opened
    if sure >= 0 and (begin is None or begin <= sure):
        return True
    for chain in chains:
        unsure = chain.unsure(sure_from(recount, chain.partition))
        if any(_reaches(stretch, begin or 0, end) for stretch in unsure):
            return True
    return False


def _abandoned(session: SessionFacts, threshold: float) -> Fields:
    """Nobody said how it ended, so that it failed."""
    return _fields(
        session, threshold,
        kind=VerdictKind.HARD_FAILURE, directive=Directive.HALT_AND_ALERT_DEVELOPER, evidence=Evidence.LOSSY,
        operations=0, claimed_degraded=0, outcome=None, contradictions=[],
    )  # fmt: skip


def _reaches(stretch: Stretch, begin: int, end: int) -> bool:
    """Whether a session may have events in a stretch: at its first cut none, unless that is its last one too."""
    empty = stretch.cut_after == stretch.cut_before
    return begin <= stretch.cut_before and (stretch.cut_after < end or (empty and stretch.cut_after == end))


def _ended(session: SessionFacts, threshold: float, inherited: Sequence[Directive], *, lossy: bool) -> Fields:
    said = sorted(session.teardowns, key=lambda t: (t["occurred_at"], t["emitter_id"], t["outcome"], t["operations"]))
    contradictions = _contradictions(session, said)
    outcomes = {teardown["outcome"] for teardown in said}
    claimed_degraded = max(teardown["degraded_operations"] for teardown in said)
    fell_back = session.masked > 0 or session.fallbacks > 0 or claimed_degraded > 0
    if outcomes != {SessionOutcome.SUCCESS.value}:
        kind, directive = VerdictKind.HARD_FAILURE, Directive.HALT_AND_ALERT_DEVELOPER
    elif fell_back or lossy or contradictions or inherited:
        kind = VerdictKind.DEGRADED_SUCCESS
        own = Directive.PROBE_UPSTREAM_BEFORE_ACTION if session.unreachable else Directive.RE_FETCH_FROM_PRIMARY
        directive = max(own, *inherited, key=_STRICTEST_LAST.index) if inherited else own
    else:
        kind, directive = VerdictKind.CLEAN_SUCCESS, Directive.NONE
    return _fields(
        session, threshold,
        kind=kind, directive=directive, evidence=Evidence.LOSSY if lossy else Evidence.COMPLETE,
        operations=sum(teardown["operations"] for teardown in _last_words(said)),
        claimed_degraded=claimed_degraded, outcome=_worst(outcomes),
        contradictions=contradictions,
    )  # fmt: skip


def _worst(outcomes: set[str]) -> str:
    for outcome in (SessionOutcome.FAILURE.value, SessionOutcome.UNKNOWN_OUTCOME.value):
        if outcome in outcomes:
            return outcome
    return SessionOutcome.SUCCESS.value


def _last_words(said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The newest teardown of each emitter: each tells of what it did itself. `said` is in the order of time."""
    return list({teardown["emitter_id"]: teardown for teardown in said}.values())


def _contradictions(session: SessionFacts, said: list[dict[str, Any]]) -> list[str]:
    """In what the hosts' last words fall short of what the log holds."""
    last_words = _last_words(said)
    degraded = sum(teardown["degraded_operations"] for teardown in last_words)
    operations = sum(teardown["operations"] for teardown in last_words)
    most = max(session.degraded, *(teardown["degraded_operations"] for teardown in said))
    claims = [claim for teardown in last_words for claim in teardown["claims"]]
    masked = sum(claim["count"] for claim in claims if claim["family"] == Family.MASKED_ERROR.value)
    fallbacks = sum(claim["count"] for claim in claims if claim["family"] == Family.KERNEL_FALLBACK.value)
    words = {(t["emitter_id"], t["outcome"], t["operations"], t["degraded_operations"]) for t in said}
    disagree = len(words) > len(last_words) or len({teardown["outcome"] for teardown in said}) > 1
    found = {
        Contradiction.DEGRADED_OPERATIONS: session.degraded > degraded,
        Contradiction.OPERATIONS: most > operations,
        Contradiction.MASKED_ERRORS: bool(claims) and session.masked > masked,
        Contradiction.KERNEL_FALLBACKS: bool(claims) and session.fallbacks > fallbacks,
        Contradiction.TEARDOWNS_DISAGREE: disagree,
    }
    return [contradiction.value for contradiction, holds in found.items() if holds]


def _fields(
    session: SessionFacts, threshold: float, *, kind: VerdictKind, directive: Directive, evidence: Evidence,
    operations: int, claimed_degraded: int, outcome: str | None, contradictions: list[str],
) -> Fields:  # fmt: skip
    degraded = max(session.degraded, claimed_degraded)
    of = max(operations, degraded)
    ratio = degraded / of if of else None
    return {
        "verdict": kind.value,
        "directive": directive.value,
        "evidence": evidence.value,
        "operations": of,
        "degraded_operations": degraded,
        "degraded_operation_ratio": ratio,
        "above_threshold": ratio is not None and ratio > threshold,
        # What only a host speaks of was proven by nobody.
        "equivalent": session.unproven == 0 and session.degraded >= claimed_degraded,
        "outcome_claimed": outcome,
        "contradictions": " ".join(sorted(contradictions)),
        "masked": session.masked,
    }


def verdict_fields(record: Mapping[str, Any]) -> Fields:
    """The compared fields of a published verdict."""
    fields: Fields = {name: record[name] for name in COMPARED}
    fields["contradictions"] = " ".join(sorted(record["contradictions"]))
    fields["masked"] = len(record["masked"]) + record["masked_cut"]
    return fields | beside_fields(record)
