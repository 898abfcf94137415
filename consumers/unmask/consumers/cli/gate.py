"""`unmask gate`: ask the gate from a shell, where the exit code is the answer; and what became of its answers."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

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
from unmask.consumers.cli._signing import SigningKey, TrustedKeys
from unmask.consumers.gate import (
    DEFAULT_TIMEOUT,
    Admission,
    AdmissionsUnfinished,
    ContestUnrecorded,
    Gate,
    NoRefusalOnRecord,
    NotRead,
    OverrideNotNamed,
    contest,
    exit_code_table,
    read_enforcement,
)
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.codes import AdmissionStep
from unmask.schemas.instants import iso
from unmask.schemas.signing_setup import signing_from_environment

__all__ = ["app"]

_TABLE = "\n\n".join(f"{code:>2}  {answer}: {meaning}." for code, answer, meaning in exit_code_table())
_EPILOG = (
    f"Exit codes:\n\n{_TABLE}\n\n 1  the command itself could not run;  2  it was called wrongly.\n\n"
    "See also: unmask gate stats, for what became of the answers; unmask gate appeal and vindicate, for refusals that "
    "are wrong. A session of such a name: unmask gate ask stats."
)


class _AskByDefault(TyperGroup):
    """`unmask gate SESSION` asks; only the name of a subcommand does something else."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands:
            args = ["ask", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_AskByDefault, help="Ask whether a successor may act.", no_args_is_help=True, add_completion=False
)


