"""The options of commands that sign what they record, or believe only what was signed."""

from pathlib import Path
from typing import Annotated

import typer

from unmask.schemas.signing_setup import SIGNING_KEY, TRUSTED_KEYS

__all__ = ["SigningKey", "TrustedKeys"]

SigningKey = Annotated[
    Path | None,
    typer.Option(
        "--signing-key",
        envvar=SIGNING_KEY,
        help="Private key, PEM, that signs what this command records.",
        show_default=False,
    ),
]
TrustedKeys = Annotated[
    Path | None,
    typer.Option(
        "--trusted-keys",
        envvar=TRUSTED_KEYS,
        help="Public keys, a file or a folder of *.pub: nothing else is believed.",
        show_default=False,
    ),
]
