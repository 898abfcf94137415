"""What hosts were told and what they did, held against the history: nothing that somebody was told may not be so.

All clocks are one machine's: the brokers' append times, in whole milliseconds, and the hosts'.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.effects.journal import Life
from tests.chaos.soak.checks import Checks

from unmask.consumers.effects_check import Account, History

__all__ = ["AT_THE_END", "Told", "check_words"]

AT_THE_END = "at-the-end"
"""The life that claims every committed key once more, when all is over."""

Line = dict[str, Any]
Key = tuple[str, ...]
_OWN_REASONS = {"timeout", "not_ready", "closed"}
"""With these a client answers itself, where it has heard nothing."""


@dataclass(slots=True)
class Told:
    """What the journals hold."""

    claims: Counter[str] = field(default_factory=Counter)
    """By answer."""
    settlements: Counter[str] = field(default_factory=Counter)
    """By question and answer."""
    took: list[float] = field(default_factory=list)
    """Seconds of every claim that was answered."""
    took_at_the_end: list[float] = field(default_factory=list)
    """The same of those that were asked at the end, without any fault."""
    deaths: Counter[str] = field(default_factory=Counter)
    """Of hosts by their own hand, by the point at which they died."""
    made: int = 0
    """Effects in the world."""
    late: int = 0
    """Those of them whose maker knew that its lease might be over."""
    again: int = 0
    """Keys whose effect was made under more than one lease, the earlier one having ended without a word."""
    began_cut_off: int = 0


@dataclass(slots=True)
class _Lease:
    granted_at: int
    until: int
    end: int | None = None
    """When it was committed or given back."""

    def holds(self, at: int) -> bool:
        return self.granted_at <= at < (self.until if self.end is None else min(self.end, self.until))


def check_words(checks: Checks, history: History, account: Account, lives: Iterable[Life], world: list[Line]) -> Told:
    """Checks every line of the hosts against the history, and every commit of the history against the world."""
    told = Told()
    lives = list(lives)
    answers, leases = _decisions(history)
    commits = {tuple(key): commit for key, commit in account.commits.items()}
    committed: dict[Key, tuple[int, str]] = {}
    for life in lives:
        told.began_cut_off += sum(line["cut_off"] for line in life.of("began"))
        told.deaths.update(line["point"] for line in life.of("dies"))
        for line in life.of("told"):
            key = tuple(line["k"])
            if line["what"] == "claim":
                if life.name == AT_THE_END:
                    told.took_at_the_end.append(line["took"])
                else:
                    told.claims[_answer(line)] += 1
                    told.took.extend([line["took"]] if line["reason"] not in _OWN_REASONS else ())
                _claim(checks, life, line, answers)
            else:
                told.settlements[f"{line['what']} {_answer(line)}"] += 1
                _settlement(checks, life, key, line, commits, leases)
                if line["answer"] == "COMMITTED":
                    first = min((line["at"], line["sent"]), committed.get(key, (line["at"], line["sent"])))
                    committed[key] = first
    _afterwards(checks, lives, committed)
    _world(checks, told, lives, world, commits, leases)
    return told


def _decisions(history: History) -> tuple[dict[str, list[Line]], dict[tuple[Key, int], _Lease]]:
    """Decisions by request, and all leases."""
    answers: dict[str, list[Line]] = defaultdict(list)
    leases: dict[tuple[Key, int], _Lease] = {}
    for partition in history.partitions.values():
        for decision in partition.decided:
            body = decision.body
            answers[body["request_id"]].append(body)
            key = (body["tenant"], body["failure"], body["strategy"], body["strategy_version"], body["budget_key"])
            place = (key, body["fencing_token"])
            if body["answer"] == "GRANTED":
                leases.setdefault(place, _Lease(body["decided_at"], body["lease_until"]))
            elif body["answer"] == "RENEWED" and place in leases:
                leases[place].until = max(leases[place].until, body["lease_until"])
            elif body["answer"] in ("RELEASED", "COMMITTED") and place in leases and leases[place].end is None:
                leases[place].end = body["decided_at"]
    return answers, leases


def _claim(checks: Checks, life: Life, line: Line, answers: dict[str, list[Line]]) -> None:
    if line["reason"] in _OWN_REASONS:
        return
    told = [
        (body["answer"], body["fencing_token"], body["receipt"])
        for body in answers[line["q"]]
        if body["kind"] == "claim"
    ]  # fmt: skip
    heard = (line["answer"], line["token"], line["receipt"])
    checks.holds("claims", heard in told, f"{life.name} was told {heard} of {line['k']}, the history has {told}")


def _settlement(
    checks: Checks, life: Life, key: Key, line: Line, commits: dict[Key, tuple[int, str | None]],
    leases: dict[tuple[Key, int], _Lease],
) -> None:  # fmt: skip
    stands, about = commits.get(key), f"{life.name} was told {_answer(line)} of {line['k']}, token {line['token']}"
    lease = leases.get((key, line["token"]))
    if line["answer"] == "COMMITTED":
        own = (line["token"], line["sent"])
        checks.holds("commits", stands == own, f"{about} and {line['sent']}; the history has {stands}")
    elif line["answer"] == "ALREADY_COMMITTED":
        same = stands is not None and stands[1] == line["receipt"]
        checks.holds("commits", same, f"{about} and {line['receipt']}; the history has {stands}")
    elif line["answer"] == "FENCED" and line["what"] == "commit":
        refused = stands is None or stands[0] != line["token"]
        checks.holds("commits", refused, f"{about}, and the history has its commit")
    elif line["answer"] == "RELEASED":
        given_back = lease is not None and lease.end is not None and (stands is None or stands[0] != line["token"])
        checks.holds("releases", given_back, f"{about}, and the history has no end of that lease by its holder")


def _afterwards(checks: Checks, lives: list[Life], committed: dict[Key, tuple[int, str]]) -> None:
    """Who claims an effect after somebody was told that it is committed is told so, with that receipt."""
    for life in lives:
        for line in life.of("told"):
            known = committed.get(tuple(line["k"]))
            if line["what"] != "claim" or known is None or line["asked"] <= known[0]:
                continue
            if line["reason"] in _OWN_REASONS:
                continue
            fine = line["answer"] == "ALREADY_COMMITTED" or line["reason"] == "fingerprint_conflict"
            found = (
                f"{life.name} was told {_answer(line)} and {line['receipt']} of {line['k']}, committed as {known[1]}"
            )
            checks.holds("commits known afterwards", fine and line["receipt"] == known[1], found)


def _world(
    checks: Checks, told: Told, lives: list[Life], world: list[Line], commits: dict[Key, tuple[int, str | None]],
    leases: dict[tuple[Key, int], _Lease],
) -> None:  # fmt: skip
    """Each effect was made under a lease, at most once under each, and by those that knew it to hold while it held."""
    under: Counter[tuple[Key, int]] = Counter()
    receipts: dict[Key, set[str]] = defaultdict(set)
    tokens: dict[Key, dict[int, int]] = defaultdict(dict)
    for line in world:
        key, token = tuple(line["k"]), line["token"]
        under[key, token] += 1
        receipts[key].add(line["receipt"])
        tokens[key].setdefault(token, line["at"])
        lease = leases.get((key, token))
        about = f"{line['life']} made {line['k']} under token {token}"
        checks.holds("effects", lease is not None, f"{about}, which was never granted")
        checks.holds("effects", under[key, token] == 1, f"{about}, the {under[key, token]}nd time under that lease")
        if not line["trusted"]:
            told.late += 1
            continue
        if lease is not None:
            # It may have been committed meanwhile, by this very maker.
            held = lease.granted_at <= line["at"] < lease.until
            checks.holds("effects", held, f"{about} at {line['at']}, its lease was {lease.granted_at} to {lease.until}")
        for other in tokens[key]:
            before = leases.get((key, other))
            twice = other != token and before is not None and before.holds(line["at"])
            checks.holds(
                "effects", not twice, f"{about} while the lease of token {other} held, under which it was made"
            )
    told.made = len(world)
    told.again = sum(len(made) > 1 for made in tokens.values())
    noted = [line for life in lives for line in life.of("made")]
    for line in noted:
        stands = line["receipt"] in receipts[tuple(line["k"])]
        checks.holds("effects", stands, f"{line['k']} was made as {line['receipt']} and is not in the world")
    for key, (_, receipt) in commits.items():
        checks.holds("commits made", receipt in receipts[key], f"{key} is committed as {receipt}, which nobody made")


def _answer(line: Line) -> str:
    return str(line["answer"]) if line["reason"] is None else f"{line['answer']} {line['reason']}"
