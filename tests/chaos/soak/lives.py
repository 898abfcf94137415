"""One life of a host, by its journal and by the log: what it recorded, what came of each event, to the last one.

Events of a family leave a host in the order in which they were recorded. So what arrived is the beginning of the
journal, and what died with the host its end; and the n-th event in the log is the n-th in the journal.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.chaos.soak.checks import Checks
from tests.chaos.soak.journal import Entry, Kind, LifeJournal
from tests.chaos.soak.log import AHEAD_US, Batch, Chain, Log
from tests.chaos.soak.words import CAPABILITIES, ENTRY_POINTS, FAILURES

from unmask.schemas.codes import DropCause, Family, SessionOutcome
from unmask.schemas.windowing import MICROS, window_start

__all__ = ["FAMILY_OF", "Event", "Life", "Stretch", "later_than", "read_lives"]

FAMILY_OF = {
    Kind.ATTEMPT: Family.ROUTE_ATTEMPT,
    Kind.FALLBACK: Family.KERNEL_FALLBACK,
    Kind.MASKED: Family.MASKED_ERROR,
    Kind.CLOSE: Family.SESSION_TEARDOWN,
}
NOTHING = "-"


class Event(NamedTuple):
    """An event as the journal has it, with the instant at which it must count; None where only the broker knew it."""

    family: Family
    capability: str
    code: str
    instant: int | None
    entry: Entry


class Stretch(NamedTuple):
    """The time between two cuts in which events of some families are lost."""

    after: int
    through: int
    families: frozenset[str]
    told_after: int
    """By the host's own clock, as its sessions are told of."""
    told_through: int


@dataclass(slots=True)
class Life:
    """What came of one emitter."""

    journal: LifeJournal
    chain: Chain
    counted: list[Event] = field(default_factory=list)
    lost: list[Event] = field(default_factory=list)
    stretches: list[Stretch] = field(default_factory=list)
    moved: int = 0
    """Events whose instant the SDK put just behind a cut, since they were recorded while it was made."""
    causes: Counter[str] = field(default_factory=Counter)
    in_doubt: int = 0
    """1 where the journal's last entry was written and the call never made."""


def read_lives(checks: Checks, journals: Iterable[LifeJournal], log: Log) -> list[Life]:
    """Every life, checked against the account that it left."""
    lives = []
    for journal in journals:
        chain = log.chains.get(journal.emitter_id)
        # One that recorded nothing may be known to nobody; and the call of a last entry may not have been made.
        nobody = journal.killed and len(journal.entries) <= 1
        checks.holds("accounts", nobody or chain is not None, f"{journal.name}: its emitter is not in the log at all")
        if chain is not None:
            lives.append(_read(checks, journal, chain))
    known = {journal.emitter_id for journal in journals}
    for emitter_id, chain in log.chains.items():
        # Killed before its journal was begun: it must have told so, and can have told no more.
        told = sum(len(events) for batch in chain.in_order() for events in _arrays(batch.body).values())
        checks.holds("accounts", emitter_id in known or not told, f"emitter {emitter_id} has no journal, and events")
        checks.holds("accounts", chain.last.body["closing"], f"emitter {emitter_id} was never closed")
    return lives


def later_than(life: Life, seconds: int, horizon: int) -> int:
    """How many of its events came more than `horizon` microseconds after the end of their window of that size."""
    late = 0
    for batch in life.chain.in_order():
        for family in FAMILY_OF.values():
            for _, told, _ in _arrays(batch.body)[family]:
                end = window_start(_counts_at(batch, told), seconds) + seconds * MICROS
                late += end + horizon <= batch.arrival
    return late


def _read(checks: Checks, journal: LifeJournal, chain: Chain) -> Life:
    life, about = Life(journal, chain), journal.name
    missing = sorted(set(range(1, chain.last.seq + 1)) - set(chain.seqs))
    checks.equal("accounts", f"{about}: batches that never arrived", [], missing)
    accounts = {account["family"]: account for account in chain.last.body["accounts"]}
    entries: dict[Family, list[Entry]] = defaultdict(list)
    for entry in journal.entries:
        if (family := FAMILY_OF.get(Kind(entry.kind))) is not None:
            entries[family].append(entry)
    last = FAMILY_OF.get(Kind(journal.entries[-1].kind)) if journal.entries else None
    for family in FAMILY_OF.values():
        account = accounts.get(family.value, {"recorded": 0, "dropped": []})
        written, recorded = entries[family], account["recorded"]
        if journal.killed and family is last and recorded == len(written) - 1:
            life.in_doubt = 1
            written = written[:-1]
        dropped = {entry["cause"]: entry["count"] for entry in account["dropped"]}
        life.causes.update(dropped)
        delivered = list(_delivered(chain, family))
        checks.equal("accounts", f"{about} {family}: recorded, against its journal", len(written), recorded)
        checks.equal("accounts", f"{about} {family}: recorded - dropped, against what arrived",
                     recorded - sum(dropped.values()), len(delivered))  # fmt: skip
        allowed = {DropCause.HOST_DIED.value} if journal.killed else set()
        checks.holds("accounts", set(dropped) <= allowed, f"{about} {family}: dropped {dropped}")
        _match(checks, life, family, written, delivered)
    life.stretches = list(_stretches(chain))
    return life


