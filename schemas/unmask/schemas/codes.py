"""The closed sets of the contract: every code that may stand in a record, with who sends it.

Text from outside is turned into one of these codes on the host and then forgotten; nothing else is ever published.
"""

from enum import StrEnum

__all__ = [
    "AdmissionAnswer",
    "AdmissionStep",
    "AlertKind",
    "AlertState",
    "CallOutcome",
    "ClearedBy",
    "Contradiction",
    "Directive",
    "DropCause",
    "EffectAnswer",
    "EffectReason",
    "EffectRequestKind",
    "EffectStep",
    "Enforcer",
    "Equivalence",
    "Evidence",
    "Family",
    "Finding",
    "FlawCause",
    "Measure",
    "QuarantineReason",
    "ReasonCode",
    "RecoveryState",
    "SelectionScope",
    "SelectionSource",
    "SelectionTimeline",
    "SessionOutcome",
    "SignalDoubt",
    "UpstreamClass",
    "VerdictKind",
]


class _Code(StrEnum):
    """A code is its own text, so that it goes into records, metrics and JSON unchanged."""


class Family(_Code):
    """Kinds of events. Loss is accounted per family."""

    ROUTE_ATTEMPT = "route_attempt"
    """A request entered a capability; the denominator of every rate. Sent by hosts."""
    KERNEL_FALLBACK = "kernel_fallback"
    """The legacy route answered where the kernel route was expected. Sent by hosts."""
    MASKED_ERROR = "masked_error"
    """An upstream's failure was hidden from the caller by a substitute answer. Sent by hosts."""
    SESSION_TEARDOWN = "session_teardown"
    """A session ended and says how. Sent by hosts."""
    ROUTE_SELECTION = "route_selection"
    """A profile was chosen, persisted or cleared for a session. Sent by hosts."""
    DELEGATION_PROGRESS = "delegation_progress"
    """A call of a delegation ended, with what it changed. Sent by hosts."""
    DELEGATION_EFFECT = "delegation_effect"
    """An effect of a delegation was granted, committed, released or refused. Sent by hosts."""
    UNKNOWN_FAMILY = "unknown_family"
    """What an older reader sees of a family it does not know. Never sent."""


class ReasonCode(_Code):
    """Why the kernel route did not answer. Sent by hosts, from the closed classifier of refusal reasons."""

    TIMEOUT = "timeout"
    """The kernel route did not answer in time, in any spelling of it."""
    RATE_LIMITED = "rate_limited"
    """It answered that the caller asks too often."""
    QUOTA_EXHAUSTED = "quota_exhausted"
    """A paid or granted budget is used up."""
    UPSTREAM_ERROR = "upstream_error"
    """It answered with an error of its own (5xx, provider error)."""
    UPSTREAM_UNREACHABLE = "upstream_unreachable"
    """No connection: refused, reset, name not resolved, no route."""
    CIRCUIT_OPEN = "circuit_open"
    """The call was refused before it was made."""
    CAPABILITY_UNSUPPORTED = "capability_unsupported"
    """The kernel route does not implement what was asked."""
    POLICY_REFUSED = "policy_refused"
    """A policy or guard forbade the kernel route."""
    AUTH_REFUSED = "auth_refused"
    """Credentials were missing, expired or not sufficient."""
    INVALID_REQUEST = "invalid_request"
    """The kernel route called the request malformed."""
    INVALID_RESPONSE = "invalid_response"
    """Its answer could not be parsed or failed validation."""
    CONTEXT_EXCEEDED = "context_exceeded"
    """The request was larger than the kernel route takes."""
    CONTENT_FILTERED = "content_filtered"
    """A content filter withheld the answer."""
    NOT_READY = "not_ready"
    """The kernel route was starting, draining or not configured."""
    CANCELLED = "cancelled"
    """The call was cancelled before it answered."""
    INTERNAL_ERROR = "internal_error"
    """The kernel route failed by a fault of its own code."""
    UNKNOWN_REFUSAL = "unknown_refusal"
    """Nothing above fits, or a newer code that this reader does not know."""


