"""What a worker's effects ledger says of itself to Prometheus: counts, and nothing of any tenant."""

from prometheus_client.core import Metric

from unmask.schemas.codes import EffectAnswer
from unmask.streams.effects.status import EffectsStatus
from unmask.streams.web.effects_metrics import effects_metrics


def told(status: EffectsStatus | None) -> dict[str, Metric]:
    return {family.name: family for family in effects_metrics(status)}


def test_a_worker_without_an_effects_ledger_says_nothing_of_one() -> None:
    assert told(None) == {}


def test_every_answer_has_its_series_from_the_start_and_no_label_names_a_tenant() -> None:
    families = told(EffectsStatus(ready=True, reason="", partitions=(0, 1), lag=3, answers={"GRANTED": 5}, keys=4))
    answers = {s.labels["answer"]: s.value for s in families["unmask_effects_decisions"].samples}
    assert answers.keys() == {answer.value for answer in EffectAnswer} - {"UNKNOWN_ANSWER"}
    assert (answers["GRANTED"], answers["FENCED"]) == (5, 0)
    assert families["unmask_effects_lag_requests"].samples[0].value == 3
    labels = {name for family in families.values() for sample in family.samples for name in sample.labels}
    assert labels == {"answer"}


def test_one_that_is_not_ready_says_so() -> None:
    assert told(EffectsStatus(ready=False, reason="joining"))["unmask_effects_ready"].samples[0].value == 0