@app.command(epilog=_EPILOG)
def ask(
    session: Annotated[str, typer.Argument(help="The session whose work is to be continued.", show_default=False)],
    mutating: Annotated[
        bool, typer.Option("--mutating/--read-only", help="Whether the successor wants to change anything.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Write the whole admission as JSON.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that the answer may take.")] = DEFAULT_TIMEOUT,
    successor: Annotated[
        str | None, typer.Option(help="The session that wants to begin, for the records.", show_default=False)
    ] = None,
    override_by: Annotated[
        str | None, typer.Option(help="Let the successor pass on this operator's word.", show_default=False)
    ] = None,
    reason_code: Annotated[
        str | None, typer.Option(help="Why, with --override-by: one word of letters, digits, _ . -", show_default=False)
    ] = None,
    signing_key: SigningKey = None,
    trusted_keys: TrustedKeys = None,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Ask whether a successor of SESSION may act. Every question is recorded; every doubt is a refusal."""
    if (override_by is None) != (reason_code is None):
        raise typer.BadParameter("give both or neither", param_hint="--override-by / --reason-code")
    topics_of(namespace)
    with (
        named_failures("gate"),
        Gate(
            address(bootstrap),
            namespace,
            live=False,
            record_timeout=timeout,
            signing_key=signing_key,
            trusted_keys=trusted_keys,
            on_progress=_Progress() if sys.stderr.isatty() else None,
        ) as opened,
    ):
        admission = opened.admit(session, mutating=mutating, timeout=timeout, successor=successor)
        if override_by is not None and reason_code is not None:
            try:
                admission = admission.override(by=override_by, reason_code=reason_code)
            except OverrideNotNamed as error:
                raise typer.BadParameter(str(error), param_hint="--override-by / --reason-code") from error
    if as_json:
        typer.echo(json.dumps(admission.as_dict(), indent=2, allow_nan=False))
    else:
        _tell(admission)
    raise typer.Exit(admission.exit_code)


@app.command()
def stats(
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that reading may take.")] = 60.0,
    trusted_keys: TrustedKeys = None,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Count the gate's answers and what became of them: upheld, shown wrong later, overridden, and by whom.

    Beside breaker and effects ledger, and with who appealed and why: unmask enforcement.
    """
    topics = topics_of(namespace)
    unusable = 0

    def pass_over() -> None:
        nonlocal unusable
        unusable += 1

    with named_failures("gate stats"):
        _, trust = signing_from_environment(None, trusted_keys)
        source = TopicSource(topics.admissions.name, address(bootstrap), compacted=False)
        try:
            report = read_enforcement(source, timeout=timeout, trust=trust, on_unusable=pass_over)
        except AdmissionsUnfinished as error:
            complain(f"unmask gate stats: {error}")
            raise typer.Exit(FAILED) from error
    if unusable:
        complain(f"{unusable} records of {topics.admissions.name} cannot be read or believed, and count for nothing.")
    told = report.as_dict()
    if as_json:
        typer.echo(json.dumps(told, indent=2, allow_nan=False))
        return
    typer.echo(f"{report.questions:,} questions")
    for part in ("answers", "outcomes", "overrides"):
        counted = ", ".join(f"{name} {count:,}" for name, count in told[part].items() if count)
        typer.echo(f"{part}: {counted or 'none'}")
    typer.echo(f"withdrawals: {report.withdrawals:,}")
    typer.echo(f"refusals appealed: {report.appealed:,}, shown to be wrong by name: {report.vindicated:,}")
    share = "not known yet" if report.refusals_upheld is None else f"{report.refusals_upheld:.1%}"
    typer.echo(f"refusals that were shown right, of those shown right or wrong: {share}")


By = Annotated[str, typer.Option("--by", help="Who says so: one word of letters, digits, _ . -")]
Why = Annotated[str, typer.Option("--reason-code", help="Why: one word of letters, digits, _ . -")]
AdmissionId = Annotated[
    str | None,
    typer.Option("--admission", help="The refusal, by its admission_id (default: the newest).", show_default=False),
]
Refused = Annotated[str, typer.Argument(help="The session whose successor was refused.", show_default=False)]


@app.command()
def appeal(
    session: Refused,
    by: By,
    reason_code: Why,
    admission: AdmissionId = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that the broker may take.")] = 30.0,
    signing_key: SigningKey = None,
    trusted_keys: TrustedKeys = None,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Record that a refusal is held to be wrong. It lifts nothing: the gate answers as before.

    Exits with 1 where no refusal of SESSION is on record.
    """
    place = (bootstrap, namespace, signing_key, trusted_keys)
    _contest("gate appeal", AdmissionStep.APPEALED, session, by, reason_code, admission, timeout, place)


@app.command()
def vindicate(
    session: Refused,
    by: By,
    reason_code: Why,
    admission: AdmissionId = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that the broker may take.")] = 30.0,
    signing_key: SigningKey = None,
    trusted_keys: TrustedKeys = None,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Record that what was refused was shown to have been right: a false refusal, counted as such. It lifts nothing.

    Without --admission it is of the newest refusal that was appealed, else of the newest. Exits with 1 where no
    refusal of SESSION is on record.
    """
    place = (bootstrap, namespace, signing_key, trusted_keys)
    _contest("gate vindicate", AdmissionStep.VINDICATED, session, by, reason_code, admission, timeout, place)


def _contest(
    command: str,
    step: AdmissionStep,
    session: str,
    by: str,
    reason_code: str,
    admission: str | None,
    timeout: float,
    place: tuple[str | None, str, Path | None, Path | None],
) -> None:
    bootstrap, namespace, signing_key, trusted_keys = place
    topics = topics_of(namespace)
    with named_failures(command):
        signer, trust = signing_from_environment(signing_key, trusted_keys)
        try:
            done = contest(
                topics, address(bootstrap), session,
                step=step, by=by, reason_code=reason_code, timeout=timeout, admission_id=admission,
                signer=signer, trust=trust,
            )  # fmt: skip
        except OverrideNotNamed as error:
            raise typer.BadParameter(str(error), param_hint="--by / --reason-code") from error
        except (NoRefusalOnRecord, ContestUnrecorded, NotRead) as error:
            complain(f"unmask {command}: {error}")
            raise typer.Exit(FAILED) from error
    typer.echo(
        f"{step} is recorded: {done.answer} for successors of session {done.session_id}, of {iso(done.refused_at)} "
        f"(admission {done.admission_id}). The gate answers as before."
    )


class _Progress:
    """How much has been read, on standard error, while that takes long enough to see."""

    def __init__(self) -> None:
        self._shown = False

    def __call__(self, share: float) -> None:
        if share < 1.0:
            self._shown = True
            sys.stderr.write(f"\rreading verdicts: {share:4.0%}")
        elif self._shown:
            self._shown = False
            sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _tell(admission: Admission) -> None:
    style = "bold green" if admission.admitted else "bold red"
    Console(soft_wrap=True).print(Text(str(admission.answer), style=style), Text(admission.reason))
    owed = admission.obligation
    if owed is not None and owed.upstreams:
        complain(f"upstreams: {', '.join(owed.upstreams)} ({', '.join(owed.signatures)})")
    if admission.user_profile is not None:
        complain(f"the user's choice: {admission.user_profile}")
    if owed is not None and owed.inherited_from:
        complain(f"inherited from: {', '.join(owed.inherited_from)}")
