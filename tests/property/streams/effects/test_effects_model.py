"""Whatever is asked in whatever order: what must hold of the effects ledger holds, and replays decide the same.

What is asserted is worked out from requests and decisions alone, not from the fold's state.
"""

from collections import defaultdict
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.streams.effects.asking import request
from tests.unit.streams.effects.test_pieces import pieces_of

from unmask.schemas.testing import SAMPLE_INSTANT
from unmask.streams.effects.fold import fold_request
from unmask.streams.effects.pieces import restore
from unmask.streams.effects.rules import EffectRules
from unmask.streams.effects.state import EffectKey, PartitionState

RULES = EffectRules(tenant_keys=3)
TENANTS = ("acme", "beta")
KINDS = ("claim", "claim", "claim", "commit", "commit", "release", "renew", "expire")

Asked = tuple[int, dict[str, Any]]
"""Arrival in microseconds, and the request."""


STEP = st.tuples(
    # The broker's clock may jump back a little.
    st.sampled_from((0, 0, 1_000, 400_000, 1_100_000, -200_000)),
    st.sampled_from(("acme", "acme", "beta")),
    st.sampled_from(("f1", "f1", "f1", "f2", "f3", "f4")),
    st.sampled_from(KINDS),
    st.sampled_from(("h1", "h2")),
    st.booleans(),
    st.sampled_from(("c1", "c1", "c1", "c2")),
    st.sampled_from((None, None, 2, 5)),
    st.sampled_from((1, 500, 1_000, 3_000)),
    st.sampled_from((1, 1, 1, 2, 3, 5)),
    st.sampled_from(("r1", "r2")),
)


def requests_of(steps: list[Any]) -> list[Asked]:
    """Requests of a few hosts about a few keys. Settlements speak of a request shortly before, mostly of its key."""
    found: list[Asked] = []
    at = SAMPLE_INSTANT
    for number, (later, tenant, failure, kind, holder, again, content, limit, lease, back, receipt) in enumerate(steps):
        at += later
        details: dict[str, Any] = {"holder": holder, "request_id": "q-again" if again else f"q-{number}"}
        key = EffectKey(tenant, failure, "s", "v", "budget")
        if kind == "claim":
            details |= {"fingerprint": content, "budget_limit": limit}
        else:
            details["fencing_token"] = max(1, number + 1 - back)
            if not again and number >= back:
                key = key_of(found[number - back][1])
        if kind in ("claim", "renew"):
            details["lease_ms"] = lease
        if kind == "commit":
            details["receipt"] = receipt
        found.append((at, request(kind, key, **details)))
    return found


ASKED = st.lists(STEP, min_size=1, max_size=40).map(requests_of)


def decided(requests: list[Asked], state: PartitionState | None = None) -> list[dict[str, Any]]:
    state = state or PartitionState(0)
    for arrival, each in requests:
        fold_request(state, RULES, state.next_offset, arrival, each)
    return state.touched.decisions


def key_of(record: dict[str, Any]) -> EffectKey:
    return EffectKey(*(record[name] for name in EffectKey._fields))


def by_key(decisions: list[dict[str, Any]]) -> dict[EffectKey, list[dict[str, Any]]]:
    found: dict[EffectKey, list[dict[str, Any]]] = defaultdict(list)
    for decision in decisions:
        found[key_of(decision)].append(decision)
    return found


def _one_commit(all_decisions: list[dict[str, Any]]) -> None:
    """No key is committed twice, nothing is granted after a commit, and no commit is lost."""
    for decisions in by_key(all_decisions).values():
        commits = [d for d in decisions if d["answer"] == "COMMITTED"]
        assert len({(d["fencing_token"], d["receipt"], d["committed_at"]) for d in commits}) <= 1
        if commits:
            after = decisions[decisions.index(commits[0]) :]
            assert all(d["answer"] != "GRANTED" for d in after)
            assert all(d["receipt"] == commits[0]["receipt"] for d in after), "a committed effect is never lost"


def _one_lease(all_decisions: list[dict[str, Any]]) -> None:
    """Tokens grow, and one lease holds at a time."""
    for decisions in by_key(all_decisions).values():
        newest, until, over = 0, 0, True
        asker: tuple[str, str] | None = None
        for decision in decisions:
            now, token = decision["decided_at"], decision["fencing_token"]
            if decision["answer"] == "GRANTED" and token != newest:
                assert (decision["holder"], decision["request_id"]) != asker, "a question has one answer"
                asker = (decision["holder"], decision["request_id"])
                assert token > newest
                assert over or now >= until, "granted while another lease held"
                newest, until, over = token, decision["lease_until"], False
            elif decision["answer"] == "GRANTED":
                assert decision["lease_until"] == until
            elif decision["answer"] == "RENEWED":
                assert token == newest
                assert not over
                assert now < until
                until = decision["lease_until"]
            elif decision["answer"] in ("COMMITTED", "RELEASED"):
                assert token == newest, "only the newest lease settles anything"
                assert over or now < until
                over = True


