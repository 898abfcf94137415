"""Metrics of the effects ledger of a worker. No tenant and no key is a label: these are the tenants' own."""

from collections.abc import Iterator
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from unmask.schemas.codes import EffectAnswer
from unmask.streams.effects.status import EffectsStatus

__all__ = ["effects_metrics"]

_ANSWERS = tuple(answer.value for answer in EffectAnswer if answer is not EffectAnswer.UNKNOWN_ANSWER)


def effects_metrics(status: EffectsStatus | None) -> Iterator[Any]:
    """What the effects ledger says of itself; nothing where this worker has none."""
    if status is None:
        return
    yield GaugeMetricFamily("unmask_effects_ready", "1 while the effects ledger is ready.", int(status.ready))
    yield GaugeMetricFamily("unmask_effects_partitions", "Partitions of it on this worker.", len(status.partitions))
    yield GaugeMetricFamily("unmask_effects_lag_requests", "Requests that it has not decided yet.", status.lag)
    yield GaugeMetricFamily("unmask_effects_keys", "Effects on record.", status.keys)
    yield GaugeMetricFamily("unmask_effects_budgets", "Budgets on record.", status.budgets)
    yield CounterMetricFamily("unmask_effects_requests", "Requests read by this process.", status.requests)
    yield CounterMetricFamily("unmask_effects_transactions", "Its transactions.", status.transactions)
    yield CounterMetricFamily("unmask_effects_quarantined", "Requests that could not be read.", status.quarantined)
    answers = CounterMetricFamily("unmask_effects_decisions", "Decisions of this process.", labels=("answer",))
    for answer in _ANSWERS:
        answers.add_metric((answer,), status.answers.get(answer, 0))
    yield answers
