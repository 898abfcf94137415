"""Metrics: every one is declared here, once, with what it means. Never a NaN, never a `_created` series.

All names begin with `unmask_`; the counter of fallbacks is `unmask_fallbacks_total`.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from unmask.schemas.codes import AlertKind, Evidence, ReasonCode
from unmask.streams.effects.status import EffectsStatus
from unmask.streams.ledger.status import LedgerStatus
from unmask.streams.tables.status import TablesStatus
from unmask.streams.web.effects_metrics import effects_metrics
from unmask.streams.web.overview import Overview, Totals

__all__ = ["WorkerCollector"]

_SCOPE = ("release_line", "composition")
_REASONS = tuple(reason.value for reason in ReasonCode)
_KINDS = tuple(kind.value for kind in AlertKind if kind is not AlertKind.UNKNOWN_ALERT)


class WorkerCollector(Collector):
    """Collects what a worker and the namespace's windows say at the moment of a scrape.

    `read` calls a function with the overview while nobody changes it; `caught_up` says whether it has been read to the
    end that it had at the start.
    """

    def __init__(
        self,
        read: Callable[[Callable[[Overview], list[Any]]], list[Any]],
        capabilities: tuple[str, ...],
        ledger: Callable[[], LedgerStatus | None],
        tables: Callable[[], TablesStatus | None],
        effects: Callable[[], EffectsStatus | None] = lambda: None,
        caught_up: Callable[[], bool] = lambda: True,
    ) -> None:
        self._read = read
        self._caught_up = caught_up
        self._capabilities = capabilities
        self._ledger = ledger
        self._tables = tables
        self._effects = effects

    def collect(self) -> Iterable[Any]:
        """All metric families."""
        # Nothing is better than a 0 that jumps to the true total: Prometheus would take that for an increase.
        if self._caught_up():
            yield from self._read(lambda overview: [*self._totals(overview), *self._now(overview)])
        yield from _ledger_metrics(self._ledger())
        yield from _tables_metrics(self._tables())
        yield from effects_metrics(self._effects())

    def _totals(self, overview: Overview) -> Iterator[Any]:
        capabilities = sorted({*self._capabilities, *overview.capabilities()})
        scopes = sorted(overview.totals.items())
        fallbacks = CounterMetricFamily(
            "unmask_fallbacks",
            "Fallbacks from the kernel route, by what is comparable.",
            labels=("capability", "reason_code", *_SCOPE),
        )
        attempts = CounterMetricFamily(
            "unmask_route_attempts", "Attempts on the kernel route.", labels=("capability", "entry_point", *_SCOPE)
        )
        by_capability = CounterMetricFamily(
            "unmask_capability_fallbacks",
            "Fallbacks of a capability over all scopes; every series exists at 0 from the start.",
            labels=("capability", "reason_code"),
        )
        attempts_by_capability = CounterMetricFamily(
            "unmask_capability_attempts",
            "Attempts of a capability over all scopes; exists at 0 from the start.",
            labels=("capability",),
        )
        for scope, totals in scopes:
            where = (scope.release_line, scope.composition)
            for capability in capabilities:
                for reason in _with_unknown(_REASONS, totals, capability):
                    fallbacks.add_metric((capability, reason, *where), totals.fallbacks.get((capability, reason), 0))
            for (capability, entry_point), count in sorted(totals.attempts.items()):
                attempts.add_metric((capability, entry_point, *where), count)
        for capability in capabilities:
            for reason in _REASONS:
                total = sum(totals.fallbacks.get((capability, reason), 0) for _, totals in scopes)
                by_capability.add_metric((capability, reason), total)
            tried = sum(n for _, totals in scopes for (name, _), n in totals.attempts.items() if name == capability)
            attempts_by_capability.add_metric((capability,), tried)
        yield from (fallbacks, attempts, by_capability, attempts_by_capability)
        yield from _whole_scope_metrics(overview)
        yield from _delegation_metrics(overview)

    def _now(self, overview: Overview) -> Iterator[Any]:
        evidence = GaugeMetricFamily(
            "unmask_window_evidence",
            "Windows of the last hour by evidence.",
            labels=("window_seconds", "family", "state"),
        )
        counts = overview.evidence()
        for seconds, family in sorted({(seconds, family) for seconds, family, _ in counts}):
            for state in Evidence:
                evidence.add_metric((str(seconds), family, state.value), counts[seconds, family, state.value])
        firing = overview.firing()
        alerts = GaugeMetricFamily("unmask_alerts_firing", "Alerts that fire, by kind.", labels=("kind",))
        for kind in _KINDS:
            alerts.add_metric((kind,), firing.get(kind, 0))
        yield evidence
        yield alerts


def _with_unknown(reasons: tuple[str, ...], totals: Totals, capability: str) -> list[str]:
    extra = {reason for name, reason in totals.fallbacks if name == capability} - set(reasons)
    return [*reasons, *sorted(extra)]


def _whole_scope_metrics(overview: Overview) -> Iterator[Any]:
    masked = CounterMetricFamily(
        "unmask_masked_errors", "Errors that a substitute answer hid.", labels=("upstream_class", *_SCOPE)
    )
    teardowns = CounterMetricFamily("unmask_session_teardowns", "Ended sessions.", labels=("outcome", *_SCOPE))
    plain = {
        "emitters": CounterMetricFamily("unmask_emitters", "Emitters that were ever seen.", labels=_SCOPE),
        "late": CounterMetricFamily("unmask_late_events", "Events counted after their window closed.", labels=_SCOPE),
        "skewed": CounterMetricFamily("unmask_skewed_events", "Events from the future.", labels=_SCOPE),
        "duplicates": CounterMetricFamily("unmask_duplicate_batches", "Batches seen again.", labels=_SCOPE),
    }
    compositions = GaugeMetricFamily(
        "unmask_composition_info",
        "What a composition is made of.",
        labels=("composition", "event_contract", "telemetry_backend", "redaction_policy", "switchboard"),
    )
    told: set[str] = set()
    for scope, totals in sorted(overview.totals.items()):
        where = (scope.release_line, scope.composition)
        record = totals.whole
        if record is None:
            continue
        for upstream_class, count in sorted(record["masked_errors_by_class"].items()):
            masked.add_metric((upstream_class, *where), count)
        for outcome, count in sorted(record["teardowns_by_outcome"].items()):
            teardowns.add_metric((outcome, *where), count)
        for name, family in plain.items():
            family.add_metric(where, record[name])
        if scope.composition not in told:
            told.add(scope.composition)
            compositions.add_metric((scope.composition, *scope[1:]), 1)
    yield from (masked, teardowns, *plain.values(), compositions)


def _delegation_metrics(overview: Overview) -> Iterator[Any]:
    """What hosts told of selections and delegations; the codes are closed sets, so that the series are few.

    Trips of the progress breaker are not among them: they belong to sessions, which are forgotten.
    """
    selections = CounterMetricFamily(
        "unmask_route_selections",
        "Profiles chosen, persisted or cleared, by who chose and on which timeline.",
        labels=("source", "timeline", *_SCOPE),
    )
    calls = CounterMetricFamily(
        "unmask_delegation_calls", "Calls of delegations, by how they ended.", labels=("outcome", *_SCOPE)
    )
    effects = CounterMetricFamily(
        "unmask_delegation_effects",
        "Steps of effects by enforcer, among them refusals, appeals, and refusals that were shown to be wrong.",
        labels=("enforcer", "step", *_SCOPE),
    )
    for scope, totals in sorted(overview.totals.items()):
        record, where = totals.whole, (scope.release_line, scope.composition)
        if record is None:
            continue
        for code, count in sorted(record["selections"].items()):
            selections.add_metric((*_divided(code), *where), count)
        for outcome, count in sorted(record["delegation_calls"].items()):
            calls.add_metric((outcome, *where), count)
        for code, count in sorted(record["delegation_effects"].items()):
            effects.add_metric((*_divided(code), *where), count)
    yield from (selections, calls, effects)


def _divided(code: str) -> tuple[str, str]:
    first, _, second = code.partition(".")
    return first, second


def _ledger_metrics(status: LedgerStatus | None) -> Iterator[Any]:
    if status is None:
        return
    yield GaugeMetricFamily("unmask_ledger_ready", "1 while the ledger of this worker is ready.", int(status.ready))
    yield GaugeMetricFamily("unmask_ledger_partitions", "Source partitions of this worker.", len(status.partitions))
    yield GaugeMetricFamily("unmask_ledger_lag_records", "Records that it has not folded yet.", status.lag)
    yield GaugeMetricFamily("unmask_ledger_live_emitters", "Emitters that it knows of.", status.emitters)
    yield GaugeMetricFamily("unmask_ledger_cells", "Open cells.", status.cells)
    yield GaugeMetricFamily("unmask_ledger_sessions", "Sessions that it remembers.", status.sessions)
    yield CounterMetricFamily("unmask_ledger_records", "Records folded by this process.", status.records)
    yield CounterMetricFamily("unmask_ledger_events", "Events folded by this process.", status.events)
    yield CounterMetricFamily("unmask_ledger_transactions", "Transactions of this process.", status.transactions)
    yield CounterMetricFamily("unmask_ledger_quarantined", "Records that could not be read.", status.quarantined)


def _tables_metrics(status: TablesStatus | None) -> Iterator[Any]:
    if status is None:
        return
    yield GaugeMetricFamily("unmask_tables_ready", "1 while the tables of this worker are ready.", int(status.ready))
    yield GaugeMetricFamily("unmask_tables_partitions", "Table partitions of this worker.", len(status.partitions))
    yield GaugeMetricFamily("unmask_tables_windows", "Windows that it keeps.", status.windows)
    yield GaugeMetricFamily("unmask_tables_cells", "Cells that it keeps.", status.cells)
    yield GaugeMetricFamily("unmask_tables_sessions", "Sessions that it keeps.", status.sessions)
    yield GaugeMetricFamily(
        "unmask_tables_withheld",
        "Window records not published since they count less than what stands.",
        status.withheld,
    )
    for name, text, counts in (
        ("unmask_tables_published", "Records published by this process.", status.published),
        ("unmask_tables_applied", "Records taken in by the partitions that it has now.", status.applied),
        ("unmask_tables_undecodable", "Records that could not be read and were passed over.", status.undecodable),
    ):
        family = GaugeMetricFamily(name, text, labels=("topic",))
        for topic, count in sorted(counts.items()):
            family.add_metric((topic,), count)
        yield family