def _late_is_fenced(decisions: list[dict[str, Any]], requests: list[Asked]) -> None:
    """A commit under an old token, or after its lease, is always refused."""
    for place, (decision, (_, each)) in enumerate(zip(decisions, requests, strict=True)):
        if decision["kind"] != "commit":
            continue
        earlier = [d for d in decisions[:place] if key_of(d) == key_of(decision)]
        grants = [d for d in earlier if d["answer"] == "GRANTED"]
        told = [
            d for d in earlier if d["answer"] in ("GRANTED", "RENEWED") and d["fencing_token"] == each["fencing_token"]
        ]
        settled = [d for d in earlier if d["answer"] == "COMMITTED" and d["fencing_token"] == each["fencing_token"]]
        newest = max((d["fencing_token"] for d in grants), default=0)
        late = not told or decision["decided_at"] >= told[-1]["lease_until"]
        if not settled and (each["fencing_token"] != newest or late):
            assert decision["answer"] == "FENCED"


def _within_budget(decisions: list[dict[str, Any]], requests: list[Asked]) -> None:
    """No more is granted than the smallest limit that was stated by then."""
    tokens: dict[str, set[int]] = defaultdict(set)
    limits: dict[str, int] = {}
    for decision, (_, each) in zip(decisions, requests, strict=True):
        tenant = decision["tenant"]
        if (
            decision["kind"] == "claim"
            and each["budget_limit"] is not None
            and (tokens[tenant] or decision["answer"] == "GRANTED")
        ):
            limits[tenant] = min(limits.get(tenant, each["budget_limit"]), each["budget_limit"])
        if decision["answer"] == "GRANTED" and decision["fencing_token"] not in tokens[tenant]:
            tokens[tenant].add(decision["fencing_token"])
            assert len(tokens[tenant]) <= limits.get(tenant, 99)
        if decision["budget_used"] is not None:
            assert decision["budget_used"] == len(tokens[tenant])


@settings(max_examples=250, deadline=None)
@given(requests=ASKED)
def test_whatever_is_asked_what_must_hold_of_the_decisions_holds(requests: list[Asked]) -> None:
    decisions = decided(requests)
    _one_commit(decisions)
    _one_lease(decisions)
    _late_is_fenced(decisions, requests)
    _within_budget(decisions, requests)


@settings(max_examples=60, deadline=None)
@given(requests=ASKED, cut=st.integers(0, 40))
def test_a_replay_decides_the_same_from_the_beginning_and_from_any_state_on_the_way(
    requests: list[Asked], cut: int
) -> None:
    whole = decided(requests)
    assert decided(requests) == whole
    state = PartitionState(0)
    first = decided(requests[:cut], state)
    restored, _ = restore(0, pieces_of(state))
    assert first + decided(requests[cut:], restored) == whole


@settings(max_examples=60, deadline=None)
@given(requests=ASKED)
def test_tenants_decide_nothing_for_each_other(requests: list[Asked]) -> None:
    """Times are the log's, so that the other tenant's requests stay in it as what nobody can read."""

    def told(decisions: list[dict[str, Any]], tenant: str) -> list[dict[str, Any]]:
        return [d for d in decisions if d["tenant"] == tenant]

    together = decided(requests)
    for tenant in TENANTS:
        alone = PartitionState(0)
        for arrival, each in requests:
            if each["tenant"] == tenant:
                fold_request(alone, RULES, alone.next_offset, arrival, each)
            else:
                alone.next_offset, alone.now = alone.next_offset + 1, max(alone.now, arrival)
        assert told(alone.touched.decisions, tenant) == told(together, tenant)


@settings(max_examples=60, deadline=None)
@given(requests=ASKED)
def test_every_lease_ends_once_the_arbiter_asks_for_it(requests: list[Asked]) -> None:
    state = PartitionState(0)
    granted = {(key_of(d), d["fencing_token"]) for d in decided(requests, state) if d["answer"] == "GRANTED"}
    much_later = max(arrival for arrival, _ in requests) + 60_000_000
    ends = [(much_later, request("expire", key, fencing_token=token, request_id="x")) for key, token in sorted(granted)]
    for decision in decided(ends, state)[len(requests) :]:
        assert (decision["answer"], decision["reason"]) in (("EXPIRED", None), ("ABSTAIN", "nothing_held"))
    assert not any(effect.live(state.now) for effect in state.effects.values())
