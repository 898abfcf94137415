"""The comparison of verdicts: what stands on their topic against what was recounted from the log. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from unmask.consumers.verify.beside import LESS_WHERE_LOSSY
from unmask.consumers.verify.evidence import AsOf, sure_from
from unmask.consumers.verify.expected import Fields
from unmask.consumers.verify.judgement import NotJudged, judge, verdict_fields
from unmask.consumers.verify.outcome import Examined, Mismatch
from unmask.consumers.verify.published import Admissions, Entry, PublishedTopic, Unusable
from unmask.consumers.verify.recount import Recount
from unmask.consumers.verify.session_facts import SessionFacts
from unmask.consumers.verify.span import RECENT, Range
from unmask.schemas.codes import Directive, Evidence, VerdictKind
from unmask.schemas.partitioner import partition_for
from unmask.schemas.verdict_digest import verify_digest

__all__ = ["compare_verdicts"]

_CLEAN = VerdictKind.CLEAN_SUCCESS.value
_DEFAULT_THRESHOLD = 0.05
_DOUBT = "in a doubt that the whole log dispels: batches out of order, several emitters, or a clock ahead"


def compare_verdicts(
    examined: Examined,
    recount: Recount,
    as_of: AsOf,
    published: PublishedTopic,
    admissions: Admissions,
    partitions: int,
    within: Range,
) -> None:
    """Compares the verdicts of all sessions that ended in the range. `partitions` is how many the topic has."""
    standing: dict[str, dict[str, Any]] = {}
    for entry in published:
        record = _read_verdict(published, entry, partitions)
        if isinstance(record, Unusable):
            examined.verdicts += 1
            examined.mismatches.append(Mismatch("verdict", entry.key, {"record": record.why}, {"record": "sound"}))
        else:
            standing[entry.key] = record
    for session_id in sorted(standing.keys() | recount.sessions.keys()):
        verdict = standing.get(session_id)
        if verdict is not None and within.holds(verdict["ended_at"]):
            examined.digests += 1
            if not verify_digest(verdict):
                told = {"digest": "not that of the verdict's content"}
                examined.mismatches.append(Mismatch("digest", session_id, told, {"digest": "of its content"}))
        withdrawn = session_id in published.withdrawn or admissions.withdrew(session_id)
        _compare_verdict(
            examined, recount, as_of, session_id, standing, admissions, within, withdrawn=withdrawn
        )  # fmt: skip


def _compare_verdict(
    examined: Examined,
    recount: Recount,
    as_of: AsOf,
    session_id: str,
    standing: Mapping[str, dict[str, Any]],
    admissions: Admissions,
    within: Range,
    *,
    withdrawn: bool,
) -> None:
    session, verdict = recount.sessions.get(session_id), standing.get(session_id)
    stands = None if verdict is None else verdict_fields(verdict)
    if session is None:
        assert verdict is not None  # the session came from one of the two
        if not within.holds(verdict["ended_at"]):
            return
        if verdict["ended_at"] <= max((sure_from(recount, p) for p in recount.partitions), default=-1):
            examined.skip("verdicts", "its session lies before the oldest record that the log still has")
            return
        examined.verdicts += 1
        recent = verdict["ended_at"] > _through(recount, as_of) - RECENT
        examined.mismatches.append(Mismatch("verdict", session_id, stands, None, recent))
        return
    threshold = recount.rules.threshold
    if threshold is None:
        threshold = _DEFAULT_THRESHOLD if verdict is None else verdict["threshold"]
    inherited = _inherited(session.predecessors, verdict, standing, admissions)
    judged = judge(recount, as_of, session, threshold=threshold, inherited=inherited)
    if isinstance(judged, NotJudged):
        if verdict is not None and within.holds(verdict["ended_at"]):
            recent = verdict["ended_at"] > _through(recount, as_of) - RECENT
            _compare_unjudged(examined, session_id, verdict, judged, recent=recent)
        elif verdict is None and judged.ended and within.holds(session.last_event):
            examined.skip("verdicts", judged.why)
        return
    if not within.holds(judged.ended_at) and (verdict is None or not within.holds(verdict["ended_at"])):
        return
    if stands is not None:
        # What the log does not tell is not compared; that it was not is said.
        stands = {name: stands[name] for name in judged.fields}
        for why in judged.unknown:
            examined.skip("verdicts", why)
    intricate = stands != judged.fields and _is_intricate(recount, session)
    if intricate and stands is not None and _is_doubt(stands, judged.fields):
        examined.skip("verdicts", _DOUBT)
        return
    if verdict is None and withdrawn:
        examined.skip("verdicts", "withdrawn")
        return
    examined.verdicts += 1
    if stands != judged.fields:
        recent = (session.ended_arrival or judged.ended_at) > _through(recount, as_of) - RECENT
        examined.mismatches.append(Mismatch("verdict", session_id, stands, judged.fields, recent))


def _through(recount: Recount, as_of: AsOf) -> int:
    """The broker's time through which every partition was read."""
    return min((as_of.through.get(partition, 0) for partition in recount.partitions), default=0)


