"""A session over several emitters: any order makes the same verdict, and knowing less never a better one.

Snapshots are as the ledger makes them: absolute, one per source partition and offset, their facts never shrinking.
"""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.session_parts import commit, delegation, selection
from tests.table_records import at, masked, session_tally, teardown

from unmask.schemas.codec import decode, encode
from unmask.schemas.codes import Directive, Finding, VerdictKind
from unmask.schemas.keys import session_key
from unmask.streams.tables.finding_alerts import finding_alerts
from unmask.streams.tables.flow import Output, Source
from unmask.streams.tables.partition import TablePartition
from unmask.streams.tables.rules import TableRules
from unmask.streams.verdict import Obligation, adjudicate, merge_tallies

RULES = TableRules(table_partitions=1)
EVERYBODY = {partition: at(60) for partition in range(3)}
OPERATIONS = [f"op{n}" for n in range(6)]
SETTLED = frozenset({"BUDGET_EXCEEDED", "DUPLICATE_EFFECT", "IDENTITY_CONFLICT"})


@st.composite
def histories(draw: st.DrawFn) -> list[list[dict[str, Any]]]:
    """For each of up to three source partitions its snapshots, oldest first; at least one ends the session."""
    partitions = draw(st.integers(1, 3))
    enders = draw(st.sets(st.integers(0, partitions - 1), min_size=1))
    return [draw(_history(partition, ends=partition in enders)) for partition in range(partitions)]


@st.composite
def _history(draw: st.DrawFn, partition: int, *, ends: bool) -> list[dict[str, Any]]:
    emitter = f"e{partition}"
    stages = draw(st.lists(st.sets(st.sampled_from(OPERATIONS), max_size=2), min_size=1, max_size=3))
    ending = draw(st.sampled_from(["success", "success", "failure"])) if ends else None
    minute = draw(st.integers(3, 8))
    snapshots: list[dict[str, Any]] = []
    names: set[str] = set()
    selections: list[dict[str, Any]] = []
    calls = commits = 0
    works = draw(st.booleans())
    for number, stage in enumerate(stages):
        names |= stage
        turns = draw(st.lists(st.integers(1, 9), max_size=2))
        selections.extend(draw(_selections(turn, emitter)) for turn in turns)
        calls += draw(st.integers(0, 12))
        commits += draw(st.integers(0, 1))
        last = number == len(stages) - 1
        teardowns = (
            [teardown(20, len(names), emitter=emitter, outcome=ending, minute=minute)] if ending and last else []
        )
        snapshots.append(
            session_tally(
                partition=partition,
                offset=10 * (number + 1),
                emitters=[emitter],
                last_seen_at=at(minute if ending and last else 2),
                degraded=sorted(names),
                masked=[masked(name) for name in sorted(names)],
                unreachable=len(names),
                evidence=draw(st.sampled_from(["COMPLETE", "COMPLETE", "LOSSY"])),
                teardowns=teardowns,
                selections=list(selections),
                selections_total=len(selections) or None,
                delegations=[_delegation(emitter, calls, commits, partition)] if works else [],
            )
        )
    return snapshots


def _selections(turn: int, emitter: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        selection,
        st.sampled_from(["fast", "safe", "rescue"]),
        st.just(turn),
        source=st.sampled_from(["user", "auto"]),
        scope=st.sampled_from(["turn", "session"]),
        timeline=st.sampled_from(["live", "live", "persisted", "cleared"]),
        emitter=st.just(emitter),
        cleared_by=st.sampled_from([None, "watchdog", "runtime"]),
        reason_code=st.sampled_from([None, "timeout"]),
        emergency=st.booleans(),
    )


def _delegation(emitter: str, calls: int, commits: int, partition: int) -> dict[str, Any]:
    """Of one delegation that all partitions know: its invocation, its effect and its budget are one everywhere."""
    return delegation(
        invocations=[{"invocation_id": f"i{calls % 2}", "emitter_id": emitter}], calls=calls, budget_calls=20,
        committed=commits, repeated_commits=max(0, commits - 1), commits=[commit("k", partition)] if commits else [],
    )  # fmt: skip


@settings(deadline=None)
@given(histories(), st.randoms(use_true_random=False))
def test_any_order_and_any_repetition_of_snapshots_make_the_same_verdict(
    history: list[list[dict[str, Any]]], random: Any
) -> None:
    snapshots = [snapshot for part in history for snapshot in part]
    shuffled = snapshots + random.choices(snapshots, k=len(snapshots))
    random.shuffle(shuffled)
    expected = adjudicate(snapshots, threshold=0.05, accounts=EVERYBODY)
    assert adjudicate(shuffled, threshold=0.05, accounts=EVERYBODY) == expected
    alerts = [
        finding_alerts(merge_tallies(told, EVERYBODY), verdict, blocked_turns=20, discharged_at=None)
        for told in (snapshots, shuffled)
        for verdict in (expected, None)
    ]
    assert alerts[:2] == alerts[2:]


@settings(deadline=None)
@given(histories())
def test_one_degraded_operation_anywhere_makes_the_session_degraded(history: list[list[dict[str, Any]]]) -> None:
    final = [part[-1] for part in history]
    verdict = adjudicate(final, threshold=0.05, accounts=EVERYBODY)
    assert verdict is not None
    names = {name for part in final for name in part["degraded_operations"]}
    assert verdict["degraded_operations"] == len(names)
    if names or any(part["evidence"] != "COMPLETE" for part in final):
        assert verdict["verdict"] != "CLEAN_SUCCESS"
    if "IDENTITY_CONFLICT" in verdict["findings"]:
        assert verdict["evidence"] != "COMPLETE"
    assert verdict["degraded_operation_ratio"] is None or 0 <= verdict["degraded_operation_ratio"] <= 1


