"""`unmask effects list` and `history`: what became of one tenant's effects."""

import json
from collections import Counter
from datetime import datetime
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from unmask.consumers.cli._connection import (
    DEFAULT,
    FAILED,
    Bootstrap,
    Namespace,
    address,
    complain,
    named_failures,
    topics_of,
)
from unmask.consumers.effects import Book, EffectLine, read_book
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.framing import framing_from_environment
from unmask.schemas.instants import iso, to_micros
from unmask.schemas.models import EffectDecision
from unmask.schemas.tokens import opaque_id

__all__ = ["history", "list_effects"]

_WIDTH = 180
_SHOWN = len("sha256-") + 12
Tenant = Annotated[str, typer.Option(help="Whose effects; those of two tenants are never shown together.")]
Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]
Timeout = Annotated[float, typer.Option(min=0.1, help="Seconds that the broker may take for an answer.")]
Failure = Annotated[str | None, typer.Option(help="Only what repairs this failure.", show_default=False)]
Strategy = Annotated[str | None, typer.Option(help="Only by this strategy.", show_default=False)]
BudgetKey = Annotated[str | None, typer.Option("--budget", help="Only what is charged to it.", show_default=False)]


def list_effects(
    tenant: Tenant,
    failure: Failure = None,
    strategy: Strategy = None,
    budget: BudgetKey = None,
    as_json: Json = False,
    timeout: Timeout = 30.0,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """List a tenant's effects of the last 30 days: what each has come to, and what its budgets have left."""
    book = _book("effects list", tenant, bootstrap, namespace, timeout)
    lines = _chosen(book, failure, strategy, budget)
    if as_json:
        budgets = {key: {"used": used, "limit": limit} for key, (used, limit) in book.budgets().items()}
        told = {"tenant": book.tenant, "effects": [_line(book, line) for line in lines], "budgets": budgets}
        typer.echo(json.dumps(told, indent=2))
        return
    table = _table("effect", "what", "budget", "state", "leases", "receipt", "changed")
    for line in lines:
        newest = line.newest
        table.add_row(
            line.effect_id[:_SHOWN],
            f"{line.failure}\n{line.strategy} {line.strategy_version}",
            line.budget_key,
            book.state_of(line).value,
            _leases(newest.attempts, newest.unsettled, line.token),
            newest.receipt or "",
            _instant(newest.decided_at),
        )
    if lines:
        _print(table)
    states = Counter(book.state_of(line).value for line in lines)
    parts = ", ".join(f"{n:,} {state}" for state, n in states.most_common())
    typer.echo(f"{len(lines):,} effects of {book.tenant}" + (f": {parts}" if parts else ""))
    for key, (used, limit) in book.budgets().items():
        if limit is not None and budget in (None, key):
            typer.echo(f"budget {key}: {used:,} of {limit:,} claims granted")


def history(
    tenant: Tenant,
    effect: Annotated[
        str | None, typer.Argument(help="An effect as `list` names it, or how that begins.", show_default=False)
    ] = None,
    failure: Failure = None,
    strategy: Strategy = None,
    budget: BudgetKey = None,
    as_json: Json = False,
    timeout: Timeout = 30.0,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Tell all that was decided about one effect, in the order of the log.

    Exits with 1 where no effect, or more than one, is meant.
    """
    if effect is None and failure is None and strategy is None and budget is None:
        raise typer.BadParameter("name the effect, or give --failure, --strategy or --budget", param_hint="EFFECT")
    book = _book("effects history", tenant, bootstrap, namespace, timeout)
    lines = _chosen(book, failure, strategy, budget)
    if effect is not None:
        lines = [line for line in book.find(effect) if line in lines]
    if len(lines) != 1:
        names = ", ".join(line.effect_id for line in lines[:5])
        what = f"{len(lines)} effects are meant ({names}); name one" if lines else "no such effect is on record"
        complain(f"unmask effects history: {what}; see: unmask effects list --tenant {book.tenant}")
        raise typer.Exit(FAILED)
    (line,) = lines
    if as_json:
        told = {**_line(book, line), "decisions": [_decision(decision) for decision in line.decisions]}
        typer.echo(json.dumps(told, indent=2))
        return
    table = _table("decided at", "asked", "answer", "holder", "token", "lease until", "receipt", "place")
    for decision in line.decisions:
        table.add_row(
            _instant(decision.decided_at),
            decision.kind.value,
            decision.answer.value + (f"\n{decision.reason.value}" if decision.reason else ""),
            decision.holder[:_SHOWN],
            str(decision.fencing_token or ""),
            "" if decision.lease_until is None else _instant(decision.lease_until),
            decision.receipt or "",
            f"{decision.partition}/{decision.offset}",
        )
    typer.echo(
        f"{line.effect_id}\n{line.tenant}: {line.failure} by {line.strategy} {line.strategy_version}, charged to "
        f"{line.budget_key}"
    )
    _print(table)
    newest = line.newest
    typer.echo(
        f"{book.state_of(line)}; {newest.attempts:,} leases granted, {newest.unsettled:,} of them ended without a word"
        + (f"; a refused commit named {newest.late_receipt}" if newest.late_receipt else "")
    )


def _book(command: str, tenant: str, bootstrap: str | None, namespace: str, timeout: float) -> Book:
    topics = topics_of(namespace)
    with named_failures(command):
        source = TopicSource(topics.effects_decisions.name, address(bootstrap), compacted=False)
        # As the hosts publish it.
        book = read_book(source, opaque_id(tenant), framing_from_environment(), timeout)
    if book.unreadable:
        complain(f"{book.unreadable} records of {topics.effects_decisions.name} cannot be read.")
    return book


def _chosen(book: Book, failure: str | None, strategy: str | None, budget: str | None) -> list[EffectLine]:
    wanted = {
        name: opaque_id(value)
        for name, value in (("failure", failure), ("strategy", strategy), ("budget_key", budget))
        if value is not None
    }
    return [line for line in book if all(getattr(line, name) == value for name, value in wanted.items())]


def _line(book: Book, line: EffectLine) -> dict[str, Any]:
    newest = line.newest
    return {
        "effect_id": line.effect_id,
        "failure": line.failure,
        "strategy": line.strategy,
        "strategy_version": line.strategy_version,
        "budget_key": line.budget_key,
        "state": book.state_of(line).value,
        "attempts": newest.attempts,
        "unsettled": newest.unsettled,
        "token": line.token,
        "lease_until": None if line.lease_until is None else iso(to_micros(line.lease_until)),
        "receipt": newest.receipt,
        "late_receipt": newest.late_receipt,
        "changed": iso(to_micros(newest.decided_at)),
    }


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def _leases(attempts: int, unsettled: int, token: int | None) -> str:
    parts = [f"{attempts:,}"] if attempts else ["none"]
    if unsettled:
        parts.append(f"{unsettled:,} without a word")
    if token is not None:
        parts.append(f"token {token}")
    return "\n".join(parts)


def _instant(instant: datetime) -> str:
    """To the second, UTC."""
    return f"{instant:%Y-%m-%d\n%H:%M:%S}"


def _decision(decision: EffectDecision) -> dict[str, Any]:
    return decision.model_dump(mode="json")


def _print(table: Table) -> None:
    console = Console()
    (console if console.is_terminal else Console(width=_WIDTH)).print(table)
