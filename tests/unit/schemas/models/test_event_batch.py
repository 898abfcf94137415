"""A batch knows how many events of each family it carries."""

from unmask.schemas.codes import Family
from unmask.schemas.models import EventBatch, from_avro
from unmask.schemas.testing import SAMPLE_INSTANT, sample


def test_events_are_counted_by_family_and_attempts_by_their_columns() -> None:
    group = {**sample("event_batch")["route_attempts"][0], "occurred_at": [SAMPLE_INSTANT] * 3, "run_id": []}
    batch = from_avro(EventBatch, sample("event_batch", route_attempts=[group, group], masked_errors=[]))
    assert {family: batch.events(family) for family in Family} == {
        Family.ROUTE_ATTEMPT: 6,
        Family.KERNEL_FALLBACK: 1,
        Family.MASKED_ERROR: 0,
        Family.SESSION_TEARDOWN: 1,
        Family.ROUTE_SELECTION: 1,
        Family.DELEGATION_PROGRESS: 1,
        Family.DELEGATION_EFFECT: 1,
        Family.UNKNOWN_FAMILY: 0,
    }
