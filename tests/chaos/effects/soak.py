"""One soak of the effects ledger from the first broker to the last comparison."""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.effects.conductor import NODES, Conductor
from tests.chaos.effects.journal import Journal, now_us, read_lives, read_world
from tests.chaos.effects.plan import Action, Plan
from tests.chaos.effects.replayer import Replayer
from tests.chaos.effects.witness import AT_THE_END, Told, check_words
from tests.chaos.soak.checks import Checks

from unmask.consumers.devbroker import JvmBroker
from unmask.consumers.effects_check import Account, History, Rules, check_history, read_history
from unmask.consumers.unreadable import TopicUnreadable
from unmask.producers.effects import EffectsClient
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics
from unmask.schemas.windowing import MICROS

__all__ = ["ASKERS", "Result", "soak"]

_PARTITIONS = 6
_START_S = 300.0
_SETTLE_S = 600.0
_NOTHING_MOVES_S = 150.0
"""Longer than a lease may take to end."""
_LOOK_S = 2.0
ASKERS = 6
"""Threads that ask for every commit again."""
_ASK_S = 60.0
_FIRST = ["soak", "first", "first", "1", "first"]


@dataclass(slots=True)
class Result:
    """What came of it."""

    plan: Plan
    checks: Checks = field(default_factory=Checks)
    account: Account = field(default_factory=Account)
    told: Told = field(default_factory=Told)
    faults: list[str] = field(default_factory=list)
    """What went wrong beside the comparisons."""
    worker_ends: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    lives: int = 0
    replayed: int = 0
    unreadable: int = 0
    asked_again: int = 0
    """Committed keys that were claimed once more at the end."""
    longest_wait: int = 0
    """The longest time between a request and the decision about it, in microseconds of the broker's time."""
    first_answer_s: float = 0.0
    load_s: float = 0.0
    settled_s: float = 0.0
    elapsed_s: float = 0.0

    @property
    def good(self) -> bool:
        """Whether everything agrees."""
        return self.checks.good and self.account.good and not self.faults


def soak(plan: Plan, folder: Path, say: Callable[[str], None]) -> Result:
    """Runs it. Raises what keeps it from being run at all."""
    began = time.monotonic()
    broker = JvmBroker(folder / "kafka", nodes=len(NODES))
    broker.start(_START_S)
    try:
        topics = Topics("soak", events_partitions=1, table_partitions=_PARTITIONS)
        create_topics(broker.bootstrap, topics, len(NODES))
        say(f"Three brokers serve after {time.monotonic() - began:.0f} s; the workers start.")
        result = _run(plan, folder, broker, topics, say)
    finally:
        broker.stop()
    result.elapsed_s = time.monotonic() - began
    return result


def _run(plan: Plan, folder: Path, broker: JvmBroker, topics: Topics, say: Callable[[str], None]) -> Result:
    result = Result(plan)
    replayer = Replayer(broker.bootstrap, topics, plan.replays_per_second, plan.seed + 2)
    conductor = Conductor(plan, folder, broker, topics, replayer, say)
    try:
        conductor.start_workers()
        result.first_answer_s = _await_first(broker, topics, conductor)
        say(f"The ledger answers after {result.first_answer_s:.1f} s; the hosts start.")
        replayer.start()
        conductor.run(lambda: _enough(plan, conductor, replayer, broker, topics))
        replayer.stop()
        say("The load is over; the hosts end.")
        conductor.end_hosts()
        say("The hosts have ended; every lease must come to its end.")
        _examine(result, conductor, broker, topics, say)
        result.replayed, result.unreadable = replayer.replayed, replayer.unreadable
    finally:
        conductor.stop()
    result.faults += [*conductor.faults, *([] if replayer.error is None else [repr(replayer.error)])]
    result.worker_ends, result.done, result.load_s = conductor.worker_ends, conductor.done, conductor.load_s
    _check_minimums(result)
    return result


def _await_first(broker: JvmBroker, topics: Topics, conductor: Conductor) -> float:
    """How long it takes until a first claim is answered."""
    began = time.monotonic()
    with EffectsClient(broker.bootstrap, namespace=topics.namespace) as client:
        while time.monotonic() - began < _START_S:
            claim = _claim(client, _FIRST, "first", 5.0)
            if claim["reason"] is None:
                return time.monotonic() - began
            conductor.tend(hosts=False)
    raise RuntimeError(f"the effects ledger has not answered for {_START_S:.0f} s")


def _claim(client: EffectsClient, key: list[str], fingerprint: str, timeout: float) -> dict[str, Any]:
    """A claim, as the journals have it."""
    tenant, failure, strategy, version, budget = key
    asked, before = now_us(), time.monotonic()
    claim = client.claim(
        tenant=tenant, failure=failure, strategy=strategy, strategy_version=version, budget_key=budget,
        fingerprint=fingerprint, lease=1.0, timeout=timeout,
    )  # fmt: skip
    return {
        "e": "told", "what": "claim", "k": key, "q": claim.request_id, "answer": claim.answer.value,
        "reason": None if claim.reason is None else claim.reason.value, "token": claim.fencing_token,
        "receipt": claim.receipt, "asked": asked, "at": now_us(), "took": time.monotonic() - before,
    }  # fmt: skip


def _enough(plan: Plan, conductor: Conductor, replayer: Replayer, broker: JvmBroker, topics: Topics) -> bool:
    if replayer.replayed < plan.minimums.replays:
        return False
    told = [line for life in read_lives(conductor.journals) for line in life.of("told")]
    deaths = sum(1 for life in read_lives(conductor.journals) for _ in life.of("dies"))
    return (
        deaths >= plan.minimums.deaths
        and sum(line["what"] == "claim" for line in told) >= plan.minimums.claims
        and sum(line["what"] == "commit" and line["answer"] == "FENCED" for line in told) >= plan.minimums.late_commits
        and sum(line["answer"] == "BUDGET_SPENT" for line in told) >= plan.minimums.budget_spent
    )


