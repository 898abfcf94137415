"""From a history to an account of it, with everything that is wrong. Pure.

Shares no code with the ledger: the rules are written a second time, from the contract.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from unmask.consumers.effects_check.book import Book
from unmask.consumers.effects_check.facts import Effect, End
from unmask.consumers.effects_check.history import Asked, Decided, History, Key, Partition
from unmask.consumers.effects_check.problems import Breach, Problem
from unmask.schemas.codes import EffectAnswer

__all__ = ["Account", "Rules", "check_history"]

_IDENTITY = ("request_id", "kind", "holder", *Key._fields)
_MIXABLE = {Breach.UNFOUNDED, Breach.WRONG_FACTS, Breach.LOST_COMMIT}


@dataclass(frozen=True, slots=True)
class Rules:
    """What a history is held to beside the contract. Durations are microseconds of the broker's time."""

    retention: int = 30 * 86_400_000_000
    """As the workers have it: keys and budgets are forgotten after this time without a change."""
    decided_within: int = 60_000_000
    """A request that has waited for longer has no decision."""
    ended_within: int | None = None
    """So long after its time a lease must have been found over; None: until the end of the history at the latest."""
    open_for: int = 60_000_000
    """So long after its time a lease may still be open at the end of the history."""


@dataclass(slots=True)
class Account:
    """What a history holds, and what is wrong with it."""

    problems: list[Problem] = field(default_factory=list)
    requests: Counter[str] = field(default_factory=Counter)
    """By kind."""
    answers: Counter[str] = field(default_factory=Counter)
    """By kind and answer, `claim GRANTED`."""
    unreadable: int = 0
    """Requests that nobody can decide about."""
    pending: int = 0
    """Requests at the end of a log that are not decided yet."""
    unchecked: int = 0
    """Decisions about keys whose past the history does not have."""
    cut: list[int] = field(default_factory=list)
    """Partitions that do not go back to their first request."""
    keys: int = 0
    tenants: int = 0
    leases: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    """Leases by how they ended; `open` where they may still hold."""
    longest_overdue: int = 0
    """The longest time between a lease's end and the request that found it over, in microseconds."""
    commits: dict[Key, tuple[int, str | None]] = field(default_factory=dict)
    """Token and receipt of every commit that stands at the end."""

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def of(self, tenant: str) -> list[Problem]:
        """Problems of one tenant, and those of which it is not known whose they are."""
        return [problem for problem in self.problems if problem.key is None or problem.key.tenant == tenant]


def check_history(history: History, rules: Rules | None = None) -> Account:
    """Checks everything."""
    rules = rules or Rules()
    account = Account()
    books = []
    for partition in history.partitions.values():
        book = Book(partition.whole, rules.retention)
        books.append(book)
        account.problems.extend(_read(partition, book, account, history.now, rules))
        account.problems.extend(_leases(partition.number, book, account, history.now, rules))
        account.unchecked += book.unchecked
        if not partition.whole:
            account.cut.append(partition.number)
    account.problems.extend(_second_commits(history, account.problems, rules))
    effects = {key: effect for book in books for key, effect in book.effects.items()}
    account.keys, account.tenants = len(effects), len({key.tenant for key in effects})
    account.commits = {k: (e.commit.token, e.commit.receipt) for k, e in effects.items() if e.commit is not None}
    account.problems = list(_mixed(account.problems, history, effects))
    return account


def _read(partition: Partition, book: Book, account: Account, now: int, rules: Rules) -> Iterable[Problem]:
    """One partition: every request has one decision, in order, at the broker's time; and what these say."""
    number = partition.number
    asked = {record.offset: record for record in partition.asked}
    account.unreadable += sum(record.body is None for record in partition.asked)
    account.requests.update(record.body["kind"] for record in partition.asked if record.body is not None)
    for _ in range(partition.unreadable):
        yield Problem(Breach.UNREADABLE, number, None, None, "a decision cannot be decoded")
    clock = _Clock(partition)
    last, decided = -1, set()
    for decision in partition.decided:
        told, offset = decision.body, decision.body["offset"]
        account.answers[f"{told['kind']} {told['answer']}"] += 1
        key, record = Key.of(told), asked.get(offset)
        wrong = _place(partition, decision, record, last)
        last = max(last, offset)
        if wrong is not None:
            yield Problem(wrong[0], number, offset, key, wrong[1])
            # What is told of another request says nothing about this key.
            decided.add(offset)
            continue
        decided.add(offset)
        if (time := clock.at(offset, told["decided_at"])) != told["decided_at"]:
            text = f"decided at {told['decided_at']}, by the broker's time it was {time}"
            yield Problem(Breach.WRONG_TIME, number, offset, key, text)
        for breach, text in book.take(key, None if record is None else record.body, told):
            yield Problem(breach, number, offset, key, text)
    for record in partition.asked:
        if record.body is None or record.offset in decided:
            continue
        if record.offset < last or record.appended_at + rules.decided_within < now:
            text = f"a {record.body['kind']} of {record.body['holder']} was never decided"
            yield Problem(Breach.MISSING_DECISION, number, record.offset, Key.of(record.body), text)
        else:
            account.pending += 1