def _is_intricate(recount: Recount, session: SessionFacts) -> bool:
    """Whether what the stream knew of the session when it had to decide was less than what the whole log tells."""
    ahead = any(recount.chains[emitter].ahead for emitter in session.emitters)
    return session.out_of_order or len(session.emitters) > 1 or ahead


def _is_doubt(stands: Fields, recounted: Fields) -> bool:
    """Whether all that a verdict says against the recount is that less is proven."""
    doubted: set[str] = set()
    if stands["evidence"] == Evidence.LOSSY.value and recounted["evidence"] == Evidence.COMPLETE.value:
        doubted |= {"evidence", "verdict", "directive"} if recounted["verdict"] == _CLEAN else {"evidence"}
        doubted |= LESS_WHERE_LOSSY
    if recounted["equivalent"] and not stands["equivalent"]:
        doubted.add("equivalent")
    return all(stands[name] == value for name, value in recounted.items() if name not in doubted)


def _compare_unjudged(
    examined: Examined, session_id: str, verdict: dict[str, Any], why: NotJudged, *, recent: bool
) -> None:
    # An emitter that was given up and came back takes its sessions up again: what was said of them stands meanwhile.
    if why.ended or verdict["outcome_claimed"] is None:
        examined.skip("verdicts", why.why if why.ended else "taken up again after it had been given up")
    else:
        examined.verdicts += 1
        examined.mismatches.append(Mismatch("verdict", session_id, verdict_fields(verdict), None, recent))


def _inherited(
    predecessors: Iterable[str],
    verdict: dict[str, Any] | None,
    standing: Mapping[str, dict[str, Any]],
    admissions: Admissions,
) -> list[Directive]:
    """Directives that predecessors left open: as their own verdicts say, which are verified like every other."""
    open_directives: list[Directive] = []
    for name in predecessors:
        left = standing.get(name)
        if left is None:
            # Nothing is known of it any more: what was inherited once stays inherited.
            if verdict is not None and name in verdict["inherited_from"]:
                open_directives.append(Directive(verdict["directive"]))
            continue
        directive = Directive(left["directive"])
        clean = left["verdict"] == _CLEAN or directive is Directive.NONE
        if not clean and not admissions.discharged(name, left["digest"]):
            open_directives.append(directive)
    return open_directives


def _read_verdict(published: PublishedTopic, entry: Entry, partitions: int) -> dict[str, Any] | Unusable:
    record = published.read(entry)
    if isinstance(record, Unusable):
        return record
    if record["session_id"] != entry.key:
        return Unusable("under the key of another session")
    if partition_for(entry.key, partitions) != entry.partition:
        return Unusable(f"on partition {entry.partition}, which its session does not hash to")
    return record