class DropCause(_Code):
    """Why a host dropped events instead of sending them. Sent by hosts in their accounts."""

    BUFFER_FULL = "buffer_full"
    """The in-memory buffer was at its limit when the event was recorded."""
    OUTBOX_FULL = "outbox_full"
    """The disk outbox was at its limit of size."""
    OUTBOX_EXPIRED = "outbox_expired"
    """A batch stayed undelivered for longer than the outbox keeps it."""
    DISK_FAILED = "disk_failed"
    """The outbox could not be written or read back."""
    HOST_DIED = "host_died"
    """Recorded by a process that died before the event reached the disk."""
    CLOSE_DEADLINE = "close_deadline"
    """Not yet delivered when close() reached its deadline."""
    TOO_LARGE = "too_large"
    """A single event larger than a record may be."""
    INVALID_EVENT = "invalid_event"
    """The event could not be encoded."""
    UNKNOWN_CAUSE = "unknown_cause"
    """What an older reader sees of a cause it does not know. Never sent."""


class Evidence(_Code):
    """How much a count proves. Set by the stream tables; a count is never shown without it."""

    COMPLETE = "COMPLETE"
    """Every emitter that was open has accounted for the window, and everything it recorded was received."""
    LOSSY = "LOSSY"
    """Something of this window is known to be missing, or may be."""
    PENDING = "PENDING"
    """An open emitter or a partition has not passed the window's end yet."""
    ABSENT = "ABSENT"
    """Nobody witnessed this window. Not a zero."""


class FlawCause(_Code):
    """Why a stretch of an emitter's stream, or of a partition, proves nothing. Set by the ledger."""

    GAP = "gap"
    """Batches are missing and events with them."""
    DROPPED = "dropped"
    """The host says that it dropped events."""
    MISCOUNT = "miscount"
    """Recorded minus dropped is not what was received."""
    SILENT = "silent"
    """The emitter stopped without closing."""
    BEHIND = "behind"
    """The emitter still sends, but the time up to which it accounts is too far behind."""
    QUARANTINED = "quarantined"
    """A record of this time could not be read."""
    SKIPPED = "skipped"
    """Offsets were jumped over unread, for example because the log's head was trimmed."""
    IDENTITY = "identity"
    """Two lives use one emitter_id, or a batch_seq came again with other content."""
    UNKNOWN_FLAW = "unknown_flaw"
    """What an older reader sees of a cause it does not know. Never sent."""


class Measure(_Code):
    """What a tally cell counts. Set by the ledger."""

    ROUTE_ATTEMPT = "route_attempt"
    """Attempts; code is the entry point."""
    KERNEL_FALLBACK = "kernel_fallback"
    """Fallbacks; code is the reason_code."""
    MASKED_ERROR = "masked_error"
    """Masked errors; capability is the upstream, code its class."""
    SESSION_TEARDOWN = "session_teardown"
    """Teardowns; code is the outcome."""
    EMITTERS = "emitters"
    """Emitters that were open in the window: its witnesses."""
    LATE = "late"
    """Events counted after their window had been closed."""
    SKEWED = "skewed"
    """Events from the future, counted in the broker's window instead."""
    DUPLICATES = "duplicates"
    """Batches seen again and not counted again, in the window in which they arrived."""
    UPSTREAM = "upstream"
    """Masked errors of an unreachable or exhausted upstream, with the sessions that met it. Routed by upstream."""
    ROUTE_SELECTION = "route_selection"
    """Selections; capability is the source, code the timeline."""
    DELEGATION_PROGRESS = "delegation_progress"
    """Calls of delegations; code is the outcome."""
    DELEGATION_EFFECT = "delegation_effect"
    """Steps of effects; capability is who enforced, code the step."""
    WITNESSES = "witnesses"
    """Emitters in the window that can tell of a family beyond the first four; capability is the family."""
    UNKNOWN_MEASURE = "unknown_measure"
    """What an older reader sees of a measure it does not know. Never sent."""