class _Clock:
    """The broker's time at an offset: the newest append time up to it."""

    def __init__(self, partition: Partition) -> None:
        self._records = iter(partition.asked)
        self._next: Asked | None = next(self._records, None)
        self._first = -1 if partition.whole or self._next is None else self._next.offset + 1
        self._now: int | None = 0 if partition.whole else None

    def at(self, offset: int, told: int) -> int:
        """The time at a decision's request. Where the request is gone, and at the first one kept, it is believed."""
        if self._now is None or (self._next is not None and offset < self._first):
            self._now = told
        while self._next is not None and self._next.offset <= offset:
            self._now = max(self._now, self._next.appended_at)
            self._next = next(self._records, None)
        return self._now


def _place(partition: Partition, decision: Decided, record: Asked | None, last: int) -> tuple[Breach, str] | None:
    """What is wrong with where a decision stands."""
    told = decision.body
    if told["partition"] != partition.number:
        return Breach.DECISION_ORDER, f"says that it is of partition {told['partition']}"
    if told["offset"] <= last:
        return Breach.DECISION_ORDER, f"comes after the decision of offset {last}"
    if record is None:
        first = partition.asked[0].offset if partition.asked else None
        if not partition.whole and (first is None or told["offset"] < first):
            return None
        return Breach.DECISION_ORDER, "belongs to no request"
    if record.body is None:
        return Breach.DECISION_ORDER, "belongs to a request that nobody can decide about"
    other = [name for name in _IDENTITY if told[name] != record.body[name]]
    if other:
        breach = Breach.TENANTS_MIXED if "tenant" in other else Breach.DECISION_ORDER
        return breach, f"is not of its request: {', '.join(f'{n} is {record.body[n]}' for n in other)}"
    return None


def _second_commits(history: History, known: list[Problem], rules: Rules) -> list[Problem]:
    """Whatever else is wrong, out of place or out of order: no key has two commits, unless it was forgotten between."""
    told = {(problem.partition, problem.offset) for problem in known if problem.breach is Breach.SECOND_COMMIT}
    first: dict[Key, tuple[int, int | None, str | None]] = {}
    found = []
    for partition in history.partitions.values():
        for decision in partition.decided:
            body = decision.body
            if body["answer"] != EffectAnswer.COMMITTED:
                continue
            key, commit = Key.of(body), (body["fencing_token"], body["receipt"])
            at, *before = first.get(key, (body["decided_at"], *commit))
            if tuple(before) == commit or body["decided_at"] - at >= rules.retention:
                first[key] = (body["decided_at"], *commit)
            elif (partition.number, body["offset"]) not in told:
                text = f"committed under {commit[0]} as {commit[1]}, and before under {before[0]} as {before[1]}"
                found.append(Problem(Breach.SECOND_COMMIT, partition.number, body["offset"], key, text))
    return found


def _leases(number: int, book: Book, account: Account, now: int, rules: Rules) -> Iterable[Problem]:
    """Whether every lease ended."""
    for key, lease, offset in book.leases:
        account.leases += 1
        account.ends["open" if lease.end is None else lease.end.value] += 1
        if lease.end is End.OVER and lease.ended_at is not None:
            overdue = lease.ended_at - lease.until
            account.longest_overdue = max(account.longest_overdue, overdue)
            if rules.ended_within is not None and overdue > rules.ended_within:
                text = f"the lease of token {lease.token} was found over {overdue / 1e6:.1f} s after its time"
                yield Problem(Breach.LEASE_NEVER_ENDED, number, offset, key, text)
        elif lease.end is None and lease.until + rules.open_for < now:
            text = f"the lease of token {lease.token} is open {(now - lease.until) / 1e6:.1f} s after its time"
            yield Problem(Breach.LEASE_NEVER_ENDED, number, offset, key, text)


def _mixed(problems: list[Problem], history: History, effects: dict[Key, Effect]) -> Iterable[Problem]:
    """Calls by its name what was told of another tenant's effect of the same names."""
    if not any(problem.breach in _MIXABLE for problem in problems):
        return problems
    told = {
        (partition.number, decision.body["offset"]): decision.body
        for partition in history.partitions.values()
        for decision in partition.decided
    }
    namesakes: dict[tuple[str, ...], list[tuple[Key, Effect]]] = {}
    for key, effect in effects.items():
        namesakes.setdefault(key[1:], []).append((key, effect))
    return [
        replace(problem, breach=Breach.TENANTS_MIXED, text=f"{problem.text}; that is so of tenant {whose}")
        if problem.breach in _MIXABLE
        and problem.key is not None
        and problem.offset is not None
        and (whose := _whose(problem.key, told.get((problem.partition, problem.offset)), namesakes)) is not None
        else problem
        for problem in problems
    ]


def _whose(
    key: Key, told: dict[str, object] | None, namesakes: dict[tuple[str, ...], list[tuple[Key, Effect]]]
) -> str | None:
    for other, effect in namesakes.get(key[1:], []):
        if told is None or other.tenant == key.tenant:
            continue
        receipt = told["receipt"] is not None and effect.commit is not None and told["receipt"] == effect.commit.receipt
        until = told["lease_until"]
        if receipt or (until is not None and any(lease.until == until for lease in effect.leases)):
            return other.tenant
    return None
