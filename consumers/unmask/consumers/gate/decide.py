"""From what the verdict topic holds to the gate's answer: a total function that admits only what it can prove.

Rules are tried from the worst to the best; whatever none of them names falls through to a refusal.
"""

from dataclasses import replace

from unmask.consumers.gate.admission import Admission
from unmask.consumers.gate.discharge import Discharge
from unmask.consumers.gate.entry import Displaced, Entry, NoRecord, Recorded, Tombstone, Undecodable, Unread
from unmask.consumers.gate.verdict_facts import Implausible, VerdictFacts, inconsistency, read_facts
from unmask.schemas.codes import AdmissionAnswer, AdmissionStep, Directive, Evidence, Finding, VerdictKind
from unmask.schemas.instants import iso
from unmask.schemas.signing import CONTRACT, Trust, verdict_flaw

__all__ = ["KNOWN_CONTRACT", "decide", "discharged", "last_word"]

KNOWN_CONTRACT = CONTRACT
"""The version of the verdict rules that this gate knows; of another it cannot tell what a verdict means."""


def decide(entry: Entry, *, mutating: bool = True, topic: str = "", trust: Trust | None = None) -> Admission:
    """The answer to what the topic holds for a session. Anything but mutating=False counts as mutating.

    With `trust` only a verdict that a trusted key signed for `topic` says anything.
    """
    mutates = mutating is not False
    session = entry.session_id
    if isinstance(entry, Unread):
        return _no(AdmissionAnswer.NOT_READY, session, mutates, entry.cause)
    if isinstance(entry, NoRecord):
        reason = (
            f"The verdicts were read to their end and none is of session {session}. It has not ended yet, or nobody "
            "observed it; wait for its teardown, or check the identifier."
        )
        return _no(AdmissionAnswer.NO_VERDICT, session, mutates, reason)
    if isinstance(entry, Tombstone):
        reason = "The session's verdict was withdrawn. Wait for a new one, or have an operator override."
        return _no(AdmissionAnswer.WITHDRAWN, session, mutates, reason)
    if isinstance(entry, Undecodable):
        reason = f"The session's newest record is not a verdict that this gate can read ({entry.reason})."
        return _no(AdmissionAnswer.UNVERIFIABLE, session, mutates, f"{reason} {_UNTRUSTED}")
    if isinstance(entry, Displaced):
        return _displaced(entry, mutates)
    return _recorded(entry, mutates, topic, trust)


def discharged(admission: Admission, discharge: Discharge | None) -> Admission:
    """The answer where the admissions hold that the verdict's directive was carried out, or set aside by an operator.

    Only what was recorded of this very verdict counts. A probe that succeeded lifts what a probe can lift; an override
    lifts what it was given for, a reader's for readers only.
    """
    if discharge is None or not _lifts(admission, discharge):
        return admission
    at = iso(discharge.occurred_at)
    if discharge.step is AdmissionStep.RECONCILED:
        how = f"its directive {admission.directive} was carried out at {at} (admission {discharge.admission_id})"
    else:
        how = f"{discharge.by} let successors pass at {at} ({discharge.reason_code})"
    return replace(
        admission, answer=AdmissionAnswer.ADMITTED, reason=f"Session {admission.session_id} may be continued: {how}."
    )


def last_word(admission: Admission, missing: str | None, *, anew: bool = False) -> Admission:
    """The answer where the stream has seen more of the session than the verdict says: `missing`, half a sentence.

    What refuses stays as it is, unless `anew` wants an answer of a verdict that is up to date.
    """
    if missing is None or not (admission.admitted or anew):
        return admission
    reason = (
        f"The stream knows more of session {admission.session_id} than its verdict says: {missing}. The verdict that "
        "takes this in is on its way; ask again, and look after the stream workers if it does not come."
    )
    return _no(AdmissionAnswer.NOT_READY, admission.session_id, admission.mutating, reason)


_RECONCILABLE = frozenset((AdmissionAnswer.RECONCILE_FIRST, AdmissionAnswer.ADMITTED_READ_ONLY))
_OVERRIDABLE = _RECONCILABLE | {AdmissionAnswer.HALTED, AdmissionAnswer.UNPROVEN}


def _lifts(admission: Admission, discharge: Discharge) -> bool:
    if admission.verdict is None or admission.verdict.digest != discharge.digest:
        return False
    if discharge.step is AdmissionStep.RECONCILED:
        return admission.answer in _RECONCILABLE
    overrides = discharge.step is AdmissionStep.OVERRIDDEN and (discharge.mutating or not admission.mutating)
    return overrides and admission.answer in _OVERRIDABLE


_UNTRUSTED = "Nothing in it can be trusted: have a person look at the verdict topic's writer, then override by name."


def _no(answer: AdmissionAnswer, session: str, mutating: bool, reason: str) -> Admission:
    return Admission(answer, session, reason, mutating)