class SessionOutcome(_Code):
    """How a host says that a session ended."""

    SUCCESS = "success"
    """The objective was reached."""
    FAILURE = "failure"
    """It was not."""
    UNKNOWN_OUTCOME = "unknown_outcome"
    """What an older reader sees of an outcome it does not know. Never sent."""


class Equivalence(_Code):
    """Whether a substitute answer was proven to be the primary's. Sent by hosts."""

    BIT_FOR_BIT = "bit_for_bit"
    """The digests of both canonical payloads are equal."""
    DIFFERENT = "different"
    """The digests differ."""
    UNPROVEN = "unproven"
    """No comparison was possible."""


class UpstreamClass(_Code):
    """What a masked upstream signature means. Derived from the signature, never sent on its own."""

    TIMEOUT = "timeout"
    """No answer in time, in any spelling; 408, 504, 522, 524."""
    RATE_LIMITED = "rate_limited"
    """429 and its spellings."""
    QUOTA = "quota"
    """A budget is used up."""
    SERVER_ERROR = "server_error"
    """5xx that are not timeouts, and provider errors."""
    CONNECTION = "connection"
    """Refused, reset, not resolved, TLS failed."""
    CLIENT_ERROR = "client_error"
    """4xx other than 408 and 429."""
    INVALID_RESPONSE = "invalid_response"
    """An answer that could not be used."""
    NOT_ATTEMPTED = "not_attempted"
    """No upstream call was made, for example because a breaker was open."""
    UNATTRIBUTED = "unattributed"
    """A fallback was engaged and no error can be attributed to it."""


class VerdictKind(_Code):
    """How an ended session is judged. Set by the stream tables."""

    CLEAN_SUCCESS = "CLEAN_SUCCESS"
    """Objective reached, no operation through a fallback, evidence complete."""
    DEGRADED_SUCCESS = "DEGRADED_SUCCESS"
    """Objective reached, but not on proven primary paths alone."""
    HARD_FAILURE = "HARD_FAILURE"
    """Objective not reached, or nobody said that it was."""


class Directive(_Code):
    """What a successor must do first. Set with the verdict."""

    NONE = "NONE"
    """Nothing."""
    PROBE_UPSTREAM_BEFORE_ACTION = "PROBE_UPSTREAM_BEFORE_ACTION"
    """Ask the failed upstream whether it answers again."""
    RE_FETCH_FROM_PRIMARY = "RE_FETCH_FROM_PRIMARY"
    """Replace what a substitute delivered by the primary's own answer."""
    HALT_AND_ALERT_DEVELOPER = "HALT_AND_ALERT_DEVELOPER"
    """Stop; a person must look."""


