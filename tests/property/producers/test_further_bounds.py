"""Whatever a host records of the later families, the ledger reads: no event costs the batch that it stands in."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.streams.ledger.emitting import T0, Life

from unmask.producers import Budget
from unmask.producers.delegation.recording import Recording, count_of
from unmask.producers.delegation.signal import Reading
from unmask.producers.further_events import FurtherCleaner
from unmask.schemas.codec import encode
from unmask.schemas.codes import CallOutcome, Family
from unmask.streams.ledger.intake import Intake

_NUMBERS = st.one_of(
    st.integers(),
    st.integers(-(2**63), 2**63),
    st.sampled_from([0, 1, 10**15, 10**15 + 1, 2**53, 2**63 - 1, 2**63, -(2**63)]),
    st.none(),
    st.booleans(),
)
_TEXTS = st.one_of(st.none(), st.text(max_size=80), st.sampled_from(["", "a b", "x" * 65, "\ud800"]))
_INSTANTS = st.one_of(
    st.none(),
    st.datetimes(timezones=st.just(UTC)),
    st.sampled_from([datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]),
)
_PARTS = {
    Family.ROUTE_SELECTION: "route_selections",
    Family.DELEGATION_PROGRESS: "delegation_progress",
    Family.DELEGATION_EFFECT: "delegation_effects",
}


def read(family: Family, *said: Any) -> bool:
    """Whether the event is sent at all; what is sent must be read. Raises DecodeError where the ledger refuses it."""
    try:
        body = FurtherCleaner(100).body(family, (T0, *said))
    except (ValueError, KeyError, TypeError):
        return False
    batch = Life(witnesses=(family.value,)).cut(T0) | {_PARTS[family]: [body | {"occurred_at": T0}]}
    Intake().read(batch["emitter"]["emitter_id"].encode(), encode("event_batch", batch))
    return True


@given(_TEXTS, _NUMBERS, _TEXTS, _INSTANTS)
def test_selections(session_id: object, turn: object, profile: object, expires_at: object) -> None:
    family = Family.ROUTE_SELECTION
    read(family, session_id, turn, profile, "auto", "window", "live", None, "timeout", False, expires_at)
    # An end that is far beyond all others, or was before all others, is no reason to lose the choice.
    assert read(family, "s", 1, "p", "auto", "window", "live", None, "timeout", False, expires_at)


@given(st.tuples(*[_TEXTS] * 8), st.tuples(*[_NUMBERS] * 8))
def test_calls_of_delegations(texts: tuple[object, ...], numbers: tuple[object, ...]) -> None:
    delegation, session, invocation, signal, state, conditions, subject, scope = texts
    step, turn, attempt, tokens, measure, *budgets = numbers
    read(
        Family.DELEGATION_PROGRESS, delegation, session, invocation, step, turn, "succeeded", attempt, tokens, signal,
        state, conditions, subject, measure, scope, *budgets,
    )  # fmt: skip


@given(st.tuples(*[_TEXTS] * 9), _NUMBERS, _NUMBERS)
def test_effects_of_delegations(texts: tuple[object, ...], turn: object, token: object) -> None:
    delegation, session, invocation, answer, key, fingerprint, receipt, by, reason = texts
    read(
        Family.DELEGATION_EFFECT, delegation, session, invocation, turn, "granted", "effects", answer, key, fingerprint,
        token, receipt, by, reason,
    )  # fmt: skip


class _Recorder:
    """Takes calls as an emitter does, and has them read."""

    def record_delegation_progress(self, **said: Any) -> None:
        assert read(Family.DELEGATION_PROGRESS, *said.values())


@given(_NUMBERS, _NUMBERS, st.one_of(st.none(), st.integers(0)), _NUMBERS)
def test_a_tracked_call_is_always_sent_and_read(tokens: Any, turn: Any, budget: Any, measure: Any) -> None:
    recorder: Any = _Recorder()
    Recording(recorder, "d", None).record_call(
        CallOutcome.SUCCEEDED, attempt=1, tokens=count_of(tokens), budget=Budget(budget, budget, budget),
        signal="tree", reading=Reading.of("content", measure=measure), turn=turn,
    )  # fmt: skip