def _displaced(entry: Displaced, mutating: bool) -> Admission:
    reason = f"The session's newest record cannot be verified: {entry.flaw}. {_UNTRUSTED}"
    earlier = None
    if entry.earlier is not None:
        try:
            earlier = read_facts(entry.earlier)
            reason += f" An earlier one, {earlier.kind}, can be, and stands for audit; it admits nobody."
        except Implausible:
            earlier = None
    return Admission(AdmissionAnswer.UNVERIFIABLE, entry.session_id, reason, mutating, earlier=earlier)


def _recorded(entry: Recorded, mutating: bool, topic: str, trust: Trust | None) -> Admission:
    flaw = _binding(entry, topic, trust)
    if flaw is None:
        try:
            facts = read_facts(entry.verdict)
            flaw = inconsistency(facts)
        except Implausible as error:
            flaw = str(error)
    if flaw is not None:
        reason = f"The session's verdict cannot be verified: {flaw}. {_UNTRUSTED}"
        return _no(AdmissionAnswer.UNVERIFIABLE, entry.session_id, mutating, reason)
    answer, reason = _judge(facts, mutating)
    return Admission(answer, entry.session_id, reason, mutating, facts.directive, facts)


def _binding(entry: Recorded, topic: str, trust: Trust | None) -> str | None:
    """Whether the record is of this contract, untouched, vouched for, and of the session that was asked for."""
    if entry.session_id != entry.key:
        return "it is of another session than the question"
    try:
        return verdict_flaw(entry.verdict, session_id=entry.key, topic=topic, trust=trust, contract=KNOWN_CONTRACT)
    except Exception:
        # Whatever a malformed record makes of the check, it is not verified.
        return "it is malformed"


def _judge(facts: VerdictFacts, mutating: bool) -> tuple[AdmissionAnswer, str]:
    ended = f"Session {facts.session_id} ended {iso(facts.ended_at)} as {facts.kind}"
    if facts.kind is VerdictKind.HARD_FAILURE:
        how = "was abandoned" if Finding.ABANDONED in facts.findings else "did not reach its objective"
        return AdmissionAnswer.HALTED, f"{ended}: it {how}. Stop and alert a developer; a person must look."
    if facts.directive is Directive.HALT_AND_ALERT_DEVELOPER:
        reason = f"{ended}, but it went on from a failed session that nobody cleared. Stop and alert a developer."
        return AdmissionAnswer.HALTED, reason
    if facts.evidence is not Evidence.COMPLETE:
        reason = f"{ended}, but its evidence is {facts.evidence}: events of it are missing or may be. Ask again later."
        return AdmissionAnswer.UNPROVEN, reason
    if facts.inherited_from:
        reason = (
            f"{ended} with open directives of {len(facts.inherited_from)} earlier session(s). Carry them out first."
        )
        return AdmissionAnswer.RECONCILE_FIRST, reason
    if facts.kind is VerdictKind.CLEAN_SUCCESS:
        return AdmissionAnswer.ADMITTED, f"{ended}: no operation went through a fallback, and the evidence is complete."
    share = f"{facts.degraded_operations} of {facts.operations} operations degraded"
    if not mutating and _proven_equivalent(facts):
        reason = f"{ended} ({share}), each proven bit-for-bit equal to the primary's answer. Read, and change nothing."
        return AdmissionAnswer.ADMITTED_READ_ONLY, reason
    words = (_WORDS[facts.directive], *(_PATTERNS[found] for found in facts.findings if found in _PATTERNS))
    return AdmissionAnswer.RECONCILE_FIRST, f"{ended} ({share}). {' '.join(words)}"


_WORDS = {
    Directive.PROBE_UPSTREAM_BEFORE_ACTION: "Probe the upstreams that failed, and act only when they answer again.",
    Directive.RE_FETCH_FROM_PRIMARY: "Fetch what the substitutes delivered from the primary again.",
    Directive.HALT_AND_ALERT_DEVELOPER: "Stop and alert a developer.",
    Directive.NONE: "Something is open that no directive names.",
}
_PATTERNS = {
    Finding.SCHEMA_DRIFT: "Substitutes delivered another shape than the primary does: check whatever was stored of it.",
    Finding.EXHAUSTION: "Limits were met again and again: ask for less, or wait until they are reset, before you ask.",
    Finding.PHANTOM_STABILITY: "Its success hid an upstream that could not be reached: take no rate from it.",
}


def _proven_equivalent(facts: VerdictFacts) -> bool:
    """Design, section 6, rule 4: at any ratio, reads may pass if every degraded operation is proven equivalent.

    A host that was contradicted, or whose payload shapes drifted, has proven nothing.
    """
    return (
        facts.equivalent
        and facts.degraded_operations > 0
        and len(facts.masked_equivalences) + facts.masked_cut >= facts.degraded_operations
        and not facts.contradictions
        and Finding.SCHEMA_DRIFT not in facts.findings
        and Finding.CONTRADICTED not in facts.findings
    )