class Finding(_Code):
    """Named patterns that a verdict reports beside its kind."""

    ABANDONED = "ABANDONED"
    """No teardown: the emitter fell silent or closed with the session open."""
    CONTRADICTED = "CONTRADICTED"
    """The host claimed less than the stream saw."""
    SCHEMA_DRIFT = "SCHEMA_DRIFT"
    """A substitute payload has another shape than the primary's."""
    EXHAUSTION = "EXHAUSTION"
    """Rate limits or quotas were evaded repeatedly."""
    PHANTOM_STABILITY = "PHANTOM_STABILITY"
    """An unreachable upstream stood behind a reported success."""
    INHERITED = "INHERITED"
    """The predecessor's directive was not carried out."""
    LOSSY_EVIDENCE = "LOSSY_EVIDENCE"
    """Events of this session are missing or may be."""
    PREFERENCE_DRIFT = "PREFERENCE_DRIFT"
    """An automatic choice outlived its turn or window, or became what later turns begin with."""
    EMERGENCY_AS_DEFAULT = "EMERGENCY_AS_DEFAULT"
    """An emergency profile was used though the primary did not fail in that turn."""
    WATCHDOG_DEPENDENT = "WATCHDOG_DEPENDENT"
    """Nothing but the watchdog ends the drifts."""
    CLEANUP_UNSEEN = "CLEANUP_UNSEEN"
    """An automatic choice vanished, and no record says who cleared it."""
    STALLED_DELEGATION = "STALLED_DELEGATION"
    """A delegation's calls succeed one after another, and nothing changes."""
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"
    """A delegation spent more calls, tokens or attempts than it was given."""
    DUPLICATE_EFFECT = "DUPLICATE_EFFECT"
    """One effect was committed more than once."""
    INADEQUATE_SIGNAL = "INADEQUATE_SIGNAL"
    """A delegation's signal proves nothing: constant, foreign, unstable, or equal for different outcomes."""
    IDENTITY_CONFLICT = "IDENTITY_CONFLICT"
    """Two emitters claim one identity."""
    ENFORCEMENT_BLOCKED = "ENFORCEMENT_BLOCKED"
    """Enforcement kept a delegation from an accepted write for many turns."""
    UNKNOWN_FINDING = "UNKNOWN_FINDING"
    """What an older reader sees of a finding it does not know. Never sent."""


class Contradiction(_Code):
    """In what a host's claim falls short of what the stream saw."""

    DEGRADED_OPERATIONS = "degraded_operations"
    """Fewer degraded operations claimed than seen."""
    OPERATIONS = "operations"
    """Fewer operations claimed than degraded operations seen."""
    MASKED_ERRORS = "masked_errors"
    """Fewer masked errors claimed than seen."""
    KERNEL_FALLBACKS = "kernel_fallbacks"
    """Fewer fallbacks claimed than seen."""
    TEARDOWNS_DISAGREE = "teardowns_disagree"
    """Two teardowns of one session say different things."""
    UNKNOWN_CONTRADICTION = "unknown_contradiction"
    """What an older reader sees of one it does not know. Never sent."""


class AlertKind(_Code):
    """What an alert is about."""

    DEGRADED_SESSION = "DEGRADED_SESSION"
    """A session's degraded ratio is above the threshold, or its verdict is not clean."""
    HARD_FAILURE = "HARD_FAILURE"
    """A session failed or was abandoned."""
    CONTRADICTION = "CONTRADICTION"
    """A host claimed less than the stream saw."""
    UPSTREAM_OUTAGE = "UPSTREAM_OUTAGE"
    """Several sessions met the same unreachable upstream in one window."""
    TELEMETRY_LOSS = "TELEMETRY_LOSS"
    """A window is LOSSY."""
    TELEMETRY_ABSENT = "TELEMETRY_ABSENT"
    """Windows close and nobody witnesses them any more."""
    SILENT_EMITTER = "SILENT_EMITTER"
    """An emitter stopped without closing."""
    FALLBACK_RATE = "FALLBACK_RATE"
    """Fallbacks per attempt are above the threshold."""
    UNVERIFIABLE_VERDICT = "UNVERIFIABLE_VERDICT"
    """A record on the verdict topic was altered, replayed, or not signed by a trusted key."""
    PREFERENCE_DRIFT = "PREFERENCE_DRIFT"
    """An automatic choice outlived its turn or window in a session."""
    EMERGENCY_AS_DEFAULT = "EMERGENCY_AS_DEFAULT"
    """An emergency profile was used though the primary did not fail."""
    WATCHDOG_DEPENDENT = "WATCHDOG_DEPENDENT"
    """Nothing but the watchdog ends a session's drifts."""
    CLEANUP_UNSEEN = "CLEANUP_UNSEEN"
    """An automatic choice vanished without a record."""
    STALLED_DELEGATION = "STALLED_DELEGATION"
    """A delegation's calls succeed and change nothing."""
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"
    """A delegation spent more than it was given."""
    DUPLICATE_EFFECT = "DUPLICATE_EFFECT"
    """One effect was committed more than once."""
    IDENTITY_CONFLICT = "IDENTITY_CONFLICT"
    """Two emitters claim one identity."""
    ENFORCEMENT_BLOCKED = "ENFORCEMENT_BLOCKED"
    """A delegation is refused for many turns, without an accepted write."""
    UNKNOWN_ALERT = "UNKNOWN_ALERT"
    """What an older reader sees of a kind it does not know. Never sent."""


