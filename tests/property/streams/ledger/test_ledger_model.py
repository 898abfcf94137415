"""The ledger against a model that recomputes everything from scratch, over random histories full of faults."""

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.property.streams.ledger.reader import FAMILIES, TableReader, counts_of, flaws_of, sessions_of
from tests.property.streams.ledger.reference import Reference
from tests.property.streams.ledger.reference_work import expected_work
from tests.property.streams.ledger.worker import Published, Standing, Worker
from tests.property.streams.ledger.world import Event, Faults, Host, World
from tests.unit.streams.ledger.emitting import SECOND

from unmask.schemas.codec import decode
from unmask.schemas.scope import Scope
from unmask.schemas.topics import Topics
from unmask.streams.ledger.rules import FoldRules

TOPICS = Topics("ns", events_partitions=2, table_partitions=2)
RULES = FoldRules(window_seconds=(60, 300), horizon_us=600 * SECOND, write_off_us=20 * SECOND)
shares = st.sampled_from([0.0, 0.05, 0.2, 0.5])
faults = st.builds(
    Faults, lost=shares, late=shares, very_late=st.sampled_from([0.0, 0.05]), twice=shares,
    garbled=st.sampled_from([0.0, 0.05]), dropped=shares, skewed=shares, dies=shares, heals=st.booleans(),
)  # fmt: skip
histories = given(st.integers(0, 2**32), faults, st.integers(1, 5), st.integers(20, 90))
thorough = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def _play(seed: int, kinds: Faults, hosts: int, steps: int) -> tuple[World, list[Worker]]:
    """A history, and ledgers that read it with crashes and moves on the way, until nothing is left to read."""
    world = World(seed, kinds, hosts)
    workers = [Worker(partition, TOPICS, RULES, world.log[partition]) for partition in world.log]
    pick = world.random
    for _ in range(steps):
        world.step()
        for worker in workers:
            worker.read(pick.choice((0, 1, 3, 100)))
            if pick.random() < 0.5:
                worker.advance(world.now)
            chance = pick.random()
            if chance < 0.5:
                worker.commit(mark=pick.random() < 0.5)
            elif chance < 0.6:
                worker.crash(after=pick.randrange(40), mark=pick.random() < 0.5)
            elif chance < 0.65:
                worker.move()
    world.settle()
    for worker in workers:
        while worker.state.next_offset < len(worker.log):
            worker.read(7)
            worker.commit(mark=False)
        worker.advance(world.now)
        worker.commit(mark=True)
    return world, workers


def _tables(workers: list[Worker]) -> list[TableReader]:
    """Readers of committed records, at the end."""
    tables = [TableReader(TOPICS.events_partitions) for _ in range(TOPICS.table_partitions)]
    for worker in workers:
        for record, _, committed in worker.published:
            if committed and record.topic == TOPICS.tallies.name:
                tables[record.partition].read(record.key, record.value)
    return tables


@thorough
@histories
def test_everything_published_is_what_the_log_proves(seed: int, kinds: Faults, hosts: int, steps: int) -> None:
    world, workers = _play(seed, replace(kinds, twins=0.2), hosts, steps)
    models = [Reference(worker.log, RULES, world.now) for worker in workers]
    tables = _tables(workers)
    assert counts_of(tables) == sum((model.counts for model in models), Counter())
    assert flaws_of(tables) == set().union(*(model.flaws for model in models))
    _same_sessions(workers, models)
    _same_logs(workers, models)


@thorough
@histories
def test_when_everything_arrives_in_the_end_every_recorded_event_is_counted_once(
    seed: int, kinds: Faults, hosts: int, steps: int
) -> None:
    healing = Faults(kinds.lost, kinds.late, kinds.very_late, kinds.twice, 0.0, 0.0, kinds.skewed, 0.0, heals=True)
    world, workers = _play(seed, healing, hosts, steps)
    tables = _tables(workers)
    for worker in workers:
        whole = [host for host in world.hosts if host.partition == worker.partition]
        recorded = sum(host.life.recorded[family] for host in whole for family in FAMILIES)
        counted = sum(
            tally["count"]
            for table in tables
            for tally in table.tallies.values()
            if tally["partition"] == worker.partition and tally["window_seconds"] == 0 and tally["measure"] in FAMILIES
        )
        assert counted == recorded
    assert {flaw[6] for flaw in flaws_of(tables)} <= {"silent", "behind"}


@thorough
@histories
def test_no_window_is_ever_shown_as_complete_while_an_event_of_it_is_not_counted(
    seed: int, kinds: Faults, hosts: int, steps: int
) -> None:
    world, workers = _play(seed, kinds, hosts, steps)
    truth = _events_by_window(world.hosts)
    for isolated in (True, False):
        _read_on(workers, world.hosts, truth, committed_only=isolated)


# Comparisons.


