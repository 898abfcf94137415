"""`unmask report eligibility`: whether the record proves enough to decide on the retirement of a fallback."""

import time
from pathlib import Path
from typing import Annotated

import typer

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
from unmask.consumers.cli._reading import reading
from unmask.consumers.eligibility import (
    DAY,
    HOUR,
    WINDOW_SECONDS,
    Policy,
    PolicyError,
    Wanted,
    decide_all,
    parity_facts,
    policy_from,
    read_from,
    read_policy_file,
    timelines,
    to_json,
    to_lines,
)
from unmask.consumers.parity import parity_source, read_parity
from unmask.consumers.report.pipeline import judge
from unmask.consumers.report.pipeline_view import look_if_allowed
from unmask.consumers.windows_view import read_windows, windows_source
from unmask.schemas.instants import iso
from unmask.schemas.tokens import is_token
from unmask.schemas.windowing import MICROS, window_start

__all__ = ["eligibility"]

_SKEW = 5 * 60 * MICROS
"""How far this machine's clock may be behind."""


def eligibility(
    days: Annotated[
        int | None, typer.Option(help="Days without fallback, loss or gap (28).", show_default=False)
    ] = None,
    attempts: Annotated[
        int | None, typer.Option(help="Attempts that these days must hold (10000).", show_default=False)
    ] = None,
    parity_max_age: Annotated[
        str | None, typer.Option(help="How old a parity run may be: 7d, 36h (7d).", show_default=False)
    ] = None,
    suite: Annotated[
        list[str] | None,
        typer.Option(
            help="A parity suite that must be green; may be repeated (all that are published).", show_default=False
        ),
    ] = None,
    set_by: Annotated[str | None, typer.Option(help="Who set this policy; it is printed.", show_default=False)] = None,
    policy: Annotated[
        Path | None, typer.Option(help="A TOML file with the policy; options go before it.", show_default=False)
    ] = None,
    capability: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this capability, and refuse it where nothing is known; may be repeated.", show_default=False
        ),
    ] = None,
    release_line: Annotated[str | None, typer.Option(help="Only this release line.", show_default=False)] = None,
    composition: Annotated[
        str | None, typer.Option(help="Only this composition; the first digits do.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON; what is not known is null.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that reading may take.")] = 60.0,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Whether a capability has run without a fallback for long enough, per release line and composition.

    It authorises nothing: it says what the record proves, with every reason, by a policy that it prints. Each
    combination that counted the capability within the policy's days is a row, also one that has fallen silent.

    Exit code, that of the worst row: 0 ELIGIBLE, 30 NOT_ELIGIBLE (a fallback was counted, or parity is red),
    31 INSUFFICIENT_EVIDENCE (too little is proven, or nothing was counted at all); 1 where it could not be found out.
    """
    topics = topics_of(namespace)
    holds, expected = _policy(policy, days, attempts, parity_max_age, suite, set_by)
    wanted = Wanted(tuple(capability or expected), release_line, composition)
    if not all(map(is_token, wanted.capabilities)):
        raise typer.BadParameter("a capability is one word of letters, digits, _ . and -", param_hint="--capability")
    now = time.time_ns() // 1_000
    first = read_from(holds, now)
    deadline = time.monotonic() + timeout
    with named_failures("report eligibility"):
        where = address(bootstrap)
        # Before the windows: what waits now may be in them, and what is not waiting is.
        facts = look_if_allowed(where, topics, min(timeout, 20.0))
        runs = parity_facts(read_parity(parity_source(where, namespace), timeout=timeout))
        until = window_start(now + _SKEW, WINDOW_SECONDS) + HOUR
        left = max(0.1, deadline - time.monotonic())
        with reading("windows") as progress:
            source = windows_source(where, namespace)
            records = read_windows(source, WINDOW_SECONDS, first, until, timeout=left, progress=progress)
    if records.newest is not None and records.newest > now + _SKEW:
        complain(
            f"unmask report eligibility: windows of {iso(records.newest)} are published, and this machine's clock says "
            f"{iso(now // MICROS * MICROS)}: what lies between would be left out. Correct the clock."
        )
        raise typer.Exit(FAILED)
    newest = None if records.newest is None else records.newest + HOUR
    pipeline = judge(facts, now=now, newest_window=newest)
    report = decide_all(timelines(records, wanted, holds, read_from=first, as_of=now), runs, holds, now, pipeline)
    if as_json:
        typer.echo(to_json(report))
    else:
        for line in to_lines(report):
            typer.echo(line)
    if records.sizes and WINDOW_SECONDS not in records.sizes:
        sizes = ", ".join(str(size) for size in records.sizes)
        complain(f"There are no hourly windows, only such of {sizes} s; run the workers with --window-seconds 60,3600.")
    if pipeline.fix is not None:
        complain(f"To do: {pipeline.fix}")
    raise typer.Exit(report.exit_code)


def _policy(
    path: Path | None,
    days: int | None,
    attempts: int | None,
    parity_max_age: str | None,
    suite: list[str] | None,
    set_by: str | None,
) -> tuple[Policy, tuple[str, ...]]:
    """The policy, and the capabilities that its file expects."""
    try:
        file = None if path is None else read_policy_file(path)
        made = policy_from(
            file,
            name="" if path is None else path.name,
            days=days,
            attempts=attempts,
            parity_max_age=None if parity_max_age is None else _age(parity_max_age),
            suites=tuple(suite or ()),
            set_by=set_by,
        )
    except PolicyError as error:
        raise typer.BadParameter(str(error), param_hint="policy") from error
    if not all(map(is_token, made.suites)):
        raise typer.BadParameter("a suite is one word of letters, digits, _ . and -", param_hint="--suite")
    return made, () if file is None else file.capabilities


def _age(text: str) -> int:
    number, unit = text.strip()[:-1], text.strip()[-1:]
    if not (number.isascii() and number.isdigit() and len(number) <= 6) or unit not in ("h", "d"):
        raise PolicyError(f"{text!r} is no age: give hours or days, such as 36h or 7d")
    return int(number) * (HOUR if unit == "h" else DAY)