class AlertState(_Code):
    """Whether an alert holds."""

    FIRING = "FIRING"
    """It holds."""
    RESOLVED = "RESOLVED"
    """It no longer holds."""


class QuarantineReason(_Code):
    """Why a record could not be read."""

    EMPTY_VALUE = "EMPTY_VALUE"
    """No bytes at all."""
    BAD_MAGIC = "BAD_MAGIC"
    """Neither a single-object header nor a registry frame."""
    UNKNOWN_FINGERPRINT = "UNKNOWN_FINGERPRINT"
    """The header names a schema that is not known here."""
    TRUNCATED = "TRUNCATED"
    """The body ends early."""
    TRAILING_BYTES = "TRAILING_BYTES"
    """The body ends before the record does."""
    UNDECODABLE = "UNDECODABLE"
    """The body is not of its schema."""
    INVALID_TOKEN = "INVALID_TOKEN"
    """A label or identifier is not a bounded token."""
    INVALID_CONTENT = "INVALID_CONTENT"
    """Decoded, but breaks a rule of the contract."""
    EMPTY_KEY = "EMPTY_KEY"
    """The record has no key, or another key than its emitter_id."""
    UNKNOWN_REASON = "UNKNOWN_REASON"
    """What an older reader sees of a reason it does not know. Never sent."""


class AdmissionAnswer(_Code):
    """The gate's answers; every one but the first two refuses."""

    ADMITTED = "ADMITTED"
    """Go on."""
    ADMITTED_READ_ONLY = "ADMITTED_READ_ONLY"
    """Go on, but change nothing."""
    RECONCILE_FIRST = "RECONCILE_FIRST"
    """Carry the directive out first."""
    HALTED = "HALTED"
    """The predecessor failed; a person must look."""
    NO_VERDICT = "NO_VERDICT"
    """The topic was read to its end and holds no verdict of this session."""
    WITHDRAWN = "WITHDRAWN"
    """The verdict was withdrawn."""
    UNPROVEN = "UNPROVEN"
    """There is a verdict, but its evidence is not complete."""
    UNVERIFIABLE = "UNVERIFIABLE"
    """There is a record, but it cannot be decoded or its digest does not match."""
    NOT_READY = "NOT_READY"
    """The topic could not be read to its end in time."""


class AdmissionStep(_Code):
    """What an admission record tells of."""

    ASKED = "ASKED"
    """The gate was asked."""
    RECONCILED = "RECONCILED"
    """The directive was carried out and succeeded."""
    RECONCILE_FAILED = "RECONCILE_FAILED"
    """It was carried out and failed."""
    OVERRIDDEN = "OVERRIDDEN"
    """An operator let the successor pass."""
    WITHDRAWN = "WITHDRAWN"
    """An operator withdrew the session's verdict."""
    APPEALED = "APPEALED"
    """Somebody holds the gate's refusal to be wrong, and says why."""
    VINDICATED = "VINDICATED"
    """What was refused was later shown to have been right."""
    UNKNOWN_STEP = "UNKNOWN_STEP"
    """What an older reader sees of a step it does not know. Never sent."""