def _same_sessions(workers: list[Worker], models: list[Reference]) -> None:
    for worker, model in zip(workers, models, strict=True):
        told = sessions_of(
            (record.key, record.value)
            for record, _, committed in worker.published
            if committed and record.topic == TOPICS.sessions.name
        )
        assert set(told) == set(model.sessions)
        for session_id, facts in model.sessions.items():
            tally = told[session_id]
            assert {
                "emitters": set(tally["emitters"]),
                "opened": tally["opened_at"],
                "last_seen": tally["last_seen_at"],
                "fallbacks": tally["fallbacks"],
                "masked": tally["masked_errors"],
                "degraded": set(tally["degraded_operations"]),
                "total": tally["degraded_operations_total"],
                "not_equivalent": tally["not_equivalent"],
                "teardowns": [teardown["occurred_at"] for teardown in tally["teardowns"]],
                "evidence": tally["evidence"],
                "abandoned": tally["abandoned_at"] is not None,
            } == {
                "emitters": facts.emitters,
                "opened": facts.opened,
                "last_seen": facts.last_seen,
                "fallbacks": facts.fallbacks,
                "masked": facts.masked,
                "degraded": facts.degraded,
                "total": len(facts.degraded) + facts.anonymous,
                "not_equivalent": len(facts.degraded - (facts.proven - facts.unproven)) + facts.anonymous,
                "teardowns": sorted(facts.teardowns),
                "evidence": "LOSSY" if model.session_lossy(facts) else "COMPLETE",
                "abandoned": model.session_abandoned(facts),
            }, session_id
            assert _work(tally) == expected_work(facts.work), session_id


def _work(tally: dict[str, Any]) -> dict[str, Any]:
    """What a tally says of a session's work, in the reference's terms."""
    delegations = {}
    for told in tally["delegations"]:
        name = told.pop("delegation_id")
        delegations[name] = told | {
            "invocations": {run["invocation_id"] for run in told["invocations"]},
            "doubts": {doubt["doubt"]: doubt["count"] for doubt in told["doubts"]},
            "refusals": {r["enforcer"]: (r["count"], r["appealed"], r["vindicated"]) for r in told["refusals"]},
        }
    work = {name: tally[name] for name in ("selections", "selections_total", "identity_conflicts")}
    return work | {"delegations": delegations}


def _same_logs(workers: list[Worker], models: list[Reference]) -> None:
    for worker, model in zip(workers, models, strict=True):
        committed = [record for record, _, committed in worker.published if committed]
        fallbacks = [decode("fallback", r.value) for r in committed if r.topic == TOPICS.fallbacks.name]
        assert [(f["emitter_id"], f["batch_seq"], f["index"]) for f in fallbacks] == model.fallbacks
        quarantined = [decode("quarantine", r.value) for r in committed if r.topic == TOPICS.quarantine.name]
        assert [entry["offset"] for entry in quarantined] == model.quarantined


# What a reader is shown on the way.

Truth = dict[tuple[int, int, Scope, str], list[tuple[Host, Event]]]


def _events_by_window(hosts: list[Host]) -> Truth:
    """All events ever recorded, by window, scope and family, of hosts whose clocks are not far ahead."""
    truth: Truth = defaultdict(list)
    for host in hosts:
        if not host.ahead:
            for event in host.events:
                for seconds in RULES.window_seconds:
                    start = event.at - event.at % (seconds * SECOND)
                    truth[start, seconds, event.scope, event.family].append((host, event))
    return truth


def _read_on(workers: list[Worker], hosts: list[Host], truth: Truth, *, committed_only: bool) -> None:
    """Reads record by record, the workers' records in turns, and looks at what is complete after each."""
    for table in range(TOPICS.table_partitions):
        reader = TableReader(TOPICS.events_partitions)
        knew: dict[int, dict[str, Standing]] = {}
        streams: list[list[Published]] = [
            [
                published
                for published in worker.published
                if published.record.topic == TOPICS.tallies.name
                and published.record.partition == table
                and (published.committed or not committed_only)
            ]
            for worker in workers
        ]
        for at in range(max((len(stream) for stream in streams), default=0)):
            for partition, stream in enumerate(streams):
                if at >= len(stream):
                    continue
                record, known, _ = stream[at]
                kind = reader.read(record.key, record.value)
                if kind == "evidence_mark":
                    knew[partition] = known
                    windows = reader.windows()
                else:
                    _, _, seconds, start, *_ = record.key.decode().split("|")
                    windows = {(int(start) * SECOND, int(seconds))}
                _check(reader, windows, knew, truth)


def _check(
    reader: TableReader, windows: set[tuple[int, int]], knew: dict[int, dict[str, Standing]], truth: Truth
) -> None:
    for start, seconds in windows:
        for scope in {key[2] for key in truth if key[:2] == (start, seconds)}:
            for family in reader.complete((start, seconds), scope):
                owed = [
                    event
                    for host, event in truth.get((start, seconds, scope, family), ())
                    if _owed(host, event, knew[host.partition].get(host.life.emitter_id))
                ]
                counted = reader.count((start, seconds), scope, family)
                assert counted >= len(owed), (start, seconds, scope, family, counted, owed)


def _owed(host: Host, event: Event, standing: Standing | None) -> bool:
    """Whether a ledger that knows the emitter so must have the event before it calls its window complete.

    All events of an emitter that is not written off, also those that it has not told of yet; else what it told of.
    """
    return standing is not None and (not standing.unaccounted or event.seq <= standing.last_seq)