def _examine(
    result: Result, conductor: Conductor, broker: JvmBroker, topics: Topics, say: Callable[[str], None]
) -> None:
    began = time.monotonic()
    rules = Rules(ended_within=round(result.plan.ended_within_s * MICROS), decided_within=0, open_for=0)
    history, account = _settled(began, conductor, broker, topics, rules)
    result.settled_s = time.monotonic() - began
    say(
        f"{account.requests.total():,} requests are decided, {account.ends['open']} leases are open; "
        "every commit is asked for again."
    )
    again = _ask_again(result, conductor.journals, account, history, broker, topics)
    say(f"{again:,} committed keys were claimed again; the whole history is checked.")
    history, account = _settled(time.monotonic(), conductor, broker, topics, rules)
    result.account = account
    lives, (world, torn) = read_lives(conductor.journals), read_world(conductor.world)
    result.checks.holds("journals", not torn, "a line of the world is torn")
    for life in lives:
        result.checks.holds("journals", not life.torn, f"{life.name}: a line is torn")
    result.told = check_words(result.checks, history, account, lives, world)
    result.lives = len(lives) - 1
    result.longest_wait = _longest_wait(history)


def _settled(
    began: float, conductor: Conductor, broker: JvmBroker, topics: Topics, rules: Rules
) -> tuple[History, Account]:
    """The history once everything is decided and every lease has ended; or as it is, where that takes too long."""
    moved, before = began, None
    while True:
        try:
            history = read_history(topics, broker.bootstrap)
        except TopicUnreadable:
            if time.monotonic() - began > _SETTLE_S:
                raise
            time.sleep(_LOOK_S)
            continue
        history.now = max(history.now, now_us())
        account = check_history(history, Rules(rules.retention, round(_SETTLE_S * MICROS), rules.ended_within))
        waits, now = (account.pending, account.ends["open"]), time.monotonic()
        if waits != before:
            moved, before = now, waits
        if not any(waits) or now - moved > _NOTHING_MOVES_S or now - began > _SETTLE_S:
            return history, check_history(history, rules)
        conductor.tend(hosts=False)
        time.sleep(_LOOK_S)


def _ask_again(
    result: Result, journals: Path, account: Account, history: History, broker: JvmBroker, topics: Topics
) -> int:
    """Claims every committed key once more, as one more host that keeps a journal."""
    fingerprints: dict[tuple[str, ...], str] = {}
    for partition in history.partitions.values():
        for body in (decision.body for decision in partition.decided):
            if body["fingerprint"] is not None:
                key = (body["tenant"], body["failure"], body["strategy"], body["strategy_version"], body["budget_key"])
                fingerprints[key] = body["fingerprint"]
    journal = Journal(journals, AT_THE_END)
    with EffectsClient(broker.bootstrap, namespace=topics.namespace) as client, ThreadPoolExecutor(ASKERS) as pool:
        keys = list(account.commits)
        for line in pool.map(lambda key: _claim(client, list(key), fingerprints[tuple(key)], _ASK_S), keys):
            journal.add(line)
            stands = account.commits[type(keys[0])(*line["k"])][1]
            fine = line["answer"] == "ALREADY_COMMITTED" and line["receipt"] == stands
            told = f"{line['answer']} {line['reason']} {line['receipt']}"
            result.checks.holds("commits asked again", fine, f"{line['k']} is committed as {stands}, told was {told}")
            result.asked_again += 1
    return result.asked_again


def _longest_wait(history: History) -> int:
    """By the times at which workers wrote the decisions."""
    longest = 0
    for partition in history.partitions.values():
        asked = {record.offset: record.appended_at for record in partition.asked}
        for decision in partition.decided:
            longest = max(longest, decision.written_at - asked.get(decision.body["offset"], decision.written_at))
    return longest


def _check_minimums(result: Result) -> None:
    least, done, told, account = result.plan.minimums, result.done, result.told, result.account
    late = sum(count for name, count in told.settlements.items() if name.startswith("commit FENCED"))
    for what, wanted, had in (
        ("claims", least.claims, told.claims.total()),
        ("worker kills", least.worker_kills, done[Action.KILL_WORKER]),
        ("worker stops", least.worker_stops, done[Action.STOP_WORKER]),
        ("host kills", least.host_kills, done[Action.KILL_HOST]),
        ("host stops", least.host_stops, done[Action.STOP_HOST]),
        ("restarts without a network", least.cut_off, told.began_cut_off),
        ("broker kills", least.broker_kills, done[Action.KILL_BROKER]),
        ("outages", least.outages, done[Action.OUTAGE]),
        ("replays", least.replays, result.replayed),
        ("unreadable requests", least.unreadable, account.unreadable),
        ("deaths in the middle of a deed", least.deaths, told.deaths.total()),
        ("late commits", least.late_commits, late),
        ("spent budgets", least.budget_spent, told.claims["BUDGET_SPENT"]),
        ("leases that ended without a word", least.overdue, account.ends["over"]),
        ("claims of what somebody else holds", 1, told.claims["HELD_BY_ANOTHER"]),
        ("claims of what is committed", 1, told.claims["ALREADY_COMMITTED"]),
    ):
        if had < wanted:
            result.faults.append(f"too few {what} to prove anything: {had:,} of {wanted:,}")