class SelectionSource(_Code):
    """Who chose a profile. Sent by hosts."""

    USER = "user"
    """A person; the only choice that may become a preference."""
    AUTO = "auto"
    """The host itself, to recover from a fault."""
    UNKNOWN_SOURCE = "unknown_source"
    """What an older reader sees of a source it does not know. Never sent."""


class SelectionScope(_Code):
    """For how long a choice is meant. Sent by hosts."""

    TURN = "turn"
    """For the turn in which it was made."""
    WINDOW = "window"
    """Up to a stated instant."""
    SESSION = "session"
    """For the rest of the session."""
    UNKNOWN_SCOPE = "unknown_scope"
    """What an older reader sees of a scope it does not know. Never sent."""


class SelectionTimeline(_Code):
    """On which of a session's three timelines a selection stands. Sent by hosts."""

    LIVE = "live"
    """What a turn really used."""
    PERSISTED = "persisted"
    """What was written down for later turns."""
    CLEARED = "cleared"
    """What was taken back."""
    UNKNOWN_TIMELINE = "unknown_timeline"
    """What an older reader sees of a timeline it does not know. Never sent."""


class ClearedBy(_Code):
    """Who took a choice back. Sent by hosts."""

    USER = "user"
    """A person."""
    RUNTIME = "runtime"
    """The code that made the choice, when its reason was over."""
    WATCHDOG = "watchdog"
    """A janitor that looks for what was left behind."""
    UNKNOWN_ACTOR = "unknown_actor"
    """What an older reader sees of an actor it does not know. Never sent."""


class CallOutcome(_Code):
    """How a delegation's call ended. Sent by hosts."""

    SUCCEEDED = "succeeded"
    """Without an error; whether anything changed is another question."""
    FAILED = "failed"
    """With an error."""
    REFUSED = "refused"
    """It was not made: a budget or a guard refused it."""
    UNKNOWN_CALL = "unknown_call"
    """What an older reader sees of an outcome it does not know. Never sent."""


class EffectStep(_Code):
    """What became of an effect that a delegation wanted. Sent by hosts."""

    GRANTED = "granted"
    """The effects ledger gave it to this holder."""
    COMMITTED = "committed"
    """It was made, and its receipt is on record: an accepted write."""
    RELEASED = "released"
    """The holder gave it back without making it."""
    REFUSED = "refused"
    """Gate, breaker or effects ledger said no."""
    APPEALED = "appealed"
    """Somebody holds a refusal to be wrong, and says why."""
    VINDICATED = "vindicated"
    """What was refused was later shown to have been right."""
    UNKNOWN_EFFECT = "unknown_effect"
    """What an older reader sees of a step it does not know. Never sent."""


class Enforcer(_Code):
    """Who refused or granted. Sent by hosts."""

    GATE = "gate"
    """The successor gate."""
    BREAKER = "breaker"
    """The progress breaker, whose advice the host followed."""
    EFFECTS = "effects"
    """The effects ledger."""
    UNKNOWN_ENFORCER = "unknown_enforcer"
    """What an older reader sees of one it does not know. Never sent."""


class RecoveryState(_Code):
    """What became of an automatic choice. Set by the stream tables."""

    OPEN = "open"
    """Still in force when the session was last seen."""
    EXPIRED = "expired"
    """Its turn or window was over, and it was not used again."""
    CLEARED = "cleared"
    """Taken back, and a record says by whom."""
    SUPERSEDED = "superseded"
    """Another choice that is on record took its place."""
    VANISHED = "vanished"
    """No longer in force, and no record says why."""
    UNKNOWN_STATE = "unknown_state"
    """What an older reader sees of a state it does not know. Never sent."""