@settings(deadline=None)
@given(histories())
def test_recoveries_and_delegations_change_neither_kind_nor_directive(history: list[list[dict[str, Any]]]) -> None:
    final = [part[-1] for part in history]
    without = [{**part, "selections": [], "selections_total": None, "delegations": []} for part in final]
    verdict = adjudicate(final, threshold=0.05, accounts=EVERYBODY)
    plain = adjudicate(without, threshold=0.05, accounts=EVERYBODY)
    assert verdict is not None
    assert plain is not None
    assert decode("verdict", encode("verdict", verdict)) == verdict
    assert set(plain["findings"]) <= {*verdict["findings"], "LOSSY_EVIDENCE"}
    if "IDENTITY_CONFLICT" not in verdict["findings"]:
        told = ("findings", "recoveries", "delegations", "user_profile", "digest")
        assert {**verdict, **dict.fromkeys(told)} == {**plain, **dict.fromkeys(told)}
    order = [finding.value for finding in Finding]
    assert verdict["findings"] == sorted(set(verdict["findings"]), key=order.index)


class Nobody:
    """Knows of no other session."""

    def knows(self, session_id: str) -> bool:
        return False

    def cuts_circle(self, session_id: str, predecessor: str) -> bool:
        return False

    def open_obligation(self, session_id: str) -> Obligation | None:
        return None

    def discharged_at(self, session_id: str, digest: str) -> int | None:
        return None

    def withdrawn_at(self, session_id: str) -> int | None:
        return None


@dataclass
class Topics:
    """The sessions and verdicts topics of one table partition, compacted as far as a step asks for."""

    sessions: list[tuple[str, bytes | None]] = field(default_factory=list)
    verdicts: list[tuple[str, bytes | None]] = field(default_factory=list)
    published: list[dict[str, Any]] = field(default_factory=list)

    def worker(self) -> TablePartition:
        """A worker that has read everything back, outputs first."""
        partition = TablePartition(0, RULES, Nobody())
        for source, records in ((Source.VERDICTS, self.verdicts), (Source.SESSIONS, self.sessions)):
            for offset, (key, value) in enumerate(records):
                partition.apply(source, key.encode(), value, offset)
        partition.sessions.account(EVERYBODY)
        partition.sessions.touch_all()
        return partition

    def write(self, worker: TablePartition, key: str, value: bytes | None) -> None:
        """The ledger writes a snapshot, or gives one up."""
        worker.apply(Source.SESSIONS, key.encode(), value, len(self.sessions))
        self.sessions.append((key, value))

    def publish(self, outputs: list[Output], worker: TablePartition) -> None:
        """What the worker says goes onto the topic, and comes back to it."""
        for output in outputs:
            if output.topic is Source.VERDICTS:
                assert output.record is not None
                self.published.append(output.record)
                value = encode("verdict", output.record)
                worker.apply(Source.VERDICTS, output.key.encode(), value, len(self.verdicts), own=True)
                self.verdicts.append((output.key, value))


@settings(max_examples=150, deadline=None)
@given(histories(), st.randoms(use_true_random=False))
def test_no_verdict_ever_gets_better_because_less_is_known(history: list[list[dict[str, Any]]], random: Any) -> None:
    """Snapshots come interleaved, are given up, and workers start anew, all at any time; the ledger only adds."""
    steps: list[tuple[str, int]] = []
    left = {partition: len(part) for partition, part in enumerate(history)}
    while left:
        partition = random.choice(sorted(left))
        steps.append(("snapshot", partition))
        left[partition] -= 1
        if not left[partition]:
            del left[partition]
            if random.random() < 0.5:
                steps.append(("give up", partition))
        if random.random() < 0.3:
            steps.append(("restart", 0))
    topics, taken = Topics(), dict.fromkeys(range(len(history)), 0)
    worker = topics.worker()
    for step, partition in steps:
        key = session_key("s1", partition)
        if step == "restart":
            worker = topics.worker()
        elif step == "give up":
            topics.write(worker, key, None)
        else:
            topics.write(worker, key, encode("session_tally", history[partition][taken[partition]]))
            taken[partition] += 1
        topics.publish(worker.collect(at(30), everything=False), worker)
    for earlier, later in zip(topics.published, topics.published[1:], strict=False):
        assert later["sequence"] > earlier["sequence"]
        if _rank(later) <= _rank(earlier):
            # What cannot be undone is not taken back either, unless what takes its place is worse.
            assert SETTLED.intersection(earlier["findings"]) <= set(later["findings"])
        if _rank(later) == _rank(earlier):
            assert later["degraded_operations"] >= earlier["degraded_operations"]
        elif _rank(later) < _rank(earlier):
            # Only a doubt can be dispelled, never what was counted or said.
            assert earlier["evidence"] != "COMPLETE" or earlier["outcome_claimed"] is None
            assert earlier["outcome_claimed"] != "failure"
            assert later["degraded_operations"] >= earlier["degraded_operations"]


def _rank(verdict: dict[str, Any]) -> tuple[int, int]:
    kinds, directives = list(VerdictKind), list(Directive)
    stricter = (Directive.NONE, Directive.RE_FETCH_FROM_PRIMARY, Directive.PROBE_UPSTREAM_BEFORE_ACTION)
    directive = Directive(verdict["directive"])
    asked = stricter.index(directive) if directive in stricter else len(directives)
    return kinds.index(VerdictKind(verdict["verdict"])), asked
