"""`unmask verdicts`: everything that was said of a session, withdrawing it, and keys to sign verdicts with."""

import json
from pathlib import Path
from typing import Annotated, Any

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
from unmask.consumers.cli._signing import SigningKey, TrustedKeys
from unmask.consumers.gate import OverrideNotNamed, VerdictNotReady, verdict_source
from unmask.consumers.verdicts import NothingToWithdraw, Said, WithdrawalUnrecorded, read_chronicle, withdraw
from unmask.schemas.instants import iso
from unmask.schemas.signing import KeyUse
from unmask.schemas.signing_keys import generate_key
from unmask.schemas.signing_setup import signing_from_environment
from unmask.schemas.tokens import opaque_id

__all__ = ["app"]

app = typer.Typer(
    help="Verdicts: all that was said of a session, withdrawal, and keys.", no_args_is_help=True, add_completion=False
)

Session = Annotated[str, typer.Argument(help="The session.", show_default=False)]
Timeout = Annotated[float, typer.Option(min=0.1, help="Seconds that the broker may take for an answer.")]


@app.command()
def show(
    session: Session,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    timeout: Timeout = 30.0,
    trusted_keys: TrustedKeys = None,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Show every record that still stands under SESSION, oldest first, and whether each can be believed.

    Exits with 1 where there is none.
    """
    topics_of(namespace)
    with named_failures("verdicts show"):
        _, trust = signing_from_environment(None, trusted_keys)
        try:
            said = read_chronicle(
                verdict_source(address(bootstrap), namespace), opaque_id(session), timeout=timeout, trust=trust
            )
        except VerdictNotReady as error:
            complain(f"unmask verdicts show: {error}")
            raise typer.Exit(FAILED) from error
    if as_json:
        typer.echo(json.dumps([_document(one) for one in said], indent=2, allow_nan=False))
    for one in said if not as_json else ():
        typer.echo(_line(one))
    if not said:
        complain(f"unmask verdicts show: nothing stands under session {opaque_id(session)}")
        raise typer.Exit(FAILED)


@app.command("withdraw")
def withdraw_verdict(
    session: Session,
    by: Annotated[str, typer.Option("--by", help="Who withdraws it: one word of letters, digits, _ . -")],
    reason_code: Annotated[str, typer.Option("--reason-code", help="Why: one word of letters, digits, _ . -")],
    timeout: Timeout = 30.0,
    signing_key: SigningKey = None,
    trusted_keys: TrustedKeys = None,
    bootstrap: Bootstrap = None,
    namespace: Namespace = DEFAULT,
) -> None:
    """Withdraw what stands for SESSION: its gate answers WITHDRAWN, until something of the session happens anew.

    Recorded on the admissions with name and reason. Exits with 1 where there is nothing to withdraw.
    """
    topics = topics_of(namespace)
    with named_failures("verdicts withdraw"):
        signer, trust = signing_from_environment(signing_key, trusted_keys)
        try:
            done = withdraw(
                topics, address(bootstrap), session,
                by=by, reason_code=reason_code, timeout=timeout, signer=signer, trust=trust,
            )  # fmt: skip
        except OverrideNotNamed as error:
            raise typer.BadParameter(str(error), param_hint="--by / --reason-code") from error
        except (NothingToWithdraw, VerdictNotReady, WithdrawalUnrecorded) as error:
            complain(f"unmask verdicts withdraw: {error}")
            raise typer.Exit(FAILED) from error
    typer.echo(f"The verdict of session {done.session_id} is withdrawn (admission {done.admission_id}).")


@app.command()
def keygen(
    path: Annotated[Path, typer.Argument(help="File of the private key; the public one is PATH.pub.", metavar="PATH")],
    use: Annotated[
        list[KeyUse] | None, typer.Option(help="What it may sign; give it twice for both (default: both).")
    ] = None,
) -> None:
    """Make an Ed25519 key: the private half for a worker's or gate's --signing-key, the public for --trusted-keys.

    Existing files are never overwritten.
    """
    with named_failures("verdicts keygen"):
        key = generate_key(path, use or list(KeyUse))
    typer.echo(f"{key.key_id}: {path} (keep it secret), {path}.pub (give it to whoever must believe it)")


def _document(said: Said) -> dict[str, Any]:
    return {
        "partition": said.partition,
        "offset": said.offset,
        "written_at": iso(said.written_at),
        "believed": said.flaw is None,
        "flaw": said.flaw,
        "verdict": said.verdict,
    }


def _line(said: Said) -> str:
    where = f"{iso(said.written_at)}  {said.partition}/{said.offset}"
    doubt = "" if said.flaw is None else f"  NOT BELIEVED: {said.flaw}"
    if said.verdict is None:
        return f"{where}  {'withdrawn' if said.flaw is None else 'no verdict'}{doubt}"
    verdict = said.verdict
    share = f"{verdict['degraded_operations']} of {verdict['operations']} degraded"
    signed = "unsigned" if verdict["signature"] is None else f"signed by {verdict['signature']['key_id']}"
    found = (" ".join(verdict["findings"]),) if verdict["findings"] else ()
    parts = (verdict["verdict"], verdict["directive"], verdict["evidence"], share, *found)
    number = f"no. {verdict['sequence']}"
    return f"{where}  {', '.join((*parts, number, signed))}{doubt}"