class SignalDoubt(_Code):
    """Why a delegation's signal may not decide. Set by the progress breaker."""

    NO_SIGNAL = "no_signal"
    """The calls carry no digest of what they changed."""
    NEVER_SEEN_TO_MOVE = "never_seen_to_move"
    """It may be constant by construction."""
    FOREIGN_SIGNAL = "foreign_signal"
    """It belongs to another delegation."""
    UNSTABLE_SIGNAL = "unstable_signal"
    """It differs under identical conditions."""
    INDISTINCT_SIGNAL = "indistinct_signal"
    """It is equal for outcomes that are known to differ."""
    UNKNOWN_DOUBT = "unknown_doubt"
    """What an older reader sees of a doubt it does not know. Never sent."""


class EffectRequestKind(_Code):
    """What is asked of the effects ledger. Sent by hosts, and `expire` by the ledger itself."""

    CLAIM = "claim"
    """May I make this effect? Asked before a non-idempotent effect is made."""
    COMMIT = "commit"
    """It was made; this is its receipt."""
    RELEASE = "release"
    """It was not made and will not be under this lease."""
    RENEW = "renew"
    """The holder needs more time."""
    EXPIRE = "expire"
    """A lease should be over; the broker's time of this very request decides. Sent by the effects ledger."""
    UNKNOWN_REQUEST = "unknown_request"
    """What an older reader sees of a kind it does not know. Never sent."""


class EffectAnswer(_Code):
    """What the effects ledger decided. Only the first one allows the effect."""

    GRANTED = "GRANTED"
    """Make it, before the lease ends, and commit under this fencing token."""
    ALREADY_COMMITTED = "ALREADY_COMMITTED"
    """It was made before; the earlier receipt says how."""
    HELD_BY_ANOTHER = "HELD_BY_ANOTHER"
    """Somebody else has the lease, until the instant told."""
    BUDGET_SPENT = "BUDGET_SPENT"
    """As many claims were granted as the budget allows."""
    ABSTAIN = "ABSTAIN"
    """No confident answer; the reason says why. The effect must not be made on it."""
    COMMITTED = "COMMITTED"
    """The receipt is on record, for good."""
    RELEASED = "RELEASED"
    """The lease is given back."""
    RENEWED = "RENEWED"
    """The lease goes on, until the instant told."""
    FENCED = "FENCED"
    """The lease of this token is over or was followed by another; nothing was changed."""
    EXPIRED = "EXPIRED"
    """The lease ended without a word of its holder."""
    UNKNOWN_ANSWER = "UNKNOWN_ANSWER"
    """What an older reader sees of an answer it does not know. Never sent; it allows nothing."""


class EffectReason(_Code):
    """Why the effects ledger abstained or refused. Set by the ledger; some by the asking host alone, which say so."""

    FINGERPRINT_CONFLICT = "fingerprint_conflict"
    """The key was first claimed for an effect with another content."""
    RECEIPT_CONFLICT = "receipt_conflict"
    """The same token committed before, with another receipt: one grant, two effects."""
    TENANT_FULL = "tenant_full"
    """The tenant has as many keys on record as it may have."""
    LEDGER_FULL = "ledger_full"
    """The partition has as many keys on record as it may have."""
    LEASE_OVER = "lease_over"
    """The lease had ended by the broker's time."""
    NOT_THE_HOLDER = "not_the_holder"
    """The token is not that of the key's newest lease, or that lease was released."""
    UNKNOWN_KEY = "unknown_key"
    """Nothing is known of the key: it was never claimed, or was forgotten after its retention."""
    NOT_DUE = "not_due"
    """The lease is not over yet by the broker's time."""
    NOTHING_HELD = "nothing_held"
    """There is no such lease any more that could end."""
    UNKNOWN_REQUEST = "unknown_request"
    """This ledger is older than the request's kind."""
    TIMEOUT = "timeout"
    """No decision came in time. Set by the asking host."""
    NOT_READY = "not_ready"
    """The broker or its topics could not be reached. Set by the asking host."""
    CLOSED = "closed"
    """The client was closed. Set by the asking host."""
    UNKNOWN_REASON = "unknown_reason"
    """What an older reader sees of a reason it does not know. Never sent."""