def _match(checks: Checks, life: Life, family: Family, written: list[Entry], delivered: list[Any]) -> None:
    """Pairs what arrived with the journal, label by label, and what is left with what is lost."""
    arrived: dict[tuple[str, str], list[tuple[int, int, int, str | None]]] = defaultdict(list)
    for label, told, instant, earliest, whose in delivered:
        arrived[label].append((told, instant, earliest, whose))
    for pairs in arrived.values():
        pairs.reverse()
    last_cut = life.chain.last.cut if len(life.chain.seqs) < 2 else life.chain.batches[life.chain.seqs[-2]].cut
    for position, entry in enumerate(written):
        label = label_of(family, entry)
        if position < len(delivered):
            if not arrived[label]:
                checks.holds(
                    "events", False, f"{life.journal.name} {family} {label}: the log has fewer than the journal"
                )
                continue
            told, instant, earliest, whose = arrived[label].pop()
            owner = _whose(life, family, entry)
            checks.equal("events", f"{life.journal.name} {family} {label} at {told}: whose", owner, whose)
            # The SDK moves an event that was recorded during a cut to just behind it, and no event anywhere else.
            checks.holds(
                "events", told == entry.micros or entry.micros < told == earliest,
                f"{life.journal.name} {family} {label}: recorded at {entry.micros}, told to be at {told}",
            )  # fmt: skip
            life.moved += told != entry.micros
            life.counted.append(Event(family, *label, instant, entry))
        else:
            ahead = life.chain.last.ahead or life.journal.skew_s * 1_000_000 > AHEAD_US
            life.lost.append(Event(family, *label, None if ahead else max(entry.micros, last_cut + 1), entry))
    left = sum(map(len, arrived.values()))
    checks.equal("events", f"{life.journal.name} {family}: events in the log that the journal does not have", 0, left)


def _whose(life: Life, family: Family, entry: Entry) -> str | None:
    """The operation, or else the session, that an event must name."""
    if not entry.session or family is Family.ROUTE_ATTEMPT:
        return None
    session = life.journal.session_id(entry.session)
    return session if family is Family.SESSION_TEARDOWN else f"{session}-{entry.operation}"


def label_of(family: Family, entry: Entry) -> tuple[str, str]:
    """Capability and code, as they are counted."""
    if family is Family.ROUTE_ATTEMPT:
        return CAPABILITIES[entry.capability], ENTRY_POINTS[entry.code]
    if family is Family.KERNEL_FALLBACK:
        return CAPABILITIES[entry.capability], FAILURES[entry.code].reason.value
    if family is Family.MASKED_ERROR:
        return NOTHING, FAILURES[entry.code].upstream_class.value
    return NOTHING, (SessionOutcome.FAILURE if entry.code else SessionOutcome.SUCCESS).value


# Signatures are the SDK's words; only what a signature means is the contract's.
_CLASSES = {"TIMEOUT": 0, "RATE_LIMITED": 1, "CONNECTION": 2, "HTTP_503": 3, "HTTP_400": 4, "HTTP_429": 1}


def _class_of(signature: str) -> str:
    for beginning, failure in _CLASSES.items():
        if signature.startswith(beginning):
            return FAILURES[failure].upstream_class.value
    return signature


def _arrays(body: dict[str, Any]) -> dict[Family, list[tuple[tuple[str, str], int, str | None]]]:
    """Labels, instants, and the operation or session, of a batch's events."""
    return {
        Family.ROUTE_ATTEMPT: [
            ((group["capability"], group["entry_point"]), at, None)
            for group in body["route_attempts"]
            for at in group["occurred_at"]
        ],
        Family.KERNEL_FALLBACK: [
            ((event["capability"], event["reason_code"]), event["occurred_at"], event["operation_id"])
            for event in body["kernel_fallbacks"]
        ],
        Family.MASKED_ERROR: [
            ((NOTHING, _class_of(event["masked_upstream_signature"])), event["occurred_at"], event["operation_id"])
            for event in body["masked_errors"]
        ],
        Family.SESSION_TEARDOWN: [
            ((NOTHING, event["outcome"]), event["occurred_at"], event["session_id"])
            for event in body["session_teardowns"]
        ],
    }


def _delivered(chain: Chain, family: Family) -> Iterator[tuple[tuple[str, str], int, int, int, str | None]]:
    """Label, instant as told, instant at which it must count, the batch's earliest, and whose it is, of every event
    that arrived."""
    earliest = chain.started
    for batch in chain.in_order():
        for label, told, whose in _arrays(batch.body)[family]:
            yield label, told, _counts_at(batch, told), earliest, whose
        earliest = batch.body["sent_at"] + 1


def _counts_at(batch: Batch, told: int) -> int:
    if batch.ahead:
        return min(told, batch.cut)
    return told if told <= max(batch.arrival + AHEAD_US, batch.cut) else batch.arrival


def _stretches(chain: Chain) -> Iterator[Stretch]:
    """Between which cuts something is lost, by the accounts on both sides."""
    before: dict[str, int] = {}
    cut = told = chain.started
    for batch in chain.in_order():
        held = {family.value: len(events) for family, events in _arrays(batch.body).items()}
        now = {account["family"]: account["recorded"] for account in batch.body["accounts"]}
        lossy = {family for family, recorded in now.items() if recorded - before.get(family, 0) != held.get(family, 0)}
        if lossy:
            yield Stretch(cut, batch.cut, frozenset(lossy), told, batch.body["sent_at"])
        before, cut, told = now, batch.cut, batch.body["sent_at"]
